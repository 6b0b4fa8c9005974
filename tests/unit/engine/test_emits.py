"""What a reaction may not hand back is dropped with a warning, whichever reaction and whichever member it is."""

import pytest

from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import Stage
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome
from stdworker.model.resource import Ref

STORES = "both"

DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "f"}


def everything():
    return Outcome(
        status={"x": 1},
        conditions=[Condition("Fine", "True")],
        children=[ChildSpec("leaf", 1, "a"), ChildSpec("leaf", 1, "b")],
        edges=[DepEdge(Ref("leaf", "b"), Ref("leaf", "a"))],
        configs=[ProviderConfigSpec("c", "leaf", 1, {})],
        output={"y": 2},
    )


def reactions(stage, emits):
    plan = {"name": "plan", "trigger": "specChange", "emits": ["children", "status"]}
    return {
        Stage.COMPOSE: [{"name": "plan", "trigger": "specChange", "emits": ["children", *emits]}],
        Stage.WORK: [{"name": "make", "trigger": "specChange", "emits": emits}],
        Stage.ROLLUP: [plan, {"name": "sum", "trigger": "childrenSettled", "emits": emits}],
        Stage.DELETE: [{"name": "make", "trigger": "specChange", "emits": []}, {**DROP, "emits": emits}],
    }[stage]


def warned(world):
    return [event.message for event in world.events("odd/o") if event.reason == "EmitDropped"]


@pytest.mark.parametrize(
    ("stage", "emits", "dropped"),
    [
        (Stage.WORK, ["sideEffect"], "children, conditions, configs, edges, status, operationOutput"),
        (Stage.WORK, ["status"], "children, conditions, configs, edges, operationOutput"),
        (Stage.WORK, ["conditions"], "children, configs, edges, status, operationOutput"),
        (Stage.COMPOSE, ["status"], "conditions, configs, edges, operationOutput"),
        (Stage.COMPOSE, ["conditions", "edges"], "configs, status, operationOutput"),
        (Stage.COMPOSE, ["status", "configs"], "conditions, edges, operationOutput"),
        (Stage.ROLLUP, ["status"], "children, conditions, configs, edges, operationOutput"),
        (Stage.DELETE, ["finalizer"], "children, conditions, configs, edges, status, operationOutput"),
    ],
)
def test_what_a_reaction_may_not_emit_is_dropped_and_named(world, stage, emits, dropped):
    world.leaf()
    world.kind("odd", *reactions(stage, emits))
    world.on("odd", lambda claim: Outcome(children=[ChildSpec("leaf", 1, "a")]), Stage.COMPOSE)
    world.on("odd", lambda claim: everything(), stage)
    world.apply("odd", "o")
    world.work()
    if stage is Stage.DELETE:
        world.delete("odd/o")
        world.work()
        assert not world.exists("odd/o")
    [told] = warned(world)
    named = told.removeprefix("dropped what the reaction may not emit: ").split(", ")
    assert sorted(named) == sorted(dropped.split(", "))
    if stage is not Stage.DELETE:
        found = world.get("odd/o")
        assert (found.status is None) == ("status" in named)
        assert [c.type for c in found.conditions if c.type == "Fine"] == ([] if "conditions" in named else ["Fine"])
        assert world.exists("leaf/b") == (stage is Stage.COMPOSE)


def test_what_all_reactions_may_emit_is_dropped_from_none(world):
    world.leaf()
    world.kind(
        "odd",
        {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "configs", "status", "conditions"]},
    )
    world.on(
        "odd",
        lambda claim: Outcome(
            **{m: getattr(everything(), m) for m in ("status", "conditions", "children", "edges", "configs")}
        ),
        Stage.COMPOSE,
    )
    world.apply("odd", "o")
    world.work()
    assert warned(world) == []
    assert world.phase("odd/o") == "Ready"


def test_a_status_that_comes_with_a_failure_is_held_to_the_same(world):
    world.kind("odd", {"name": "make", "trigger": "specChange", "emits": ["conditions"]})
    world.apply("odd", "o")
    world.settle(world.claim_one(), Outcome(status={"x": 1}), error="no")
    assert world.get("odd/o").status is None
