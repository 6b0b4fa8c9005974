"""Operations: run once, one at a time, in order, and never beside another task of the resource."""

import pytest

from stdworker.engine.reconcile.operate import ENDED_KEPT, OPEN_MAX
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Invalid, NotFound, Retry
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.outcome import ChildSpec, Condition, Outcome

STORES = "both"

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "vm/drop"}
SNAP = {
    "name": "snap",
    "trigger": "operation",
    "verb": "snapshot",
    "emits": ["operationOutput"],
    "input_schema": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]},
}
KICK = {"name": "kick", "trigger": "operation", "verb": "restart", "emits": ["operationOutput", "status"]}


@pytest.fixture
def vm(world):
    """A kind with the operations snapshot and restart, and a resource of it that is Ready."""
    world.kind("vm", MAKE, DROP, SNAP, KICK)
    world.apply("vm", "v", {"cpus": 2})
    world.work()
    return world


def states(world):
    return [row.state for row in reversed(world.do(world.engine.operations(world.ref("vm/v"))).items)]


def test_an_operation_runs_once_with_its_input_and_keeps_its_output(vm):
    uid = vm.operate("vm/v", "snapshot", {"label": "before"})
    assert vm.operation("vm/v", uid).state == "pending"
    claim = vm.claim_one()
    assert (claim.stage, claim.trigger, claim.reaction) == (Stage.OPERATE, Trigger.OPERATION, "snap")
    told = claim.operation
    assert (told.verb, told.input, told.attempts, told.requested_by) == (
        "snapshot",
        {"label": "before"},
        1,
        "someone",
    )
    assert claim.resource.spec == {"cpus": 2}
    assert vm.operation("vm/v", uid).state == "running"

    vm.clock.advance(3)
    vm.settle(claim, Outcome(output={"id": 7}))

    done = vm.operation("vm/v", uid)
    assert (done.state, done.output, done.finished_at - done.started_at) == ("succeeded", '{"id":7}', 3_000)
    assert vm.work() == []
    assert [e.type for e in vm.events("vm/v")][-2:] == ["OperationRequested", "OperationSucceeded"]


def test_a_failure_ends_an_operation_whatever_kind_of_failure_it_is(vm):
    uid = vm.operate("vm/v", "restart")

    def fail(claim):
        raise Retry("no route to host", reason="Unreachable")

    vm.on("vm", fail, Stage.OPERATE)
    assert vm.work() == ["operate vm/v"]
    done = vm.operation("vm/v", uid)
    assert (done.state, done.reason, done.message) == ("failed", "Unreachable", "no route to host")
    assert vm.phase("vm/v") == "Ready"
    vm.clock.advance(400)
    assert vm.work() == []


def test_operations_of_a_resource_run_one_at_a_time_in_their_order(vm):
    uids = [vm.operate("vm/v", "restart", n) for n in range(3)]
    for n, uid in enumerate(uids):
        claim = vm.claim_one()
        assert claim.operation.input == n
        vm.settle(claim)
        assert vm.operation("vm/v", uid).state == "succeeded"
    assert states(vm) == ["succeeded"] * 3


def test_an_operation_of_a_lost_worker_is_run_again_and_counts(vm):
    uid = vm.operate("vm/v", "restart")
    first = vm.claim_one()
    vm.do(vm.engine.release([first.lease], "broker", counted=True))
    assert vm.operation("vm/v", uid).state == "pending"
    vm.clock.advance(3)
    again = vm.claim_one()
    assert again.operation.attempts == 2
    assert not vm.settle(first, Outcome(output=1))
    vm.settle(again, Outcome(output=2))
    assert vm.operation("vm/v", uid).output == "2"


def test_an_operation_that_loses_its_worker_too_often_fails(vm):
    vm.do(vm.engine.set_policy(KindVersion("vm"), KindPolicy(max_transient_attempts=2), "test"))
    uid = vm.operate("vm/v", "restart")
    for _ in range(2):
        vm.clock.advance(10)
        vm.do(vm.engine.release([vm.claim_one().lease], "broker", counted=True))
    done = vm.operation("vm/v", uid)
    assert (done.state, done.reason, done.attempts) == ("failed", "WorkerLost", 2)


def test_an_operation_that_is_given_back_is_not_counted(vm):
    uid = vm.operate("vm/v", "restart")
    vm.settle(vm.claim_one(), error="draining", released=True)
    assert vm.operation("vm/v", uid).attempts == 0
    assert vm.claim_one().operation.attempts == 1


def test_an_operation_waits_while_another_task_of_its_resource_runs(vm):
    vm.apply("vm", "v", {"cpus": 4})
    reconcile = vm.claim_one()
    vm.operate("vm/v", "restart")
    assert vm.claim() == []
    vm.settle(reconcile)
    vm.clock.advance(1)
    assert vm.claim_one().stage == Stage.OPERATE


def test_a_reconcile_waits_while_an_operation_of_its_resource_runs(vm):
    vm.operate("vm/v", "restart")
    operation = vm.claim_one()
    vm.apply("vm", "v", {"cpus": 4})
    assert vm.claim() == []
    vm.settle(operation)
    assert vm.claim_one().stage == Stage.WORK


def test_of_an_operation_and_a_reconcile_that_are_due_together_one_runs_first(vm):
    vm.apply("vm", "v", {"cpus": 4})
    vm.operate("vm/v", "restart")
    first = vm.claim_one()
    assert vm.claim() == []
    vm.settle(first)
    vm.clock.advance(1)
    assert {first.stage, vm.claim_one().stage} == {Stage.WORK, Stage.OPERATE}


