"""Deletion: dependents first, the root last, teardowns before removals."""

import pytest

from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Retry, Terminal
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, Outcome

STORES = "both"

TEARDOWN = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"]}


@pytest.fixture
def vm(world):
    """A kind with a teardown."""
    make = {"name": "make", "trigger": "specChange", "emits": ["status"]}
    world.kind("vm", make, TEARDOWN, finalizer_name="vm/teardown")
    return world


def test_a_resource_without_a_teardown_goes_at_once(world):
    world.leaf()
    world.apply("leaf", "a")
    world.delete("leaf/a")
    assert not world.exists("leaf/a")
    assert world.work() == []
    assert world.events("leaf/a")[-1].type == "Deleted"
    assert world.do(world.engine.summary())["totals"] == {}


def test_what_a_composite_owns_goes_with_it_dependents_first_and_the_root_last(world):
    world.leaf()
    world.composite()
    world.composite("outer")
    inner = {"children": [["leaf/a"], ["leaf/b"]], "edges": [["leaf/b", "leaf/a"]]}
    world.apply("outer", "top", {"children": [["group/mid", inner]]})
    world.work()
    world.delete("outer/top")
    assert world.find() == []
    gone = [f"{e.ref}" for e in world.events() if e.type == "Deleted"]
    assert gone == ["leaf/b", "leaf/a", "group/mid", "outer/top"]


def test_a_deletion_tells_what_goes_with_it_below_it_and_dependent_also_what_these_own(world):
    world.leaf()
    world.composite()
    world.composite("outer")
    groups = [[f"group/{name}", {"children": [[f"leaf/{name}"]]}] for name in "abc"]
    edges = [["group/b", "group/a"], ["group/c", "group/b"]]
    world.apply("outer", "top", {"children": groups, "edges": edges})
    world.work()
    goes_with = {"outer/top": (6, []), "group/a": (1, ["b", "c"]), "group/c": (1, []), "leaf/a": (0, [])}
    for ref, (below, names) in goes_with.items():
        told = world.do(world.engine.delete(world.ref(ref), "test", dry_run=True))
        assert (told.below, told.dependents) == (below, 2 * len(names))
        assert {f"{dependent}" for dependent in told.first} == {f"{k}/{n}" for n in names for k in ("group", "leaf")}
    assert len(world.find()) == 7
    told = world.do(world.engine.delete(world.ref("group/a"), "test"))
    assert (told.below, told.dependents) == (1, 4)


def test_a_dependent_beyond_the_first_few_is_only_counted(world):
    world.leaf()
    world.composite()
    names = [f"leaf/n{number}" for number in range(7)]
    world.group("g", *([name] for name in names), edges=[[name, names[0]] for name in names[1:]])
    world.work()
    told = world.do(world.engine.delete(world.ref("leaf/n0"), "test", dry_run=True))
    assert (told.below, told.dependents, len(told.first)) == (0, 6, 5)


def test_a_running_task_ends_before_its_resource_goes(world):
    world.leaf()
    world.apply("leaf", "a")
    claim = world.claim_one()
    world.delete("leaf/a")
    assert world.phase("leaf/a") == "Deleting"
    assert [void.lease for void in world.do(world.engine.voided("broker"))] == [claim.lease]
    world.settle(claim, error="cancelled", released=True)
    assert not world.exists("leaf/a")


