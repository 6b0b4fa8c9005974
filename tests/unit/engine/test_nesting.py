"""Composites in composites: what flows, settles and fails four levels down is seen at the top."""

import pytest

from stdworker.model.kind import Stage
from stdworker.model.outcome import Condition, Outcome

STORES = "both"

SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
FLOW = [["/from", "/id"]]


@pytest.fixture
def tower(world):
    """region/r → zone/z → rack/k → leaf/a ← leaf/b, and leaf/c takes what the zone sums up."""
    world.leaf()
    for kind in ("rack", "zone", "region"):
        world.composite(kind, SUM)
        world.on(kind, lambda claim: Outcome(status={"id": f"sum-{len(claim.descendants)}"}), Stage.ROLLUP)
    world.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    rack = {"children": [["leaf/a"], ["leaf/b"]], "edges": [["leaf/b", "leaf/a", FLOW]]}
    zone = {"children": [["rack/k", rack]]}
    world.group("r", ["zone/z", zone], ["leaf/c"], edges=[["leaf/c", "zone/z", FLOW]], kind="region")
    return world


def spec(world, ref):
    return world.get(ref).spec.value()


def test_values_flow_at_every_level_and_out_of_a_composite(tower):
    ran = tower.work()
    assert ran == [
        *("compose region/r", "compose zone/z", "compose rack/k", "work leaf/a", "work leaf/b"),
        *("rollup rack/k", "rollup zone/z", "work leaf/c", "rollup region/r"),
    ]
    assert (spec(tower, "leaf/b"), spec(tower, "leaf/c")) == ({"from": "a"}, {"from": "sum-3"})
    assert {str(record.phase) for record in tower.find()} == {"Ready"}
    assert tower.get("region/r").status.value() == {"id": "sum-5"}


def test_every_resource_below_knows_its_owner_and_the_one_root(tower):
    tower.work()
    roots = {str(record.ref): (str(record.owner), str(record.root)) for record in tower.find() if record.owner}
    assert roots["leaf/a"] == ("rack/k", "region/r")
    assert {root for _, root in roots.values()} == {"region/r"}


def test_while_a_leaf_moves_all_above_reconcile_and_what_depends_on_them_waits(tower):
    tower.work()
    tower.again("leaf/a")
    tower.rest()
    phases = {ref: tower.phase(ref) for ref in ("rack/k", "zone/z", "region/r", "leaf/b", "leaf/c")}
    assert phases == {ref: "Ready" if ref.startswith("leaf") else "Reconciling" for ref in phases}
    tower.work()
    assert {str(record.phase) for record in tower.find()} == {"Ready"}


def test_a_sick_leaf_degrades_all_above_and_is_named_at_the_top_before_those_between(tower):
    tower.work()
    tower.on("leaf", lambda claim: Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")]))
    tower.again("leaf/b")
    tower.work()
    assert [tower.phase(ref) for ref in ("leaf/b", "rack/k", "zone/z", "region/r")] == ["Degraded"] * 4
    told = tower.condition("region/r", "Ready")
    assert (told.reason, told.message.split("; ")[0]) == ("ChildrenNotReady", "leaf/b: db is down")
    assert told.message.split("; ")[1:] == ["zone/z: its children are not ready", "rack/k: its children are not ready"]
    tower.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    tower.again("leaf/b")
    tower.work()
    assert tower.condition("region/r", "Ready").status == "True"


def test_a_value_that_changes_below_flows_up_and_out_in_one_go(tower):
    tower.work()
    tower.on("rack", lambda claim: Outcome(status={"id": "other"}), Stage.ROLLUP)
    tower.on("zone", lambda claim: Outcome(status={"id": claim.descendants[0].status["id"]}), Stage.ROLLUP)
    tower.again("leaf/a")
    tower.work()
    assert spec(tower, "leaf/c") == {"from": "other"}
    assert {str(record.phase) for record in tower.find()} == {"Ready"}


def test_a_tower_goes_from_the_leaves_up(tower):
    tower.work()
    tower.delete("region/r")
    assert tower.find() == []
    gone = [event.ref for event in tower.events() if event.type == "Deleted"]
    order = [str(ref) for ref in gone]
    assert order.index("leaf/b") <= order.index("rack/k") < order.index("zone/z") < order.index("region/r")
