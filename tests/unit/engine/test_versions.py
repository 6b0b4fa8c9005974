"""Kind versions: moving resources from one to another, retiring them, editing their policy while they are used."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Invalid
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, Outcome

STORES = "both"

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"]}


@pytest.fixture
def vm(world):
    """`vm/a` at version 1, Ready; version 2 needs `size` and has a finalizer."""
    world.kind("vm", MAKE)
    world.kind("vm", MAKE, {**DROP, "finalizer": "two"}, version=2, spec_schema={"required": ["size"]})
    world.apply("vm", "a", {"size": 1}, labels={"team": "x"})
    world.work()
    return world


def config(world, name, version=1):
    world.do(world.engine.put_config(ConfigDeclaration(name, KindVersion("vm", version), spec=RawJson(b"{}")), "t"))


def policy(world, pair, **members):
    world.do(world.engine.set_policy(pair, KindPolicy(**members), "t"))


# ---- flips ----


def test_a_flip_keeps_the_uid_and_is_a_new_generation_that_the_new_version_runs(vm):
    before = vm.get("vm/a")
    after = vm.apply("vm", "a", version=2)
    assert (after.uid, after.kind_version, after.generation) == (before.uid, 2, 2)
    assert (after.spec, after.status, after.labels) == (before.spec, before.status, {"team": "x"})
    claim = vm.claim_one()
    assert claim.pair == KindVersion("vm", 2)
    vm.settle(claim)
    assert vm.phase("vm/a") == "Ready"


def test_a_flip_is_validated_against_the_version_that_it_goes_to(vm):
    vm.apply("vm", "a", {})
    with pytest.raises(Invalid, match="breaks the schema of vm@2"):
        vm.apply("vm", "a", version=2)
    assert vm.get("vm/a").kind_version == 1


def test_a_flip_with_labels_sets_them_and_null_or_nothing_in_them_clears(vm):
    assert vm.apply("vm", "a", version=2, labels={"team": "y"}).labels == {"team": "y"}
    assert vm.apply("vm", "a", version=1, labels=None).labels == {}
    vm.apply("vm", "a", version=1, labels={"team": "z"})
    assert vm.apply("vm", "a", version=2, labels={}).labels == {}


def test_a_kept_config_of_the_old_version_refuses_the_flip_null_detaches_it_another_replaces_it(vm):
    config(vm, "one")
    config(vm, "two", version=2)
    vm.apply("vm", "a", provider_config_ref="one")
    with pytest.raises(Invalid, match="one, which is kept, is not for vm@2"):
        vm.apply("vm", "a", version=2)
    assert vm.apply("vm", "a", version=2, provider_config_ref="two").provider_config == "two"
    assert vm.apply("vm", "a", version=1, provider_config_ref=None).provider_config is None


def test_the_finalizers_are_those_of_the_version_at_which_a_resource_is_deleted(vm):
    vm.apply("vm", "a", version=2)
    vm.work()
    vm.delete("vm/a")
    assert vm.get("vm/a").finalizers == ["two"]
    claim = vm.claim_one()
    assert (claim.stage, claim.pair) == ("delete", KindVersion("vm", 2))


def test_a_flip_while_a_task_is_leased_supersedes_it_and_runs_after_it(vm):
    vm.again("vm/a")
    old = vm.claim_one()
    vm.apply("vm", "a", version=2)
    vm.rest()
    [void] = vm.do(vm.engine.voided("broker"))
    assert void.lease == old.lease
    assert vm.claim() == []
    assert vm.settle(old, Outcome(status={"by": 1}))
    assert vm.get("vm/a").status.value() == {"by": 1}
    assert vm.claim_one().pair == KindVersion("vm", 2)


def test_a_flip_that_waits_in_the_queue_is_taken_by_workers_of_the_new_version_alone(vm):
    vm.again("vm/a")
    vm.apply("vm", "a", version=2)
    vm.rest()
    assert vm.claim(pairs=[KindVersion("vm", 1)]) == []
    assert len(vm.claim(pairs=[KindVersion("vm", 2)])) == 1


def test_a_composer_flips_its_child_by_emitting_it_at_another_version(vm):
    vm.composite()
    emitted = {"version": 1}
    vm.on("group", lambda c: Outcome(children=[ChildSpec("vm", emitted["version"], "c", {"size": 1})]), Stage.COMPOSE)
    vm.group("g")
    vm.work()
    uid = vm.get("vm/c").uid
    emitted["version"] = 2
    vm.again("group/g")
    vm.work()
    child = vm.get("vm/c")
    assert (child.uid, child.kind_version, child.generation, child.phase) == (uid, 2, 2, "Ready")


# ---- retired and deleted versions ----


def test_a_retired_version_keeps_what_it_has_and_takes_nothing_new(vm):
    policy(vm, KindVersion("vm", 1), retired=True)
    assert vm.apply("vm", "a", {"size": 2}).generation == 2
    assert vm.work() == ["work vm/a"]
    with pytest.raises(Invalid, match="vm@1 is retired"):
        vm.apply("vm", "b", {"size": 1})
    vm.apply("vm", "a", version=2)
    with pytest.raises(Invalid, match="vm@1 is retired"):
        vm.apply("vm", "a", version=1)
    policy(vm, KindVersion("vm", 1))
    assert vm.apply("vm", "a", version=1).kind_version == 1


def test_a_composer_that_wants_a_new_child_of_a_retired_version_is_stopped_and_told_which(vm):
    vm.composite()
    vm.group("g", ["vm/c", {"size": 1}])
    vm.work()
    policy(vm, KindVersion("vm", 1), retired=True)
    vm.group("g", ["vm/c", {"size": 2}])
    vm.work()
    assert vm.phase("group/g") == "Ready"
    vm.group("g", ["vm/c", {"size": 2}], ["vm/d", {"size": 1}])
    vm.work()
    found = vm.get("group/g")
    assert (found.failure_reason, found.failure_terminal) == ("RetiredKind", True)
    assert "vm/d: vm@1 is retired" in found.failure_message
    assert not vm.exists("vm/d")


def test_a_composer_that_flips_a_child_onto_a_retired_version_is_stopped(vm):
    vm.composite()
    emitted = {"version": 2}
    vm.on("group", lambda c: Outcome(children=[ChildSpec("vm", emitted["version"], "c", {"size": 1})]), Stage.COMPOSE)
    vm.group("g")
    vm.work()
    policy(vm, KindVersion("vm", 1), retired=True)
    emitted["version"] = 1
    vm.again("group/g")
    vm.work()
    assert vm.get("group/g").failure_reason == "RetiredKind"
    assert vm.get("vm/c").kind_version == 2


def test_a_version_can_be_deleted_once_its_last_resource_has_moved_away(vm):
    with pytest.raises(Conflict, match="vm@1 has resources"):
        vm.do(vm.engine.delete_kind(KindVersion("vm", 1), "t"))
    vm.apply("vm", "a", version=2)
    vm.do(vm.engine.delete_kind(KindVersion("vm", 1), "t"))
    with pytest.raises(Invalid, match="vm@1 is not published"):
        vm.apply("vm", "b", {"size": 1})


# ---- the live policy ----


def test_a_cap_that_is_raised_lets_more_run_at_once_and_one_that_is_lowered_lets_end_what_runs(world):
    world.leaf(max_inflight=1)
    for name in "abcd":
        world.apply("leaf", name)
    world.rest()
    first = world.claim()
    assert len(first) == 1
    policy(world, KindVersion("leaf"), max_inflight=3)
    second = world.claim()
    assert len(second) == 2
    policy(world, KindVersion("leaf"), max_inflight=1)
    world.settle(first[0])
    assert world.claim() == []
    for claim in second:
        world.settle(claim)
    assert len(world.claim()) == 1


def test_a_cap_counts_tasks_of_every_type(world):
    poke = {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]}
    world.kind("vm", MAKE, {**DROP, "finalizer": "f"}, poke)
    for name in "abc":
        world.apply("vm", name)
    world.work()
    policy(world, KindVersion("vm"), max_inflight=2)
    world.again("vm/a")
    world.delete("vm/b")
    world.operate("vm/c", "poke")
    world.rest()
    claims = world.claim()
    assert len(claims) == 2
    world.answer(claims[0])
    assert len(world.claim()) == 1


def test_a_deadline_that_is_edited_goes_with_the_next_task(world):
    world.leaf(task_deadline_secs=5)
    world.apply("leaf", "a")
    policy(world, KindVersion("leaf"), task_deadline_seconds=7)
    assert world.claim_one().deadline_ms == 7_000


def test_a_limit_of_attempts_that_is_lowered_stops_at_the_next_failure(world):
    world.leaf()
    world.apply("leaf", "a")
    for _ in range(3):
        world.settle(world.claim_one(), error="no")
        world.clock.advance(400)
    policy(world, KindVersion("leaf"), max_transient_attempts=2)
    world.settle(world.claim_one(), error="no")
    assert world.get("leaf/a").failure_terminal


# ---- edits that run nothing again ----


def test_a_manifest_is_published_without_running_its_resources_again_if_so_asked(vm):
    other = {"kind": "vm", "kind_version": 1, "reactions": [{**MAKE, "emits": ["status"]}]}
    vm.do(vm.engine.publish_kind(other, "t", requeue=False))
    assert vm.work() == []
    other["reactions"][0]["emits"] = ["status", "conditions"]
    vm.do(vm.engine.publish_kind(other, "t"))
    assert vm.work() == ["work vm/a"]
    assert vm.get("vm/a").generation == 1


@pytest.mark.parametrize("is_default", [True, False])
def test_a_config_is_edited_without_running_its_resources_again_if_so_asked(vm, is_default):
    def put(spec, **more):
        return vm.do(vm.engine.put_config(ConfigDeclaration("c", KindVersion("vm"), is_default, spec), "t", **more))

    put(RawJson(b'{"settings":1}'))
    if not is_default:
        vm.apply("vm", "a", provider_config_ref="c")
    vm.work()
    put(RawJson(b'{"settings":2}'), requeue=False)
    assert vm.work() == []
    put(RawJson(b'{"settings":3}'))
    assert vm.work() == ["work vm/a"]


# ---- what no composer may want ----


@pytest.mark.parametrize(
    ("child", "told"),
    [
        (ChildSpec("vm", 1, "c", {}, {"k": "x" * 254}), "vm/c: /labels/k: expected at most 253 characters"),
        (
            ChildSpec("vm", 1, "c", {}, {f"k{i}": "" for i in range(65)}),
            "vm/c: /labels: expected at most 64 labels, got 65",
        ),
        (ChildSpec("vm", 1, "c", {}, {"a:b": "x"}), "vm/c: /labels/a:b: 'a:b' is no label key"),
        (ChildSpec("vm", 1, "c", {}, {"": "x"}), "vm/c: /labels/: '' is no label key"),
        (ChildSpec("vm", 1, "c", {}, {"k": "a\x00b"}), "none of them NUL"),
        (ChildSpec("vm", 1, "c\x00", {}), "is not a resource name"),
        (ChildSpec("v\x00m", 1, "c", {}), "is not a kind name"),
        (ChildSpec("v\x00m", 0, "c", {}), "has kind version 0"),
        (ChildSpec("vm", 1, "c", {}, {}, "x\x00"), "is not the name of a provider config"),
    ],
)
def test_names_and_labels_of_children_keep_the_limits_of_an_apply(vm, child, told):
    vm.composite()
    vm.on("group", lambda claim: Outcome(children=[child]), Stage.COMPOSE)
    vm.group("g")
    vm.work()
    found = vm.get("group/g")
    assert (found.failure_reason, found.failure_terminal) == ("InvalidChildren", True)
    assert told in found.failure_message


@pytest.mark.parametrize(("name", "kind"), [("c\x00", "vm"), ("c", "v\x00m"), ("-", "vm")])
def test_names_of_emitted_configs_keep_the_limits_of_a_declared_one(vm, name, kind):
    vm.composite()
    vm.on("group", lambda claim: Outcome(configs=[ProviderConfigSpec(name, kind, 1, {})]), Stage.COMPOSE)
    vm.group("g")
    vm.work()
    assert vm.get("group/g").failure_reason == "InvalidConfigs"
