"""What stands around a resource, and waiting for it."""

import asyncio

import pytest

from stdworker.engine.store.claims import Settlement, Want
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]


async def declare(api, name="one", **members):
    body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {}} | members
    (await api.post("/resources", json=body)).raise_for_status()


async def wait(api, name="one", **query):
    answer = await api.get(f"/resources/leaf/{name}/wait", params=query)
    return answer.status_code, answer.json()


LISTS = (
    "/resources",
    "/resources/roots",
    "/resources/leaf/one/children",
    "/resources/leaf/one/dependencies",
    "/resources/leaf/one/events",
    "/resources/leaf/one/ops",
    "/resources/leaf/one/spec-history",
    "/dead-letters",
    "/audit",
)


@pytest.mark.parametrize("cursor", ["-1", "1.5", "²", str(2**63), "9" * 5_000])
@pytest.mark.parametrize("path", LISTS)
async def test_a_cursor_that_no_list_answered_is_refused(api, path, cursor):
    await declare(api)
    answer = await api.get(path, params={"cursor": cursor})
    assert (answer.status_code in (400, 422), "cursor" in answer.json()["detail"]) == (True, True)


async def test_waiting_for_what_is_so_answers_at_once(api, work):
    await declare(api)
    await work()
    status, shown = await wait(api)
    assert (status, shown["phase"]) == (200, "Ready")


async def test_waiting_answers_when_it_becomes_so(api, work):
    await declare(api)
    waiting = asyncio.create_task(wait(api, timeout="60s"))
    while not await work():
        await asyncio.sleep(0)
    assert (await waiting)[0] == 200


async def test_waiting_for_a_deletion_answers_when_it_is_gone(api, work):
    await declare(api)
    await work()
    waiting = asyncio.create_task(wait(api, timeout="60s", **{"for": "deleted"}))
    await api.delete("/resources/leaf/one")
    assert await waiting == (200, {"deleted": True})


async def test_waiting_for_a_deletion_answers_when_another_one_is_there_by_then(api, engine, monkeypatch):
    await declare(api)
    first = await engine.get(Ref("leaf", "one"))
    await api.delete("/resources/leaf/one?force=true")
    await declare(api)
    seen = iter([first])
    get = engine.get

    async def late(ref):
        return next(seen, None) or await get(ref)

    monkeypatch.setattr(engine, "get", late)
    assert await wait(api, timeout="10s", **{"for": "deleted"}) == (200, {"deleted": True})


async def test_waiting_in_vain_ends_in_time_and_says_how_it_stands(api):
    await declare(api)
    status, told = await wait(api, timeout="10ms")
    assert status == 408
    assert told["detail"].startswith("leaf/one is Reconciling, not ready")


async def test_waiting_for_what_failed_for_good_ends_at_once_with_the_reason(api, work):
    await declare(api)
    await work(error="no such bucket", terminal=True)
    status, told = await wait(api, timeout="60s")
    assert status == 409
    assert "no such bucket" in told["detail"]


async def test_waiting_goes_on_while_a_failure_is_tried_again(api, work):
    await declare(api)
    await work(error="busy")
    assert (await wait(api, timeout="10ms"))[0] == 408


async def test_waiting_for_nothing_is_not_found(api):
    assert (await wait(api))[0] == 404
    assert (await wait(api, **{"for": "deleted"}))[0] == 200


@pytest.mark.parametrize("query", [{"timeout": "soon"}, {"timeout": "5"}, {"for": "sunshine"}])
async def test_a_wait_that_means_nothing_is_refused(api, query):
    await declare(api)
    assert (await wait(api, **query))[0] == 422


async def test_events_are_paged_from_the_oldest(api, work):
    await declare(api)
    await work()
    every = (await api.get("/resources/leaf/one/events")).json()["events"]
    first = await api.get("/resources/leaf/one/events", params={"limit": 1})
    rest = await api.get("/resources/leaf/one/events", params={"cursor": first.headers["x-next-cursor"]})
    assert [event["seq"] for event in every] == sorted(event["seq"] for event in every)
    assert first.json()["events"] + rest.json()["events"] == every
    assert every[0]["actor"] == "anonymous@127.0.0.1"


async def test_events_of_nothing_are_not_found(api):
    assert (await api.get("/resources/leaf/none/events")).status_code == 404


async def test_an_event_cursor_that_is_none_is_refused(api):
    await declare(api)
    assert (await api.get("/resources/leaf/one/events", params={"cursor": "x"})).status_code == 400


async def test_a_leaf_has_no_children_no_dependencies_and_a_graph_of_itself(api):
    await declare(api)
    assert (await api.get("/resources/leaf/one/children")).json() == {
        "owner": {"kind": "leaf", "name": "one"},
        "resources": [],
    }
    assert (await api.get("/resources/leaf/one/dependencies")).json() == {"dependencies": []}
    graph = (await api.get("/resources/leaf/one/graph")).json()
    assert ([node["ref"] for node in graph["nodes"]], graph["edges"], graph["truncated"]) == (["leaf/one"], [], False)


