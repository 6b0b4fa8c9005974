"""Who changed what: one entry for each change, whoever looks and whatever became of it since."""

import httpx
import pytest

pytestmark = pytest.mark.anyio

LEAF = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}}
CONFIG = {"name": "main", "kind": "leaf", "kind_version": 1, "spec": {}}
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "spec_schema": {"type": "object", "properties": {"size": {"type": "number"}}},
    "reactions": [
        {"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]},
        {"name": "tear", "trigger": "deleteRequested", "emits": ["status"], "finalizer": "leaf"},
        {"name": "greet", "trigger": "operation", "verb": "greet", "emits": ["operationOutput"]},
    ],
}
PAGER = {
    "kind": "pager",
    "kind_version": 1,
    "reactions": [{"name": "page", "trigger": "reactor", "emits": ["sideEffect"]}],
}
BINDING = {"name": "b", "watch_kind": "leaf", "transition": "failed", "reactor": "pager"}
BROKEN = MANIFEST | {"spec_schema": {"type": "object"}}
WHO = "anonymous@127.0.0.1"

CHANGES = [
    ("PUT", "/kinds/leaf/manifest", MANIFEST, "KindPublished", ("leaf", None)),
    ("PUT", "/kinds/pager/manifest", PAGER, "KindPublished", ("pager", None)),
    ("POST", "/reactor-bindings", BINDING, "BindingCreated", ("pager", "b")),
    ("POST", "/reactor-bindings", BINDING | {"enabled": False}, "BindingChanged", ("pager", "b")),
    ("DELETE", "/reactor-bindings/b", None, "BindingDeleted", ("pager", "b")),
    ("PUT", "/kinds/leaf/versions/1/config", {"max_inflight": 3}, "KindPolicyChanged", ("leaf", None)),
    ("POST", "/providerconfigs", CONFIG, "ConfigCreated", ("leaf", "main")),
    ("POST", "/providerconfigs", CONFIG | {"is_default": True}, "ConfigChanged", ("leaf", "main")),
    ("GET", "/providerconfigs/main?reveal=true", None, "ConfigRevealed", ("leaf", "main")),
    ("POST", "/resources", LEAF | {"labels": {"a": "b"}}, "Created", ("leaf", "a")),
    ("POST", "/resources", LEAF | {"labels": {"a": "c"}}, "LabelsChanged", ("leaf", "a")),
    ("POST", "/resources", LEAF | {"spec": {"size": 2}, "labels": {}}, "SpecChanged", ("leaf", "a")),
    ("POST", "/resources/leaf/a/rollback", {"generation": 1}, "RolledBack", ("leaf", "a")),
    ("POST", "/resources/leaf/a/quarantine", None, "Quarantined", ("leaf", "a")),
    ("POST", "/resources/leaf/a/unquarantine", None, "Unquarantined", ("leaf", "a")),
    ("POST", "/resources/leaf/a/reconcile", None, "ReconcileRequested", ("leaf", "a")),
    ("POST", "/resources/leaf/a/ops", {"verb": "greet"}, "OperationRequested", ("leaf", "a")),
    ("PUT", "/kinds/leaf/manifest?force=true", BROKEN, "KindForced", ("leaf", None)),
    ("DELETE", "/resources/leaf/a", None, "DeleteRequested", ("leaf", "a")),
    ("DELETE", "/resources/leaf/a?force=true", None, "DeleteForced", ("leaf", "a")),
    ("DELETE", "/providerconfigs/main", None, "ConfigDeleted", ("leaf", "main")),
    ("DELETE", "/kinds/leaf/versions/1/manifest", None, "KindDeleted", ("leaf", None)),
]


async def audit(api, **filters):
    answer = await api.get("/audit", params=filters)
    assert answer.status_code == 200, answer.text
    return answer.json()["audit"]


async def make_changes(api, engine):
    for method, path, body, _, _ in CHANGES:
        answer = await api.request(method, path, json=body)
        assert answer.status_code < 300, (path, answer.text)
        await engine.follow_up()


async def test_every_change_leaves_one_entry_with_who_asked_also_of_what_is_gone(api, engine):
    await make_changes(api, engine)
    told = [(e["type"], (e["kind"], e["name"]), e["actor"]) for e in reversed(await audit(api))]
    assert told == [(done, about, WHO) for _, _, _, done, about in CHANGES]
    assert (await api.get("/resources/leaf/a")).status_code == 404


@pytest.mark.parametrize(
    ("host", "who"), [("::ffff:10.0.0.7", "anonymous@10.0.0.7"), ("::1", "anonymous@::1"), (None, "anonymous")]
)
async def test_an_address_is_told_the_same_whichever_socket_it_came_through(app, leaf, host, who):
    transport = httpx.ASGITransport(app, client=host and (host, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as api:
        await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a", "spec": {}})
        assert (await audit(api))[0]["actor"] == who


async def test_each_document_of_a_batch_that_changed_something_leaves_one_entry(api, leaf):
    lines = [b'{"kind":"leaf","kind_version":1,"name":"%s"}' % name for name in (b"a", b"b", b"a", b"?")]
    await api.post("/resources/batch", content=b"\n".join(lines), headers={"content-type": "application/x-ndjson"})
    told = [(e["type"], e["name"], e["actor"]) for e in await audit(api, kind="leaf", type="Created")]
    assert told == [("Created", "b", WHO), ("Created", "a", WHO)]


async def test_what_changes_nothing_and_what_the_engine_does_by_itself_leave_none(api, leaf, work):
    await api.post("/resources", json=LEAF)
    await work()
    before = await audit(api)
    await api.post("/resources", json=LEAF)
    await api.post("/resources", json=LEAF | {"spec": {"size": 9}}, params={"dryRun": "true"})
    assert (await api.post("/resources", json=LEAF | {"spec": {"size": "x"}})).status_code == 400
    assert await audit(api) == before
    assert [e["type"] for e in before] == ["Created", "KindPublished"]


@pytest.mark.parametrize(
    ("filters", "types"),
    [
        ({"actor": "somebody"}, []),
        ({"actor": WHO, "type": "Created"}, ["Created"]),
        ({"name": "main", "kind": "leaf", "type": "ConfigDeleted"}, ["ConfigDeleted"]),
        ({"kind": "other"}, []),
        ({"since": "2999-01-01T00:00:00Z"}, []),
        ({"until": "2999-01-01T00:00:00+02:00", "type": "KindForced"}, ["KindForced"]),
        ({"until": "2001-01-01T00:00:00.5Z"}, []),
    ],
)
async def test_entries_are_found_by_who_what_and_when(api, engine, filters, types):
    await make_changes(api, engine)
    assert [e["type"] for e in await audit(api, **filters)] == types


async def test_the_audit_is_read_page_by_page(api, engine):
    await make_changes(api, engine)
    whole = await audit(api)
    pages, cursor = [], None
    while True:
        answer = await api.get("/audit", params={"limit": 4} | ({"cursor": cursor} if cursor else {}))
        pages.append(answer.json()["audit"])
        cursor = answer.headers.get("x-next-cursor")
        if cursor is None:
            break
    assert [e for page in pages for e in page] == whole
    assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 2]


@pytest.mark.parametrize("since", ["yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "1700000000", ""])
async def test_an_instant_of_another_form_is_refused(api, since):
    answer = await api.get("/audit", params={"since": since})
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (422, "query/since")
