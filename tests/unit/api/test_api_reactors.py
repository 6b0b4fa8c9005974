"""Reactor bindings and dead letters over REST."""

import json

import pytest

from stdworker.engine.store.claims import Settlement, Want
from stdworker.model.kind import KindVersion

pytestmark = pytest.mark.anyio

PAGER = {
    "kind": "pager",
    "kind_version": 1,
    "reactions": [{"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}],
}
BINDING = {"name": "page", "watch_kind": "leaf", "transition": "created", "reactor": "pager"}


@pytest.fixture
async def pager(api, leaf):
    (await api.put("/kinds/pager/manifest", json=PAGER)).raise_for_status()


@pytest.fixture
async def dead_letter(api, engine, pager):
    """A reactor was told of leaf/a, and failed for good."""
    await api.post("/reactor-bindings", json=BINDING)
    made = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1.50}, "labels": {"team": "web"}}
    await api.post("/resources", json=made)
    [claim] = await engine.claim([Want(KindVersion("pager"), 10, "worker")], "broker")
    refused = Settlement(claim.lease, claim.stage, error="no such channel", reason="Gone", terminal=True)
    assert await engine.settle([refused]) == [True]
    [letter] = (await api.get("/dead-letters")).json()["dead_letters"]
    return letter


async def test_a_binding_is_made_with_201_and_changed_with_200(api, pager):
    made = await api.post("/reactor-bindings", json=BINDING)
    again = await api.post("/reactor-bindings", json={**BINDING, "label_match": None, "reactor_version": None})
    changed = await api.post("/reactor-bindings", json={**BINDING, "label_match": {"team": "web"}, "enabled": False})
    results = [(answer.status_code, answer.headers["x-apply-result"]) for answer in (made, again, changed)]
    assert results == [(201, "created"), (200, "unchanged"), (200, "configured")]
    shown = (await api.get("/reactor-bindings/page")).json()
    assert shown == changed.json()
    assert (shown["label_match"], shown["enabled"], shown["watch_kind_version"]) == ({"team": "web"}, False, None)
    assert shown["created_at"] == made.json()["created_at"]


async def test_a_binding_shows_what_waits_for_it_and_why(api, pager):
    assert (await api.post("/reactor-bindings", json=BINDING)).json()["waiting"] is None
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a"})
    shown = (await api.get("/reactor-bindings/page")).json()["waiting"]
    assert (shown["deliveries"], shown["reason"]["code"]) == (1, "no_worker")
    assert shown["reason"]["about"] == {"kind": "leaf", "name": "a"}
    [listed] = (await api.get("/reactor-bindings")).json()["reactor_bindings"]
    again = (await api.post("/reactor-bindings", json=BINDING)).json()
    assert listed["waiting"] == again["waiting"] == shown


async def test_labels_of_a_binding_are_kept_when_absent_and_cleared_by_null(api, pager):
    marked = await api.post("/reactor-bindings", json={**BINDING, "labels": {"team": "web"}})
    kept = await api.post("/reactor-bindings", json=BINDING)
    cleared = await api.post("/reactor-bindings", json={**BINDING, "labels": None})
    assert [found.json()["labels"] for found in (marked, kept, cleared)] == [{"team": "web"}, {"team": "web"}, {}]
    assert [found.headers["x-apply-result"] for found in (kept, cleared)] == ["unchanged", "configured"]


async def test_a_plan_of_a_binding_says_what_it_would_be_and_makes_nothing(api, leaf):
    lines = [{"type": "manifest", **PAGER}, {"type": "reactorbinding", **BINDING}, {"type": "reactorbinding"}]
    body = "\n".join(map(json.dumps, lines))
    answer = await api.post("/plan", content=body, headers={"content-type": "application/x-ndjson"})
    _, planned, refused = map(json.loads, answer.text.splitlines())
    assert (planned["result"], planned["after"]) == ("created", {**BINDING, "enabled": True})
    assert (refused["result"], refused["problem"]["errors"][0]["location"]) == ("failed", "body/name")
    assert (await api.get("/reactor-bindings")).json() == {"reactor_bindings": []}


