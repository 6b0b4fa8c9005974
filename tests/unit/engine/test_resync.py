"""Settled resources run again by the clock, at the same generation and never all at once."""

from collections import Counter

import pytest

from stdworker.engine.reconcile import interval, resync
from stdworker.engine.store import nodes
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Retry, Terminal
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Condition, Outcome

STORES = "both"

WORK = ["status", "conditions"]
MAKE = {"name": "make", "trigger": "specChange", "emits": WORK}
CHECK = {"name": "check", "trigger": "resync", "emits": WORK}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "status", "conditions"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
LATEST = 60 * (1 + interval.JITTER) + 1


@pytest.fixture
def leaf(world):
    world.leaf(resync_interval_secs=60)
    world.apply("leaf", "a", {"x": 1})
    world.work()
    return world


def look(world):
    """What the engine does each time its clock comes to it."""
    world.do(world.engine.ticks.resync())


def later(world, seconds=LATEST):
    world.clock.advance(seconds)
    look(world)


def planned(world):
    return [row[0] for row in world.do(world.engine.read(lambda db: db.fetch("SELECT resync_at FROM resources")))]


def policy(world, kind="leaf", **members):
    world.do(world.engine.set_policy(KindVersion(kind), KindPolicy(**members), "test"))
    world.rest()


def test_a_settled_resource_runs_again_at_the_same_generation_after_its_kinds_interval(leaf):
    later(leaf, 59)
    assert leaf.claim() == []
    later(leaf, LATEST - 59)
    claim = leaf.claim_one()
    assert (claim.stage, claim.trigger, claim.reaction, claim.resource.generation) == ("work", "resync", "make", 1)
    assert leaf.phase("leaf/a") == "Ready"
    leaf.settle(claim, Outcome(status={"seen": 2}))
    found = leaf.get("leaf/a")
    assert (found.generation, found.synced_gen, found.phase, found.status.value()) == (1, 1, "Ready", {"seen": 2})


def test_it_comes_again_and_again(leaf):
    for _ in range(3):
        later(leaf)
        assert leaf.work() == ["work leaf/a"]
        look(leaf)
        assert leaf.work() == []


def test_a_resync_that_takes_longer_than_the_interval_is_not_run_twice(leaf):
    later(leaf)
    claim = leaf.claim_one()
    later(leaf, 2 * LATEST)
    leaf.settle(claim)
    assert leaf.claim() == []


def test_a_degraded_resource_is_run_again_and_may_heal(leaf):
    leaf.on("leaf", lambda claim: Outcome(conditions=[Condition("Ready", "False", "Sick")]))
    later(leaf)
    leaf.work()
    assert leaf.phase("leaf/a") == "Degraded"
    leaf.on("leaf", lambda claim: Outcome())
    later(leaf)
    leaf.work()
    assert leaf.phase("leaf/a") == "Ready"


def test_a_resync_that_fails_is_a_failure_like_any_other_and_its_retry_a_resync_too(leaf):
    leaf.on("leaf", fail_with(Retry("drifted")))
    later(leaf)
    leaf.work()
    assert leaf.phase("leaf/a") == "Failed"
    leaf.clock.advance(400)
    assert leaf.claim_one().trigger == "resync"


def fail_with(failure):
    def handler(claim):
        raise failure

    return handler


def test_a_failed_resource_is_not_resynced_until_it_has_succeeded(leaf):
    leaf.on("leaf", fail_with(Terminal("no")))
    leaf.apply("leaf", "a", {"x": 2})
    leaf.work()
    later(leaf)
    later(leaf)
    assert leaf.work() == []
    leaf.on("leaf", lambda claim: Outcome())
    leaf.again("leaf/a")
    leaf.work()
    later(leaf)
    assert leaf.work() == ["work leaf/a"]


def test_a_resource_that_fails_after_it_was_synced_is_not_resynced(leaf):
    leaf.on("leaf", fail_with(Terminal("no")))
    default = ConfigDeclaration("d", KindVersion("leaf"), is_default=True, bundle=b"1")
    leaf.do(leaf.engine.put_config(default, "t"))
    assert leaf.work() == ["work leaf/a"]
    later(leaf)
    assert (leaf.work(), leaf.phase("leaf/a")) == ([], "Failed")


