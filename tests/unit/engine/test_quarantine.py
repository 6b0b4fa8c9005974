"""Quarantine: nothing of a resource runs until someone releases it, and nothing is lost meanwhile."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.errors import Conflict, NotFound
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome
from tests.unit.engine.conftest import reaction

STORES = "both"


def freeze(world, ref):
    world.do(world.engine.quarantine(world.ref(ref), "ada"))
    world.rest()


def release(world, ref):
    world.do(world.engine.unquarantine(world.ref(ref), "ada"))
    world.rest()


def voided(world):
    return [lease.reason for lease in world.do(world.engine.voided("broker"))]


def types(world, ref):
    return [(event.type, event.actor) for event in world.events(ref) if event.type.endswith("uarantined")]


def test_an_edit_is_kept_and_runs_at_the_release(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.work()
    freeze(world, "leaf/a")
    world.apply("leaf", "a", {"n": 2})
    assert (world.work(), world.phase("leaf/a"), world.get("leaf/a").generation) == ([], "Quarantined", 2)
    release(world, "leaf/a")
    assert world.phase("leaf/a") == "Reconciling"
    assert (world.work(), world.phase("leaf/a")) == (["work leaf/a"], "Ready")


def test_one_that_was_settled_is_ready_at_once_when_it_is_released(world):
    world.leaf()
    world.apply("leaf", "a")
    world.work()
    freeze(world, "leaf/a")
    assert not world.get("leaf/a").is_ready
    release(world, "leaf/a")
    assert (world.work(), world.phase("leaf/a")) == ([], "Ready")


def test_what_waited_for_its_turn_waits_for_the_release(world):
    world.leaf()
    world.apply("leaf", "a")
    freeze(world, "leaf/a")
    assert world.work() == []
    release(world, "leaf/a")
    assert world.work() == ["work leaf/a"]


def test_it_is_recorded_with_who_did_it_and_doing_it_again_changes_nothing(world):
    world.leaf()
    world.apply("leaf", "a")
    for _ in range(2):
        freeze(world, "leaf/a")
    revision = world.get("leaf/a").revision
    freeze(world, "leaf/a")
    assert world.get("leaf/a").revision == revision
    for _ in range(2):
        release(world, "leaf/a")
    assert types(world, "leaf/a") == [("Quarantined", "ada"), ("Unquarantined", "ada")]


def test_a_running_task_is_told_to_stop_and_runs_again_after_the_release(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    freeze(world, "leaf/a")
    assert voided(world) == ["the resource is frozen"]
    assert world.settle(claim, error="cancelled", released=True)
    assert (world.work(), world.get("leaf/a").failure_attempts) == ([], 0)
    release(world, "leaf/a")
    assert world.work() == ["work leaf/a"]


def test_what_a_task_finished_before_it_could_stop_is_stored(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    freeze(world, "leaf/a")
    assert world.settle(claim, Outcome(status={"id": 7}))
    record = world.get("leaf/a")
    assert (record.phase, record.synced_gen, record.status) == ("Quarantined", 1, b'{"id":7}')
    release(world, "leaf/a")
    assert (world.work(), world.phase("leaf/a")) == ([], "Ready")


def test_a_failure_for_good_that_a_task_brings_before_it_could_stop_is_stored(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    freeze(world, "leaf/a")
    assert world.settle(claim, error="no such zone", terminal=True)
    release(world, "leaf/a")
    assert (world.work(), world.phase("leaf/a")) == ([], "Failed")


def test_a_task_whose_worker_is_lost_meanwhile_waits_uncounted(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    freeze(world, "leaf/a")
    world.do(world.engine.release([claim.lease], "broker", counted=True))
    assert (world.work(), world.get("leaf/a").failure_attempts) == ([], 0)
    release(world, "leaf/a")
    assert world.work() == ["work leaf/a"]


def test_one_released_before_its_task_stopped_runs_once_more_after_it(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    freeze(world, "leaf/a")
    release(world, "leaf/a")
    assert world.claim() == []
    world.settle(claim, error="cancelled", released=True)
    assert (world.work(), world.phase("leaf/a")) == (["work leaf/a"], "Ready")


def test_a_failure_is_not_tried_again_before_the_release(world):
    world.leaf()
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="busy")
    freeze(world, "leaf/a")
    world.clock.advance(3600)
    assert (world.work(), world.get("leaf/a").next_attempt_at_ms) == ([], None)
    release(world, "leaf/a")
    assert (world.work(), world.phase("leaf/a")) == (["work leaf/a"], "Ready")


def test_a_config_edit_and_a_request_to_run_wait_for_the_release(world):
    world.leaf()
    world.apply("leaf", "a")
    world.work()
    freeze(world, "leaf/a")
    world.do(world.engine.put_config(ConfigDeclaration("c", world.pairs[0], is_default=True, bundle=b"x"), "ada"))
    assert world.work() == []
    release(world, "leaf/a")
    assert world.work() == ["work leaf/a"]
    freeze(world, "leaf/a")
    world.again("leaf/a")
    assert world.work() == []
    release(world, "leaf/a")
    assert world.work() == ["work leaf/a"]


def test_a_frozen_child_does_not_count_against_its_owner(world):
    world.leaf()
    world.composite()
    world.on("leaf", lambda claim: Outcome())
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.answer(world.claim_one())
    freeze(world, "leaf/a")
    assert world.work() == ["work leaf/b"]
    assert world.phase("group/g") == "Ready"
    release(world, "leaf/a")
    assert world.phase("group/g") == "Reconciling"
    world.work()
    assert world.phase("group/g") == "Ready"


def test_a_dependent_of_one_that_is_frozen_before_it_is_synced_is_blocked_and_goes_on_after_the_release(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a"]])
    world.answer(world.claim_one())
    freeze(world, "leaf/a")
    assert world.work() == []
    assert world.condition("leaf/b", "Ready").message == "leaf/a is frozen"
    assert "leaf/b: leaf/a is frozen" in world.condition("group/g", "Ready").message
    release(world, "leaf/a")
    assert world.work() == ["compose group/g", "work leaf/a", "work leaf/b"]


def test_a_dependent_of_one_that_was_synced_when_it_was_frozen_runs(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a"]])
    world.work()
    freeze(world, "leaf/a")
    world.again("leaf/b")
    assert "work leaf/b" in world.work()


def test_a_child_that_its_composer_drops_stays_while_it_is_frozen_and_goes_at_its_release(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    freeze(world, "leaf/a")
    world.group("g", ["leaf/b"])
    world.work()
    assert world.phase("leaf/a") == "Quarantined"
    release(world, "leaf/a")
    assert "compose group/g" in world.work()
    assert not world.exists("leaf/a")


def test_a_frozen_child_that_depends_on_one_that_its_composer_drops_goes_with_it_at_once(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"], ["leaf/c"], edges=[["leaf/b", "leaf/a"]])
    world.work()
    freeze(world, "leaf/b")
    world.group("g", ["leaf/c"])
    assert world.work() == ["compose group/g"]
    assert not world.exists("leaf/b")
    assert world.phase("group/g") == "Ready"


def test_what_its_composer_changes_meanwhile_is_kept_and_runs_at_the_release(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a", {"n": 1}])
    world.work()
    freeze(world, "leaf/a")
    world.group("g", ["leaf/a", {"n": 2}])
    assert world.work() == ["compose group/g"]
    assert (world.get("leaf/a").spec, world.phase("group/g")) == (b'{"n":2}', "Ready")
    release(world, "leaf/a")
    assert "work leaf/a" in world.work()


def test_a_frozen_composite_composes_at_its_release_while_its_children_go_on(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    freeze(world, "group/g")
    world.group("g", ["leaf/a", {"n": 2}], ["leaf/b"])
    world.again("leaf/a")
    assert world.work() == ["work leaf/a"]
    release(world, "group/g")
    assert sorted(world.work()) == ["compose group/g", "work leaf/a", "work leaf/b"]
    assert world.phase("group/g") == "Ready"


def test_a_composition_that_was_told_to_stop_is_not_taken(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    claim = world.claim_one()
    freeze(world, "group/g")
    world.answer(claim)
    assert (world.exists("leaf/a"), world.work()) == (False, [])
    release(world, "group/g")
    assert world.work() == ["compose group/g", "work leaf/a"]


def test_deletion_wins_and_its_teardown_runs(world):
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("unmake", "deleteRequested", ["finalizer"], finalizer="leaf"),
    )
    world.apply("leaf", "a")
    world.work()
    freeze(world, "leaf/a")
    world.delete("leaf/a")
    assert world.phase("leaf/a") == "Deleting"
    assert (world.work(), world.exists("leaf/a")) == (["delete leaf/a"], False)


def test_a_frozen_child_that_is_deleted_is_awaited_by_its_owner_like_any_other(world):
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("unmake", "deleteRequested", ["finalizer"], finalizer="leaf"),
    )
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    freeze(world, "leaf/a")
    world.delete("leaf/a")
    assert world.phase("group/g") == "Reconciling"
    assert world.work() == ["delete leaf/a", "compose group/g", "work leaf/a"]
    assert (world.phase("leaf/a"), world.phase("group/g")) == ("Ready", "Ready")


def test_one_that_is_being_deleted_can_not_be_frozen_any_more(world):
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("unmake", "deleteRequested", ["finalizer"], finalizer="leaf"),
    )
    world.apply("leaf", "a")
    world.work()
    world.delete("leaf/a")
    with pytest.raises(Conflict, match="being deleted"):
        freeze(world, "leaf/a")


def test_what_is_not_there_can_neither_be_frozen_nor_released(world):
    world.leaf()
    for verb in (freeze, release):
        with pytest.raises(NotFound):
            verb(world, "leaf/none")


def operable(world):
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("snap", "operation", ["operationOutput"], verb="snap"),
    )
    world.apply("leaf", "a")
    world.work()


def test_an_operation_is_refused_and_one_that_waits_runs_after_the_release(world):
    operable(world)
    uid = world.operate("leaf/a", "snap")
    freeze(world, "leaf/a")
    with pytest.raises(Conflict, match="Quarantined"):
        world.operate("leaf/a", "snap")
    assert (world.work(), world.operation("leaf/a", uid).state) == ([], "pending")
    release(world, "leaf/a")
    assert (world.work(), world.operation("leaf/a", uid).state) == (["operate leaf/a"], "succeeded")


def test_an_operation_that_runs_is_told_to_stop_and_begins_again_after_the_release(world):
    operable(world)
    uid = world.operate("leaf/a", "snap")
    claim = world.claim_one()
    assert claim.stage is Stage.OPERATE
    freeze(world, "leaf/a")
    assert voided(world) == ["the resource is frozen"]
    world.settle(claim, error="cancelled", released=True)
    assert (world.work(), world.operation("leaf/a", uid).state) == ([], "pending")
    release(world, "leaf/a")
    assert (world.work(), world.operation("leaf/a", uid).attempts) == (["operate leaf/a"], 1)