async def test_bindings_are_listed_by_name_and_paged(api, pager):
    for name in ("c", "a", "b"):
        await api.post("/reactor-bindings", json={**BINDING, "name": name})
    first = await api.get("/reactor-bindings", params={"limit": 2})
    rest = await api.get("/reactor-bindings", params={"cursor": first.headers["x-next-cursor"]})
    names = [[found["name"] for found in page.json()["reactor_bindings"]] for page in (first, rest)]
    assert names == [["a", "b"], ["c"]]
    assert "x-next-cursor" not in rest.headers


async def test_a_binding_is_deleted_once(api, pager):
    await api.post("/reactor-bindings", json=BINDING)
    answers = [(await api.delete("/reactor-bindings/page")).status_code for _ in range(2)]
    assert answers == [200, 404]
    assert (await api.get("/reactor-bindings/page")).status_code == 404


@pytest.mark.parametrize(
    ("change", "location"),
    [
        ({"transition": "ready"}, "body/transition"),
        ({"reactor": "leaf"}, "body/reactor"),
        ({"watch_kind": "none"}, "body/watch_kind"),
        ({"watch_kind_version": 0}, "body/watch_kind_version"),
        ({"enabeld": True}, "body/enabeld"),
    ],
)
async def test_a_wrong_binding_is_refused_with_its_place(api, pager, change, location):
    answer = await api.post("/reactor-bindings", json={**BINDING, **change})
    assert answer.status_code == 422
    assert [error["location"] for error in answer.json()["errors"]] == [location]


async def test_a_kind_version_that_a_binding_names_is_not_deleted(api, pager):
    await api.post("/reactor-bindings", json=BINDING)
    answer = await api.delete("/kinds/pager/versions/1/manifest")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:converge:problem:kind_in_use")


async def test_a_dead_letter_shows_what_was_to_be_told_and_why_it_was_not(api, dead_letter):
    resource = (await api.get("/resources/leaf/a")).json()
    told = dead_letter["resource"]
    assert (dead_letter["binding"], dead_letter["transition"], dead_letter["attempts"]) == ("page", "created", 1)
    assert (dead_letter["reason"], dead_letter["message"]) == ("Gone", "no such channel")
    assert dead_letter["dedup_token"] == f"{resource['uid']}:created:1:1:page"
    assert (told["uid"], told["spec"], told["labels"]) == (resource["uid"], {"size": 1.5}, {"team": "web"})
    assert dead_letter["dead_since"] >= dead_letter["crossed_at"]
    assert (await api.get(f"/dead-letters/{dead_letter['id']}")).json() == dead_letter


async def test_the_metrics_count_what_reactors_have_not_taken(api, dead_letter):
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "b"})
    shown = (await api.get("http://localhost/metrics")).text
    assert 'converge_deliveries{state="dead"} 1.0' in shown
    assert 'converge_deliveries{state="waiting"} 1.0' in shown


async def test_a_retry_makes_it_a_delivery_again(api, engine, dead_letter):
    path = f"/dead-letters/{dead_letter['id']}/retry"
    assert ((answer := await api.post(path)).status_code, answer.json()) == (202, dead_letter)
    assert (await api.get("/dead-letters")).json() == {"dead_letters": []}
    [claim] = await engine.claim([Want(KindVersion("pager"), 10, "worker")], "broker")
    assert claim.dedup_token == dead_letter["dedup_token"]
    assert (await api.post(path)).status_code == 404


async def test_what_is_no_number_names_no_dead_letter(api):
    for ask in (lambda name: api.get(f"/dead-letters/{name}"), lambda name: api.post(f"/dead-letters/{name}/retry")):
        assert [(await ask(name)).status_code for name in ("x", "0", "7")] == [422, 422, 404]
