"""Composites that failed for good: children that move make up for nothing that their owner did not do."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.errors import Terminal
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from tests.unit.engine.conftest import COMPOSE, WORK, reaction

STORES = "both"

FAILED = ("Failed", 0, "no")


@pytest.fixture
def group(world):
    """A kind that composes, again when a child moves, and works too."""
    world.leaf()
    world.composite("group", reaction("make", "specChange", WORK), reaction("replan", "childrenSettled", COMPOSE))
    return world


def fail(claim):
    raise Terminal("no")


def stand(world):
    found = world.get("group/g")
    return str(found.phase), found.synced_gen, found.failure_message


def test_a_child_that_settles_does_not_stand_in_for_the_work_that_failed(group):
    group.on("group", fail)
    group.group("g", ["leaf/a"])
    assert group.work() == ["compose group/g", "work group/g", "work leaf/a", "compose group/g"]
    assert stand(group) == FAILED
    group.again("leaf/a")
    group.work()
    assert stand(group) == FAILED
    group.on("group", lambda claim: Outcome())
    group.again("group/g")
    group.work()
    assert stand(group) == ("Ready", 2, "")


def test_work_that_fails_when_it_is_repeated_is_not_made_up_for_either(group):
    group.group("g", ["leaf/a"])
    group.work()
    group.on("group", fail)
    default = ConfigDeclaration("d", KindVersion("group"), is_default=True, bundle=b"1")
    group.do(group.engine.put_config(default, "test"))
    group.work()
    group.again("leaf/a")
    assert group.work() == ["work leaf/a", "compose group/g"]
    assert stand(group) == ("Failed", 1, "no")


def test_a_child_that_is_gone_is_made_again_and_its_owner_stays_failed(group):
    group.on("group", fail)
    group.group("g", ["leaf/a"])
    group.work()
    group.delete("leaf/a")
    group.work()
    assert group.phase("leaf/a") == "Ready"
    assert stand(group) == FAILED


def test_a_child_that_is_released_changes_nothing_about_its_failed_owner(group):
    group.on("group", fail)
    group.group("g", ["leaf/a"])
    group.work()
    group.do(group.engine.quarantine(group.ref("leaf/a"), "ada"))
    group.do(group.engine.unquarantine(group.ref("leaf/a"), "ada"))
    group.work()
    assert stand(group) == FAILED


def both_running(group):
    """The work of the composite, while that of its child has just ended."""
    group.group("g", ["leaf/a"])
    group.answer(group.claim_one())
    claims = {claim.resource.kind: claim for claim in group.claim()}
    group.answer(claims["leaf"])
    return claims["group"]


def test_a_child_that_settles_meanwhile_repeats_no_work_that_failed_for_good(group):
    group.settle(both_running(group), error="no", terminal=True)
    assert group.work() == ["compose group/g"]
    assert stand(group) == FAILED


def test_a_child_that_settles_meanwhile_shortens_no_backoff(group):
    group.settle(both_running(group), error="no", retry_after_ms=60_000)
    assert group.work() == []
    group.clock.advance(60)
    assert group.work() == ["compose group/g", "work group/g"]
    assert group.phase("group/g") == "Ready"


def test_a_child_that_settles_between_two_stages_has_its_owner_compose_once_more(group):
    group.group("g", ["leaf/a"])
    group.answer(group.claim_one())
    [child] = group.claim(pairs=[KindVersion("leaf")])
    group.answer(child)
    assert group.work() == ["compose group/g", "work group/g"]
    assert group.phase("group/g") == "Ready"


def test_a_composite_that_stopped_at_its_compose_does_its_work_when_it_has_composed(group):
    group.group("g", ["leaf/a"])
    group.work()
    composed = group.handlers["group", "compose"]
    group.on("group", fail, "compose")
    group.again("group/g")
    group.work()
    assert stand(group) == ("Failed", 1, "no")
    group.on("group", composed, "compose")
    group.again("leaf/a")
    assert "work group/g" in group.work()
    assert stand(group) == ("Ready", 2, "")


def test_a_rollup_that_failed_for_good_is_repeated_when_its_children_have_moved(world):
    world.leaf()
    world.composite("group", reaction("make", "specChange", WORK), reaction("sum", "childrenSettled", WORK))
    world.group("g", ["leaf/a"])
    world.work()
    world.on("group", fail, "rollup")
    world.again("leaf/a")
    world.work()
    assert stand(world) == ("Failed", 1, "no")
    world.on("group", lambda claim: Outcome(), "rollup")
    world.again("leaf/a")
    world.work()
    assert stand(world) == ("Ready", 1, "")


@pytest.fixture
def summed(world):
    """A kind that works and rolls up; its child has settled while it worked."""
    world.leaf()
    world.composite("group", reaction("make", "specChange", WORK), reaction("sum", "childrenSettled", WORK))
    return world


def test_a_child_that_moves_while_the_rollup_of_a_whole_run_is_leased_is_rolled_up_again(summed):
    summed.answer(both_running(summed))
    rollup = summed.claim_one()
    assert rollup.stage == "rollup"
    summed.again("leaf/a")
    summed.answer(summed.claim_one())
    summed.answer(rollup)
    assert summed.work() == ["rollup group/g"]
    assert summed.phase("group/g") == "Ready"


def test_children_that_settle_before_the_rollup_are_rolled_up_once(summed):
    summed.answer(both_running(summed))
    assert summed.work() == ["rollup group/g"]


def test_nothing_is_rolled_up_after_work_that_failed_for_good(summed):
    summed.settle(both_running(summed), error="no", terminal=True)
    summed.again("leaf/a")
    assert summed.work() == ["work leaf/a"]
    assert stand(summed) == FAILED


def test_what_settled_while_the_work_failed_for_good_is_not_rolled_up_either(summed):
    summed.settle(both_running(summed), error="no", terminal=True)
    assert summed.work() == []
    assert stand(summed) == FAILED


@pytest.mark.parametrize("asked", ["config", "reconcile"])
def test_what_someone_asks_for_while_the_work_fails_for_good_is_run(group, asked):
    running = both_running(group)
    if asked == "reconcile":
        group.again("group/g")
    else:
        default = ConfigDeclaration("d", KindVersion("group"), is_default=True, bundle=b"1")
        group.do(group.engine.put_config(default, "test"))
        group.rest()
    group.settle(running, error="no", terminal=True)
    assert "work group/g" in group.work()
    assert group.phase("group/g") == "Ready"