def test_an_operation_runs_on_a_resource_that_waits_for_its_next_attempt(vm):
    vm.apply("vm", "v", {"cpus": 4})
    vm.settle(vm.claim_one(), error="busy", retry_after_ms=60_000)
    vm.operate("vm/v", "restart")
    operation = vm.claim_one()
    assert operation.stage == Stage.OPERATE
    vm.clock.advance(60)
    assert vm.claim() == []
    vm.settle(operation)
    assert vm.claim_one().stage == Stage.WORK


def test_an_operation_may_report_a_status_if_its_manifest_says_so_and_nothing_else(vm):
    vm.operate("vm/v", "restart")
    dropped = {"conditions": [Condition("Ready", "False")], "children": [ChildSpec("vm", 1, "w")]}
    vm.on("vm", lambda claim: Outcome(status={"boots": 2}, **dropped), Stage.OPERATE)
    vm.work()
    assert vm.get("vm/v").status == b'{"boots":2}'
    assert vm.phase("vm/v") == "Ready"
    assert [e.message for e in vm.events("vm/v") if e.reason == "EmitDropped"] == [
        "dropped what the reaction may not emit: children, conditions"
    ]


def test_a_verb_that_the_kind_has_not_is_not_found_and_those_that_it_has_are_named(vm):
    with pytest.raises(NotFound, match=r"no operation 'reboot'.*restart, snapshot"):
        vm.operate("vm/v", "reboot")
    with pytest.raises(NotFound, match="no resource vm/w"):
        vm.operate("vm/w", "restart")


def test_an_input_that_breaks_its_schema_is_refused_with_its_place(vm):
    with pytest.raises(Invalid) as refused:
        vm.operate("vm/v", "snapshot", {"label": 5})
    assert [path for path, _ in refused.value.violations] == ["/input/label"]
    with pytest.raises(Invalid, match="input schema"):
        vm.operate("vm/v", "snapshot")
    assert states(vm) == []


def test_an_input_schema_that_is_none_is_refused_when_its_kind_is_published(world):
    with pytest.raises(Invalid, match="input_schema"):
        world.kind("vm", MAKE, SNAP | {"input_schema": {"type": "strange"}})


def test_a_resource_that_is_deleted_takes_no_operation_and_those_that_wait_fail(vm):
    running, waiting = vm.operate("vm/v", "restart"), vm.operate("vm/v", "restart")
    claim = vm.claim_one()
    vm.delete("vm/v")
    with pytest.raises(Conflict, match="being deleted"):
        vm.operate("vm/v", "restart")
    assert [void.lease for void in vm.do(vm.engine.voided("broker"))] == [claim.lease]
    assert vm.claim() == []
    vm.settle(claim, Outcome(output="done"))
    assert vm.operation("vm/v", running).state == "succeeded"
    assert vm.operation("vm/v", waiting).reason == "Deleted"
    assert vm.work() == ["delete vm/v"]
    assert not vm.exists("vm/v")


def test_an_operation_that_waits_when_its_resource_is_deleted_fails(vm):
    uid = vm.operate("vm/v", "restart")
    vm.do(vm.engine.delete(vm.ref("vm/v"), "test"))
    assert vm.operation("vm/v", uid).state == "failed"
    assert vm.work() == ["delete vm/v"]


def test_a_verb_that_is_gone_when_its_operation_is_due_fails_it_and_the_next_one_runs(vm):
    gone, kept = vm.operate("vm/v", "restart"), vm.operate("vm/v", "snapshot", {"label": "x"})
    vm.kind("vm", MAKE, DROP, SNAP)
    vm.work()
    vm.clock.advance(1)
    assert vm.claim() == []
    vm.work()
    assert vm.operation("vm/v", gone).reason == "UnknownVerb"
    assert vm.operation("vm/v", kept).state == "succeeded"


def test_an_operation_follows_its_resource_to_another_version(vm):
    vm.operate("vm/v", "restart")
    vm.kind("vm", MAKE, DROP, KICK, version=2)
    vm.apply("vm", "v", version=2)
    served = [KindVersion("vm", 2)]
    for _ in range(2):
        for claim in vm.claim(pairs=served):
            vm.settle(claim)
        vm.clock.advance(1)
    assert states(vm) == ["succeeded"]


def test_what_waits_and_what_is_remembered_of_a_resource_is_bounded(vm):
    for n in range(OPEN_MAX):
        vm.operate("vm/v", "restart", n)
    with pytest.raises(Conflict, match="have not ended"):
        vm.operate("vm/v", "restart")
    vm.work()
    vm.operate("vm/v", "restart")
    page = vm.do(vm.engine.operations(vm.ref("vm/v"), limit=500)).items
    assert len(page) == ENDED_KEPT


def test_an_operation_that_was_lost_began_when_it_was_handed_out_first(vm):
    uid = vm.operate("vm/v", "restart")
    lost = vm.claim_one()
    began = vm.operation("vm/v", uid).started_at
    vm.do(vm.engine.release([lost.lease], "broker", counted=True))
    vm.clock.advance(3)
    vm.claim_one()
    assert vm.operation("vm/v", uid).started_at == began


def test_what_waits_behind_an_operation_waits_on_when_its_resource_was_frozen_meanwhile(vm):
    for _ in range(2):
        vm.operate("vm/v", "restart")
    first = vm.claim_one()
    vm.apply("vm", "v", {"cpus": 4})
    vm.do(vm.engine.quarantine(vm.ref("vm/v"), "test"))
    vm.settle(first)
    assert vm.claim() == []
    vm.do(vm.engine.unquarantine(vm.ref("vm/v"), "test"))
    vm.work()
    vm.clock.advance(1)
    vm.work()
    assert (states(vm), vm.phase("vm/v")) == (["succeeded"] * 2, "Ready")