@pytest.mark.parametrize(
    "route", ["children", "dependencies", "graph", "subgraph", "summary", "explain", "events", "wait"]
)
async def test_relations_of_nothing_are_not_found(api, route):
    assert (await api.get(f"/resources/leaf/none/{route}")).status_code == 404


STACK = {
    "kind": "stack",
    "kind_version": 1,
    "reactions": [{"name": "compose", "trigger": "specChange", "emits": ["children", "edges", "status"]}],
}


@pytest.fixture
async def stack(api, engine, leaf):
    """stack/s owns leaf/s-a and leaf/s-b, and the second takes /url from the first."""
    (await api.put("/kinds/stack/manifest", json=STACK)).raise_for_status()
    body = {"kind": "stack", "kind_version": 1, "name": "s", "spec": {}}
    (await api.post("/resources", json=body)).raise_for_status()
    (claim,) = await engine.claim([Want(KindVersion("stack"), 1, "worker")], "broker")
    first, second = (ChildSpec("leaf", 1, f"s-{name}", {}) for name in "ab")
    edge = DepEdge(second.ref, first.ref, [ValueFlow("/from", "/url")])
    composed = Outcome(status={}, children=[first, second], edges=[edge])
    assert await engine.settle([Settlement(claim.lease, claim.stage, composed)]) == [True]


@pytest.mark.usefixtures("stack")
async def test_a_graph_holds_the_whole_subtree_and_who_waits_for_whom(api):
    graph = (await api.get("/resources/stack/s/graph")).json()
    assert [(node["ref"], node["owner"]) for node in graph["nodes"]] == [
        ("stack/s", None),
        ("leaf/s-a", "stack/s"),
        ("leaf/s-b", "stack/s"),
    ]
    assert (graph["edges"], graph["truncated"]) == ([{"from": "leaf/s-b", "to": "leaf/s-a"}], False)


@pytest.mark.usefixtures("stack")
async def test_a_graph_that_is_cut_says_so_and_shows_no_edge_into_nothing(api):
    graph = (await api.get("/resources/stack/s/graph", params={"limit": 2})).json()
    assert (len(graph["nodes"]), graph["edges"], graph["truncated"]) == (2, [], True)


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize("path", ["graph", "subgraph"])
async def test_a_graph_of_very_many_edges_is_cut_too(api, monkeypatch, path):
    monkeypatch.setattr("stdworker.engine.reconcile.neighbourhood.EDGES_MAX", 0)
    graph = (await api.get(f"/resources/stack/s/{path}")).json()
    assert (len(graph["nodes"]), graph["edges"], graph["truncated"]) == (3, [], True)


@pytest.mark.usefixtures("stack")
async def test_a_dependency_is_shown_with_its_phase_and_the_values_that_flow(api):
    (found,) = (await api.get("/resources/leaf/s-b/dependencies")).json()["dependencies"]
    assert found | {"updated_at": ""} == {
        "kind": "leaf",
        "name": "s-a",
        "phase": "Reconciling",
        "is_ready": False,
        "health_ok": True,
        "updated_at": "",
        "value_mappings": [{"dependent_field": "/from", "source_field": "/url"}],
    }


@pytest.mark.usefixtures("stack")
async def test_children_are_listed_with_their_owner_and_filtered(api):
    page = (await api.get("/resources/stack/s/children", params={"name": "-a"})).json()
    (child,) = page["resources"]
    assert (page["owner"], child["owner"], child["root"]) == ({"kind": "stack", "name": "s"},) * 3
    assert child["name"] == "s-a"


@pytest.mark.usefixtures("stack")
async def test_a_root_counts_all_that_is_below_it_and_children_are_no_roots(api):
    roots = (await api.get("/resources/roots")).json()["roots"]
    assert [(root["name"], root["resource_count"]) for root in roots] == [("s", 2)]


@pytest.mark.usefixtures("stack")
async def test_an_owned_resource_is_not_declared_by_hand(api):
    body = {"kind": "leaf", "kind_version": 1, "name": "s-a", "spec": {}}
    answer = await api.post("/resources", json=body)
    assert (answer.status_code, "stack/s" in answer.json()["detail"]) == (409, True)


async def test_events_end_without_a_cursor_also_when_the_last_page_is_full(api):
    await declare(api)
    every = (await api.get("/resources/leaf/one/events")).json()["events"]
    page = await api.get("/resources/leaf/one/events", params={"limit": len(every)})
    assert "x-next-cursor" not in page.headers


