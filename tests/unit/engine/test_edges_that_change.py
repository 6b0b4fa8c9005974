"""Dependencies that change, or lose an end: faults that the search of test_machine found."""

import pytest

from stdworker.model.outcome import Outcome

STORES = "both"

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}


@pytest.fixture
def vms(world):
    """A composite of resources that have a teardown."""
    world.kind("vm", MAKE, DROP)
    world.leaf()
    world.composite()
    return world


def test_children_that_are_dropped_together_go_dependents_first(vms):
    vms.group("g", ["vm/a"], ["vm/b"], ["vm/keep"], edges=[["vm/b", "vm/a"]])
    vms.work()
    vms.group("g", ["vm/keep"])
    ran = vms.work()
    assert ran == ["compose group/g", "delete vm/b", "delete vm/a"]


def test_a_removal_goes_on_when_what_it_waited_for_depends_on_it_no_more(vms):
    vms.group("g", ["vm/a"], ["vm/b"], edges=[["vm/b", "vm/a"]])
    vms.work()
    vms.delete("vm/a")
    vms.group("g", ["vm/a"], ["vm/b"])
    [compose] = [claim for claim in vms.claim() if claim.stage == "compose"]
    vms.answer(compose)
    assert [str(claim.resource.ref) for claim in vms.claim()] == ["vm/a"]


def test_a_new_child_does_not_run_while_its_dependency_is_torn_down(vms):
    vms.group("g", ["vm/a"])
    vms.work()
    vms.delete("vm/a")
    teardown = vms.claim_one()
    vms.group("g", ["vm/a"], ["leaf/b"], edges=[["leaf/b", "vm/a"]])
    vms.answer(vms.claim_one())
    assert vms.claim() == []
    assert vms.condition("leaf/b", "Synced").message == "vm/a is being deleted"
    vms.settle(teardown)
    assert vms.work() == ["compose group/g", "work vm/a", "work leaf/b"]


def test_a_child_whose_dependency_went_and_is_wanted_no_more_runs(vms):
    vms.group("g", ["vm/a"])
    vms.work()
    vms.delete("vm/a")
    teardown = vms.claim_one()
    vms.group("g", ["vm/a"], ["leaf/b"], edges=[["leaf/b", "vm/a"]])
    vms.answer(vms.claim_one())
    vms.settle(teardown)
    vms.group("g", ["leaf/b"])
    vms.work()
    assert vms.phase("leaf/b") == "Ready"
    assert vms.phase("group/g") == "Ready"


def test_a_composite_is_not_ready_before_new_values_have_flowed(vms):
    vms.on("leaf", lambda claim: Outcome(status={"id": "x"}))
    vms.group("g", ["leaf/a"], ["leaf/b"])
    vms.work()
    vms.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a", [["/from", "/id"]]]])
    assert vms.work() == ["compose group/g", "work leaf/b"]
    phases = [event.reason for event in vms.events("group/g") if event.type == "PhaseChanged"]
    assert phases == ["Ready", "Reconciling", "Ready"]