def test_a_resource_that_is_being_deleted_is_not_resynced(world):
    world.kind(
        "vm",
        MAKE,
        {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"},
        resync_interval_secs=60,
    )
    world.apply("vm", "a")
    world.work()
    world.delete("vm/a")
    later(world)
    assert [claim.stage for claim in world.claim()] == ["delete"]


def test_a_frozen_resource_is_not_resynced_and_comes_after_its_release(leaf):
    leaf.write("UPDATE resources SET frozen_until = :until", until=2**62)
    later(leaf)
    leaf.write("UPDATE resources SET frozen_until = NULL")
    look(leaf)
    assert leaf.work() == []
    later(leaf)
    assert leaf.work() == ["work leaf/a"]


def test_a_resync_reaction_is_run_if_the_kind_has_one_with_its_own_emits(world):
    world.kind("leaf", MAKE, {**CHECK, "emits": ["conditions"]}, resync_interval_secs=60)
    world.on("leaf", lambda claim: Outcome(status={"by": claim.reaction}))
    world.apply("leaf", "a")
    world.work()
    later(world)
    claim = world.claim_one()
    assert (claim.reaction, claim.trigger) == ("check", "resync")
    world.answer(claim)
    assert world.get("leaf/a").status.value() == {"by": "make"}
    assert "EmitDropped" in [event.reason for event in world.events("leaf/a")]
    world.again("leaf/a")
    assert world.claim_one().reaction == "make"


def test_a_spec_that_changes_while_a_resync_waits_is_run_as_a_change(leaf):
    later(leaf)
    leaf.apply("leaf", "a", {"x": 2})
    claim = leaf.claim_one()
    assert (claim.trigger, claim.resource.generation) == ("specChange", 2)


def test_a_composer_is_run_at_resync_only_if_its_policy_says_so(world):
    world.leaf()
    world.composite("group", resync_interval_secs=60)
    world.group("g", ["leaf/a"])
    world.work()
    assert planned(world) == [None, None]
    policy(world, "group", resync_interval_seconds=60, resync_recomposes=True)
    later(world)
    claim = world.claim_one()
    assert (claim.stage, claim.trigger, claim.reaction) == ("compose", "resync", "plan")


def test_a_composite_that_works_too_is_composed_at_resync_only_if_its_policy_says_so(world):
    world.leaf()
    world.composite("group", MAKE, SUM, resync_interval_secs=60)
    world.group("g", ["leaf/a"])
    world.work()
    later(world)
    assert world.work() == ["work group/g", "rollup group/g"]
    policy(world, "group", resync_interval_seconds=60, resync_recomposes=True)
    later(world)
    assert world.work() == ["compose group/g", "work group/g", "rollup group/g"]


def test_a_rollup_alone_does_not_put_a_resync_off(world):
    world.leaf()
    world.composite("group", MAKE, SUM, resync_interval_secs=60)
    world.group("g", ["leaf/a"])
    world.work()
    before = planned(world)
    world.clock.advance(30)
    world.again("leaf/a")
    assert world.work() == ["work leaf/a", "rollup group/g"]
    assert planned(world) == before


def test_a_composite_whose_children_move_is_looked_at_later(world):
    world.leaf()
    world.composite("group", MAKE, resync_interval_secs=60)
    world.group("g", ["leaf/a"])
    world.work()
    world.again("leaf/a")
    world.rest()
    later(world)
    claim = world.claim_one()
    assert claim.resource.name == "a"
    world.settle(claim)
    later(world)
    assert world.work() == ["work group/g"]


def test_what_settled_together_comes_due_apart(world):
    world.leaf(resync_interval_secs=3600)
    for i in range(40):
        world.apply("leaf", f"n{i}")
    world.work()
    due = sorted(planned(world))
    now = world.clock.ms
    assert now + 3_600_000 <= due[0]
    assert due[-1] <= now + 3_600_000 * (1 + interval.JITTER)
    assert max(Counter(at // 60_000 for at in due).values()) < 40


def test_what_is_due_at_once_is_queued_a_bounded_piece_at_a_time(world, monkeypatch):
    monkeypatch.setattr(resync, "PIECE_RESOURCES", 4)
    world.leaf(resync_interval_secs=60)
    for i in range(10):
        world.apply("leaf", f"n{i}")
    world.work()
    found = []
    for seconds in (LATEST, 0, 0, 0):
        later(world, seconds)
        found.append(len(world.claim()))
    assert found == [4, 4, 2, 0]


def test_without_an_interval_nothing_is_planned(world):
    world.leaf()
    world.apply("leaf", "a")
    world.work()
    assert planned(world) == [None]


@pytest.mark.parametrize("trigger", ["deleteRequested", "operation"])
def test_a_kind_in_which_nothing_would_run_plans_nothing(world, trigger):
    more = {"verb": "poke"} if trigger == "operation" else {"finalizer": "drop"}
    world.kind("odd", {"name": "odd", "trigger": trigger, "emits": ["status"], **more}, resync_interval_secs=60)
    world.apply("odd", "a")
    world.work()
    assert planned(world) == [None]


def test_a_kind_that_has_nothing_but_a_resync_reaction_is_run_by_the_clock(world):
    world.kind("probe", CHECK, resync_interval_secs=60)
    world.apply("probe", "a")
    assert (world.work(), world.phase("probe/a")) == ([], "Ready")
    later(world)
    assert world.work() == ["work probe/a"]
    later(world)
    world.apply("probe", "a", {"x": 2})  # while it is queued: nothing runs for the change
    assert world.work() == []
    later(world)
    assert world.work() == ["work probe/a"]


def test_an_interval_that_is_set_live_takes_effect_spread_over_its_whole_length(world):
    world.leaf()
    for i in range(20):
        world.apply("leaf", f"n{i}")
    world.work()
    now = world.clock.ms
    policy(world, resync_interval_seconds=600)
    due = planned(world)
    assert all(now <= at <= now + 600_000 for at in due)
    assert max(due) - min(due) > 60_000
    world.clock.advance(600)
    look(world)
    assert len(world.work()) == 20


def test_an_interval_that_is_shortened_live_does_not_wait_for_the_old_one(world):
    world.leaf(resync_interval_secs=3600)
    world.apply("leaf", "a")
    world.work()
    policy(world, resync_interval_seconds=60)
    later(world)
    assert world.work() == ["work leaf/a"]


def test_an_interval_of_zero_switches_it_off_at_once(leaf):
    leaf.do(leaf.engine.set_policy(KindVersion("leaf"), KindPolicy(), "test"))
    later(leaf)  # before the sweep over the kind's resources, too
    assert leaf.work() == []
    leaf.rest()
    assert planned(leaf) == [None]


def test_another_edit_of_the_policy_plans_nothing_anew(leaf):
    before = planned(leaf)
    policy(leaf, resync_interval_seconds=60, max_inflight=3)
    assert planned(leaf) == before


def test_a_new_interval_comes_to_all_resources_of_its_kind_and_to_no_other(world, monkeypatch):
    monkeypatch.setattr("stdworker.engine.reconcile.sweeps.PIECE_RESOURCES", 3)
    world.leaf()
    world.leaf("other")
    for i in range(8):
        world.apply("leaf", f"n{i}")
    world.apply("other", "o")
    world.work()
    policy(world, resync_interval_seconds=60)
    assert sum(at is not None for at in planned(world)) == 8


def test_a_resync_is_planned_by_the_version_at_which_the_resource_is(leaf):
    leaf.leaf(version=2)
    leaf.apply("leaf", "a", {"x": 1}, version=2)
    leaf.work()
    assert planned(leaf) == [None]


def test_what_is_not_due_is_found_in_an_index_whatever_the_number_of_resources(world):
    if "postgres" in str(world.engine._database.name):
        explain = "EXPLAIN SELECT id FROM resources WHERE resync_at <= 5 ORDER BY resync_at LIMIT 1"
    else:
        explain = "EXPLAIN QUERY PLAN SELECT id FROM resources WHERE resync_at <= 5 ORDER BY resync_at LIMIT 1"
    plan = world.do(world.engine.read(lambda db: db.fetch(explain)))
    assert "resources_resync" in str(plan)
    assert not world.do(world.engine.read(nodes.resync_due, 5, 1))


def test_stages_of_a_resync_are_told_its_trigger_but_for_the_rollup(world):
    world.leaf()
    world.composite("group", MAKE, SUM, resync_interval_secs=60, resync_recomposes=True)
    world.group("g", ["leaf/a"])
    world.work()
    later(world)
    told = {}
    while claims := world.claim():
        told.update({str(claim.stage): str(claim.trigger) for claim in claims})
        world.answer(claims[0])
    assert told == {Stage.COMPOSE: "resync", Stage.WORK: "resync", Stage.ROLLUP: "childrenSettled"}


def test_what_was_due_when_a_value_did_not_fit_runs_once_one_fits_again(world):
    """The generation is the same before and after: nothing else would have it run."""
    gives = {"place": {}, "id": 1}
    world.leaf("net")
    world.leaf("vm", resync_interval_secs=60)
    world.on("net", lambda claim: Outcome(status=dict(gives)))
    world.composite()
    flows = [["/net", "/place"], ["/net/id", "/id"]]
    world.group("g", ["net/n"], ["vm/v"], edges=[["vm/v", "net/n", flows]])
    world.work()
    later(world)
    for place, ran in (("a string", ["work net/n"]), ({}, ["work net/n", "work vm/v"])):
        gives["place"] = place
        world.again("net/n")
        assert world.work() == ran