@pytest.mark.usefixtures("stack")
async def test_what_is_below_a_resource_is_counted_by_phase_and_kind(api, work):
    await work()
    assert (await api.get("/resources/stack/s/summary")).json() == {
        "totals": {"Ready": 1, "Reconciling": 1},
        "by_kind": {"leaf": {"Ready": 1, "Reconciling": 1}},
    }
    assert (await api.get("/resources/leaf/s-a/summary")).json() == {"totals": {}, "by_kind": {}}


async def near(api, name, **query):
    told = (await api.get(f"/resources/{name}/subgraph", params=query)).json()
    return [(node["ref"], node["distance"]) for node in told["nodes"]], told["edges"], told["truncated"]


@pytest.mark.usefixtures("stack")
async def test_around_a_resource_are_its_owner_what_it_depends_on_and_what_depends_on_it(api):
    edge = [{"from": "leaf/s-b", "to": "leaf/s-a"}]
    below = [("leaf/s-b", 0), ("stack/s", -1), ("leaf/s-a", -1)]
    assert await near(api, "leaf/s-b") == (below, edge, False)
    assert await near(api, "leaf/s-a") == ([("leaf/s-a", 0), ("stack/s", -1), ("leaf/s-b", 1)], edge, False)
    assert await near(api, "leaf/s-a", ancestor_depth=0) == ([("leaf/s-a", 0), ("leaf/s-b", 1)], edge, False)
    assert await near(api, "stack/s", descendant_depth=0) == ([("stack/s", 0)], [], False)


@pytest.mark.usefixtures("stack")
async def test_a_neighbourhood_that_is_cut_says_so(api):
    assert await near(api, "stack/s", limit=2) == ([("stack/s", 0), ("leaf/s-a", 1)], [], True)
    assert (await near(api, "stack/s", limit=3))[2] is False


@pytest.mark.usefixtures("stack")
async def test_an_explanation_has_each_reason_with_what_to_do_and_the_config(api, work):
    config = {"timeout_seconds": 1.50, "env": {"API_TOKEN": "s3cret-s3cret"}}
    body = {"name": "base", "kind": "leaf", "kind_version": 1, "is_default": True, "spec": config}
    (await api.post("/providerconfigs", json=body)).raise_for_status()
    told = (await api.get("/resources/leaf/s-b/explain")).json()
    assert (told["phase"], told["is_ready"], told["generation"], told["synced_gen"]) == ("Reconciling", False, 1, 0)
    assert told["reasons"] == [
        {
            "code": "waits_for_dependency",
            "message": "it waits for leaf/s-a, which is reconciling",
            "hint": "conctl explain leaf/s-a",
            "about": {"kind": "leaf", "name": "s-a"},
            "since": None,
            "until": None,
        }
    ]
    assert told["config"] == {
        "names": {"default": "base"},
        "leaves": [
            {"path": "/timeout_seconds", "value": 1.5, "layer": "default", "replaced": []},
            {"path": "/env/API_TOKEN", "value": "***", "layer": "default", "replaced": []},
        ],
        "spec": {"timeout_seconds": 1.5, "env": {"API_TOKEN": "***"}},
        "bundle": None,
    }


async def test_an_explanation_says_when_something_began_and_when_it_goes_on(api, work):
    await declare(api)
    await work(error="busy", retry_after_ms=60_000)
    (reason,) = (await api.get("/resources/leaf/one/explain")).json()["reasons"]
    assert (reason["code"], reason["message"]) == ("retrying", "attempt 1 failed: busy")
    assert reason["until"] > (await api.get("/resources/leaf/one")).json()["updated_at"]


@pytest.mark.usefixtures("leaf")
async def test_dependencies_are_paged(api, engine):
    (await api.put("/kinds/stack/manifest", json=STACK)).raise_for_status()
    (await api.post("/resources", json={"kind": "stack", "kind_version": 1, "name": "s"})).raise_for_status()
    (claim,) = await engine.claim([Want(KindVersion("stack"), 1, "worker")], "broker")
    children = [ChildSpec("leaf", 1, name, {}) for name in "abcd"]
    edges = [DepEdge(children[3].ref, child.ref, []) for child in children[:3]]
    await engine.settle([Settlement(claim.lease, claim.stage, Outcome(children=children, edges=edges))])
    first = await api.get("/resources/leaf/d/dependencies", params={"limit": 2})
    query = {"limit": 2, "cursor": first.headers["x-next-cursor"]}
    rest = await api.get("/resources/leaf/d/dependencies", params=query)
    assert [d["name"] for page in (first, rest) for d in page.json()["dependencies"]] == ["a", "b", "c"]
    assert "x-next-cursor" not in rest.headers


async def test_a_drain_that_somebody_waits_over_is_no_error_of_the_engine(api, app, caplog):
    await declare(api)
    app.state.draining = True
    assert (await wait(api))[0] == 503
    assert (await api.get("http://localhost/readyz")).status_code == 503
    assert caplog.records == []
