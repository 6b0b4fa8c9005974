"""What a request asks for is minded or refused, and a refusal names the place."""

import pytest

from tests.unit.api.conftest import MANIFEST

pytestmark = pytest.mark.anyio

LEAF = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {}}
POLICY = "/kinds/leaf/versions/1/config"
WRITES = [
    ("POST", "/resources/batch", LEAF),
    ("POST", "/resources/leaf/a/reconcile", None),
    ("POST", "/resources/leaf/a/quarantine", None),
    ("POST", "/resources/leaf/a/unquarantine", None),
    ("POST", "/resources/leaf/a/ops", {"verb": "x"}),
    ("PUT", POLICY, {"max_inflight": 3}),
    ("POST", "/dead-letters/1/retry", None),
]
UNTRIED = [
    *WRITES,
    ("POST", "/resources/leaf/a/rollback", {"generation": 1}),
    ("POST", "/reactor-bindings", {"name": "b", "watch_kind": "leaf", "transition": "failed", "reactor": "ear"}),
    ("POST", "/providerconfigs", {"name": "c", "kind": "leaf", "kind_version": 1, "spec": {}}),
    ("PUT", "/kinds/leaf/manifest", {**MANIFEST, "description": "Another."}),
]


@pytest.fixture
async def thing(api, leaf):
    (await api.post("/resources", json=LEAF)).raise_for_status()


def refusal(answer):
    told = answer.json()
    [error] = told["errors"]
    return answer.status_code, told["type"].rpartition(":")[2], error["location"]


@pytest.mark.parametrize(("method", "path", "body"), UNTRIED, ids=[path for _, path, _ in UNTRIED])
async def test_what_can_not_be_tried_dry_is_not_done_when_it_is_asked_for_dry(api, thing, method, path, body):
    before = (await api.get("/audit")).json()
    answer = await api.request(method, path, json=body, params={"dryRun": "true"})
    assert refusal(answer) == (422, "bad_parameter", "query/dryRun")
    assert (await api.get("/audit")).json() == before


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[path for _, path, _ in WRITES])
async def test_a_condition_that_nothing_is_compared_with_is_refused(api, thing, method, path, body, header):
    answer = await api.request(method, path, json=body, headers={header: '"other"'})
    assert refusal(answer) == (400, "bad_precondition", f"header/{header}")


@pytest.mark.parametrize("path", ["/version", "/kinds", "/kinds/manifests", "/resources/leaf/a", "/cluster-members"])
async def test_a_parameter_that_no_route_has_is_refused_where_there_are_no_others(api, thing, path):
    assert refusal(await api.get(f"{path}?lable=a:b")) == (422, "bad_parameter", "query/lable")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/resources?name=%00", "query/name"),
        ("/resources?label=a:%00", "query/label"),
        ("/audit?actor=%00", "query/actor"),
        ("/providerconfigs?cursor=%00", "query/cursor"),
        ("/resources/le%00af/a", "path/kind"),
        ("/resources/leaf/%00/events", "path/name"),
        ("/providerconfigs/%00", "path/name"),
    ],
)
async def test_a_nul_finds_nothing_on_any_store(api, path, place):
    assert refusal(await api.get(path)) == (422, "nul", place)


@pytest.mark.parametrize(
    ("path", "status", "place"),
    [
        ("/resources?kv=leaf", 422, "query/kv"),
        ("/resources?owner=leaf", 422, "query/owner"),
        ("/resources?label=a", 422, "query/label"),
        ("/resources?label=a:b&label=a:c", 422, "query/label"),
        ("/resources?cursor=x", 400, "query/cursor"),
        ("/kinds?cursor=x", 400, "query/cursor"),
        ("/resources/leaf/a/wait?timeout=30", 422, "query/timeout"),
    ],
)
async def test_a_parameter_of_a_wrong_form_is_refused_at_its_place(api, path, status, place):
    answer = await api.get(path)
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (status, place)


async def test_an_id_of_no_stream_is_refused_at_its_place(api):
    answer = await api.get("/watch", headers={"last-event-id": "x"})
    assert refusal(answer) == (400, "bad_cursor", "header/Last-Event-ID")


@pytest.mark.parametrize(("path", "member", "size"), [("/kinds", "kinds", 3), ("/kinds/manifests", "manifests", 4)])
async def test_kinds_are_all_listed_unless_pages_are_asked_for(api, path, member, size):
    for kind, version in (("a", 1), ("a", 2), ("b.c", 1), ("b", 1)):
        await api.put(f"/kinds/{kind}/manifest", json={**MANIFEST, "kind": kind, "kind_version": version})
    whole = await api.get(path)
    assert (len(whole.json()[member]), "x-next-cursor" in whole.headers) == (size, False)
    found, cursor = [], {}
    while cursor is not None:
        page = await api.get(path, params={"limit": 1, **cursor})
        found += page.json()[member]
        following = page.headers.get("x-next-cursor")
        cursor = {"cursor": following} if following else None
    assert found == whole.json()[member]