def test_a_composer_that_ends_while_its_resource_is_deleted_makes_no_children(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    claim = world.claim_one()
    world.delete("group/g")
    world.answer(claim)
    assert world.find() == []


def test_what_is_dropped_goes_with_the_children_that_its_composer_makes_in_the_same_batch(world):
    world.leaf()
    world.composite()
    world.group("top", ["group/mid"])
    world.work()
    world.again("group/mid")
    world.again("group/top")
    claims = {claim.resource.name: claim for claim in world.claim()}
    made, dropped = Outcome(children=[ChildSpec("leaf", 1, "b", {})]), Outcome(allow_empty=True)
    results = [Settlement(claims[n].lease, Stage.COMPOSE, o) for n, o in (("mid", made), ("top", dropped))]

    assert world.do(world.engine.settle(results)) == [True, True]
    world.work()

    assert [str(record.ref) for record in world.find()] == ["group/top"]
    assert world.phase("group/top") == "Ready"


def test_a_teardown_runs_before_the_resource_goes(vm):
    vm.apply("vm", "v", {"x": 1})
    vm.work()
    vm.delete("vm/v")
    record = vm.get("vm/v")
    assert (record.phase, record.finalizers) == ("Deleting", ["vm/teardown"])
    claim = vm.claim_one()
    assert (claim.stage, claim.reaction, claim.trigger) == (Stage.DELETE, "drop", "deleteRequested")
    assert claim.resource.spec == {"x": 1}
    vm.settle(claim)
    assert not vm.exists("vm/v")


def test_a_teardown_waits_for_a_running_task_of_its_resource(vm):
    vm.apply("vm", "v")
    running = vm.claim_one()
    vm.delete("vm/v")
    assert vm.claim() == []
    vm.settle(running)
    assert vm.claim_one().stage == Stage.DELETE


def test_a_teardown_is_tried_again_for_ever_whatever_it_says(vm):
    vm.apply("vm", "v")
    vm.work()

    def refuse(claim):
        raise Terminal("still attached")

    vm.on("vm", refuse, Stage.DELETE)
    vm.delete("vm/v")
    vm.work()
    record = vm.get("vm/v")
    assert (record.phase, record.failure_message, record.failure_terminal) == ("Deleting", "still attached", False)
    vm.clock.advance(400)
    assert vm.work() == ["delete vm/v"]
    vm.on("vm", lambda claim: Outcome(), Stage.DELETE)
    vm.again("vm/v")
    assert vm.work() == ["delete vm/v"]
    assert not vm.exists("vm/v")


def test_force_skips_the_teardown_and_is_an_event(vm):
    vm.apply("vm", "v")
    vm.work()

    def busy(claim):
        raise Retry("busy", after=60)

    vm.on("vm", busy, Stage.DELETE)
    vm.delete("vm/v")
    vm.work()
    vm.delete("vm/v", force=True)
    assert not vm.exists("vm/v")
    assert "DeleteForced" in [event.type for event in vm.events("vm/v")]


def test_force_ends_a_teardown_that_runs_and_names_what_was_skipped(vm):
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    claim = vm.claim_one()
    vm.delete("vm/v", force=True)
    assert [void.lease for void in vm.do(vm.engine.voided("broker"))] == [claim.lease]
    vm.settle(claim, error="cancelled", released=True)
    assert not vm.exists("vm/v")
    [skipped] = [event for event in vm.events("vm/v") if event.type == "TeardownSkipped"]
    assert "vm/teardown" in skipped.message


def test_force_skips_the_teardowns_of_all_that_goes_with_it(vm):
    vm.composite("stack", TEARDOWN, finalizer_name="stack/teardown")
    vm.apply("stack", "s", {"children": [["vm/a"], ["vm/b"]], "edges": [["vm/b", "vm/a"]]})
    vm.work()
    vm.delete("stack/s")
    vm.answer(vm.claim_one())
    vm.delete("stack/s", force=True)
    assert vm.work() == []
    assert vm.find() == []
    assert [str(e.ref) for e in vm.events() if e.type == "TeardownSkipped"] == ["stack/s", "vm/a"]


def torn_down(vm, times, **failure):
    """A resource whose teardown failed so often in a row; in how many seconds it is tried again."""
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    for _ in range(times):
        vm.clock.advance(400)
        vm.settle(vm.claim_one(), error="still attached", **failure)
    return (vm.get("vm/v").next_attempt_at_ms - vm.clock.now_ms()) / 1000


def test_a_teardown_that_says_that_it_cannot_succeed_is_tried_again_at_the_cap(vm):
    assert torn_down(vm, 1, terminal=True) == 300


def test_a_teardown_at_its_kinds_limit_is_tried_again_at_the_cap(vm):
    vm.do(vm.engine.set_policy(KindVersion("vm"), KindPolicy(max_transient_attempts=2), "test"))
    assert torn_down(vm, 2) == 300


def test_a_teardown_keeps_failing_visibly_and_counts_its_attempts(vm):
    assert torn_down(vm, 3) <= 8
    record = vm.get("vm/v")
    assert (record.phase, record.failure_message, record.failure_attempts) == ("Deleting", "still attached", 3)
    assert vm.condition("vm/v", "Ready").message == "still attached"


def test_a_failure_from_before_the_deletion_is_not_the_teardowns(vm):
    vm.apply("vm", "v")
    vm.settle(vm.claim_one(), error="no such region", terminal=True)
    vm.delete("vm/v")
    record = vm.get("vm/v")
    assert (record.failure_message, record.failure_attempts) == ("", 0)


def test_a_task_that_fails_while_its_resource_is_deleted_is_not_a_failed_teardown(vm):
    vm.apply("vm", "v")
    running = vm.claim_one()
    vm.delete("vm/v")
    vm.settle(running, error="the disk is full")
    assert vm.get("vm/v").failure_message == ""
    assert vm.work() == ["delete vm/v"]


def test_an_edit_of_the_config_tries_a_failed_teardown_again_at_once(vm):
    torn_down(vm, 1, terminal=True)
    default = ConfigDeclaration("d", KindVersion("vm"), is_default=True, bundle=b"1")
    vm.do(vm.engine.put_config(default, "test"))
    assert vm.work() == ["delete vm/v"]
    assert not vm.exists("vm/v")


def test_an_edit_of_the_config_while_the_teardown_runs_counts_for_the_next_attempt(vm):
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    claim = vm.claim_one()
    default = ConfigDeclaration("d", KindVersion("vm"), is_default=True, bundle=b"1")
    vm.do(vm.engine.put_config(default, "test"))
    vm.rest()
    vm.settle(claim, error="wrong password", terminal=True)
    assert vm.claim_one().stage == Stage.DELETE


def test_neither_an_edit_nor_a_reconcile_runs_an_owners_teardown_before_its_childrens(vm):
    vm.composite("stack", TEARDOWN, finalizer_name="stack/teardown")
    vm.apply("stack", "s", {"children": [["vm/a"]]})
    vm.work()
    vm.delete("stack/s")
    vm.again("stack/s")
    default = ConfigDeclaration("d", KindVersion("stack"), is_default=True, bundle=b"1")
    vm.do(vm.engine.put_config(default, "test"))
    vm.rest()
    assert vm.work() == ["delete vm/a", "delete stack/s"]


def test_a_kind_that_has_renamed_its_finalizer_still_tears_down(vm):
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    make = {"name": "make", "trigger": "specChange", "emits": ["status"]}
    vm.kind("vm", make, TEARDOWN, finalizer_name="vm/other")
    assert vm.work() == ["delete vm/v"]
    assert not vm.exists("vm/v")


def test_a_kind_that_has_lost_its_teardown_holds_no_resource_back(vm):
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    vm.leaf("vm")
    assert vm.work() == []
    assert not vm.exists("vm/v")


def test_an_owners_teardown_waits_for_its_childrens(vm):
    vm.composite("stack", TEARDOWN, finalizer_name="stack/teardown")
    vm.apply("stack", "s", {"children": [["vm/a"], ["vm/b"]], "edges": [["vm/b", "vm/a"]]})
    vm.work()
    vm.delete("stack/s")
    assert vm.work() == ["delete vm/b", "delete vm/a", "delete stack/s"]
    assert vm.find() == []


def test_a_resource_that_is_being_deleted_takes_no_document(vm):
    vm.apply("vm", "v")
    vm.work()
    vm.delete("vm/v")
    with pytest.raises(Conflict, match="vm/v is being deleted"):
        vm.apply("vm", "v", {"x": 2})


def test_a_wide_composite_goes_as_a_whole(world):
    world.leaf()
    world.composite()
    world.group("g", *[[f"leaf/c{i}"] for i in range(50)])
    world.work()
    world.delete("group/g")
    assert world.find() == []


def test_a_dropped_child_takes_its_own_children_along(world):
    world.leaf()
    world.composite()
    world.composite("outer")
    world.apply("outer", "top", {"children": [["group/mid", {"children": [["leaf/a"]]}], ["leaf/b"]]})
    world.work()
    world.apply("outer", "top", {"children": [["leaf/b"]]})
    world.work()
    assert sorted(str(r.ref) for r in world.find()) == ["leaf/b", "outer/top"]
    assert world.phase("outer/top") == "Ready"


def test_what_depended_on_a_deleted_child_is_made_again_with_it(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a"]])
    world.work()
    before = {world.get(ref).uid for ref in ("leaf/a", "leaf/b")}
    world.delete("leaf/a")
    world.work()
    assert before.isdisjoint(world.get(ref).uid for ref in ("leaf/a", "leaf/b"))
    assert world.phase("group/g") == "Ready"
