"""Value flows between children, and the gates that they and their dependencies make."""

import pytest

from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.errors import Retry, Terminal
from stdworker.model.json_text import RawJson, join_members
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow

STORES = "both"


@pytest.fixture
def pair(world):
    """`net` gives its status, `vm` takes /net/id from it."""
    world.leaf("net")
    world.leaf("vm")
    world.on("net", lambda claim: Outcome(status=claim.resource.spec.get("gives", {})))
    world.composite()

    def declare(gives=None, vm=None):
        world.group(
            "g",
            ["net/n", {"gives": {"id": "n-1"} if gives is None else gives}],
            ["vm/v", {} if vm is None else vm],
            edges=[["vm/v", "net/n", [["/net/id", "/id"]]]],
        )

    return declare


def test_a_dependent_waits_for_its_dependency_and_takes_its_value(world, pair):
    pair()
    assert world.work() == ["compose group/g", "work net/n", "work vm/v"]
    assert world.get("vm/v").spec == b'{"net":{"id":"n-1"}}'
    assert world.phase("group/g") == "Ready"


def test_only_a_value_that_changes_raises_the_dependents_generation(world, pair):
    pair()
    world.work()
    generation = world.get("vm/v").generation
    world.again("net/n")
    assert world.work() == ["work net/n"]
    assert world.get("vm/v").generation == generation


def test_a_new_value_runs_the_dependent_again_and_the_composite_is_never_ready_in_between(world, pair):
    pair()
    world.work()
    world.on("net", lambda claim: Outcome(status={"id": "n-2"}))
    world.again("net/n")
    world.settle(world.claim_one(), Outcome(status={"id": "n-2"}))
    assert world.phase("vm/v") == "Reconciling"
    assert world.phase("group/g") == "Reconciling"
    assert "Ready" not in phases_since_reconciling(world, "group/g")
    world.work()
    assert world.get("vm/v").spec == b'{"net":{"id":"n-2"}}'
    assert world.phase("group/g") == "Ready"


def phases_since_reconciling(world, ref):
    phases = [event.reason for event in world.events(ref) if event.type == "PhaseChanged"]
    last = max(i for i, phase in enumerate(phases) if phase == "Reconciling")
    return phases[last:]


def test_a_missing_value_blocks_the_dependent_which_counts_as_settled_and_not_ready(world, pair):
    pair(gives={"other": 1})
    world.work()
    assert world.phase("net/n") == "Ready"
    assert world.phase("vm/v") == "Reconciling"
    assert world.condition("vm/v", "Synced").message == "net/n has no value at /id"
    assert world.phase("group/g") == "Degraded"
    assert world.condition("group/g", "Ready").message == "vm/v: net/n has no value at /id"


def test_a_null_value_is_no_value(world, pair):
    pair(gives={"id": None})
    world.work()
    assert world.condition("vm/v", "Synced").reason == "Gated"


def test_a_value_that_vanishes_stays_in_the_spec_and_gates_the_next_run(world, pair):
    pair()
    world.work()
    pair(gives={"other": 1})
    world.work()
    assert world.get("vm/v").spec == b'{"net":{"id":"n-1"}}'
    assert world.phase("vm/v") == "Ready"
    world.again("vm/v")
    assert world.work() == []
    assert world.condition("vm/v", "Synced").message == "net/n has no value at /id"


def test_a_failed_dependency_blocks_and_its_recovery_unblocks(world, pair):
    world.on("net", lambda claim: (_ for _ in ()).throw(Retry("no route", after=1)))
    pair()
    world.work()
    assert world.phase("group/g") == "Degraded"
    assert world.condition("group/g", "Ready").message == "net/n: no route; vm/v: net/n has failed"
    world.on("net", lambda claim: Outcome(status={"id": "n-1"}))
    world.clock.advance(1)
    assert world.work() == ["work net/n", "work vm/v"]
    assert world.phase("group/g") == "Ready"


def test_a_blocked_dependency_blocks_what_depends_on_it(world):
    world.leaf()
    world.leaf("bad")
    world.on("bad", lambda claim: (_ for _ in ()).throw(Terminal("no")))
    world.composite()
    world.group("g", ["bad/a"], ["leaf/b"], ["leaf/c"], edges=[["leaf/b", "bad/a"], ["leaf/c", "leaf/b"]])
    world.work()
    assert world.condition("leaf/c", "Synced").message == "leaf/b is blocked"
    assert world.phase("group/g") == "Degraded"


def test_dependents_run_in_the_order_of_their_dependencies(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/c"], ["leaf/b"], ["leaf/a"], edges=[["leaf/c", "leaf/b"], ["leaf/b", "leaf/a"]])
    assert world.work() == ["compose group/g", "work leaf/a", "work leaf/b", "work leaf/c"]


def test_a_changed_source_field_flows_without_a_change_of_the_source(world, pair):
    pair(gives={"id": "n-1", "arn": "arn-1"})
    world.work()
    world.group(
        "g",
        ["net/n", {"gives": {"id": "n-1", "arn": "arn-1"}}],
        ["vm/v"],
        edges=[["vm/v", "net/n", [["/net/id", "/arn"]]]],
    )
    assert world.work() == ["compose group/g", "work vm/v"]
    assert world.get("vm/v").spec == b'{"net":{"id":"arn-1"}}'


def test_what_a_composer_says_is_compared_with_what_it_said_not_with_what_flowed(world, pair):
    pair()
    world.work()
    world.again("group/g")
    assert world.work() == ["compose group/g"]


def test_a_wrong_typed_target_stops_the_dependent(world, pair):
    pair(vm={"net": "a string"})
    world.work()
    record = world.get("vm/v")
    assert (record.failure_reason, record.failure_terminal) == ("BadFlow", True)
    assert "/net/id can't be set inside a string" in record.failure_message


def test_a_target_whose_type_a_later_compose_spoils_stops_the_dependent_too(world, pair):
    pair()
    world.work()
    pair(vm={"net": "a string"})
    world.work()
    assert (world.get("vm/v").failure_reason, world.phase("group/g")) == ("BadFlow", "Degraded")
    pair()
    world.work()
    assert (world.phase("vm/v"), world.phase("group/g")) == ("Ready", "Ready")
    assert world.get("vm/v").spec == b'{"net":{"id":"n-1"}}'


def test_a_wrong_typed_target_is_told_again_when_the_dependent_is_reconciled_by_hand(world, pair):
    pair(vm={"net": "a string"})
    world.work()
    world.again("vm/v")
    assert world.work() == []
    record = world.get("vm/v")
    assert (record.generation, record.failure_reason, world.phase("group/g")) == (2, "BadFlow", "Degraded")


def test_a_bad_flow_is_over_when_the_value_fits_again(world):
    gives = {"place": {}, "id": 1}
    world.leaf("net")
    world.leaf("vm")
    world.on("net", lambda claim: Outcome(status=dict(gives)))
    world.composite()
    flows = [["/net", "/place"], ["/net/id", "/id"]]
    world.group("g", ["net/n"], ["vm/v"], edges=[["vm/v", "net/n", flows]])
    world.work()
    for place, phase in (("a string", "Failed"), ({}, "Ready")):
        gives["place"] = place
        world.again("net/n")
        world.work()
        assert world.phase("vm/v") == phase


def test_a_bad_flow_outlives_the_success_of_a_run_that_began_before(world):
    gives = {"place": {}, "id": 1}
    world.leaf("net")
    world.leaf("vm")
    world.on("net", lambda claim: Outcome(status=dict(gives)))
    world.composite()
    flows = [["/net", "/place"], ["/net/id", "/id"]]
    world.group("g", ["net/n"], ["vm/v"], edges=[["vm/v", "net/n", flows]])
    world.work()
    world.again("vm/v")
    running = world.claim_one()
    gives["place"] = "a string"
    world.again("net/n")
    assert world.answer(world.claim_one())
    assert world.answer(running)
    assert (world.phase("vm/v"), world.get("vm/v").failure_reason) == ("Failed", "BadFlow")


def test_a_failure_that_a_program_calls_the_same_is_its_own_and_stays(world, pair):
    def fail(claim):
        raise Terminal("no", reason="BadFlow")

    world.on("vm", fail)
    pair()
    world.work()
    world.on("net", lambda claim: Outcome(status={"id": "n-1", "more": 1}))
    world.again("net/n")
    assert world.work() == ["work net/n"]
    assert (world.phase("vm/v"), world.get("vm/v").failure_reason) == ("Failed", "BadFlow")


def test_the_same_value_with_its_keys_in_another_order_is_no_new_value(world, pair):
    gives = [b'{"id":{"a":1,"b":2}}', b'{"id":{"b":2,"a":1}}']
    pair()
    world.on("net", lambda claim: Outcome(status=RawJson(gives.pop(0))))
    world.work()
    world.again("net/n")
    assert world.work() == ["work net/n"]
    assert world.get("vm/v").generation == 2


def test_a_compose_that_mends_the_target_lets_the_dependent_run(world, pair):
    pair(vm={"net": "a string"})
    world.work()
    pair()
    world.work()
    assert (world.phase("vm/v"), world.phase("group/g")) == ("Ready", "Ready")


def test_what_a_later_compose_says_is_validated_with_what_flowed(world, pair):
    world.composite()
    pair()
    world.leaf("vm", spec_schema={"type": "object", "maxProperties": 1})
    world.work()
    pair(vm={"size": 1})
    assert "work vm/v" not in world.work()
    assert world.get("vm/v").failure_reason == "InvalidSpec"


@pytest.mark.parametrize("field", ["/x/" + "1" * 5_000, "/y" * 5_000, "/y" * 90])
@pytest.mark.parametrize("value", [b"[]", b"[" * 50 + b"]" * 50])
def test_no_pointer_keeps_the_engine_from_looking_at_the_rest(world, pair, field, value):
    pair()
    world.on("net", lambda claim: Outcome(status=RawJson(b'{"id":%s}' % value)))
    world.group("g", ["net/n"], ["vm/v", {"x": []}], edges=[["vm/v", "net/n", [[field, "/id"]]]])
    world.group("h", ["net/m"], ["vm/w"], edges=[["vm/w", "net/m"]])
    world.work()
    assert world.phase("group/h") == "Ready"
    assert world.phase("group/g") in ("Failed", "Degraded", "Ready")


def test_compose_validates_without_what_flows_in_and_the_whole_spec_once_it_is_there(world):
    world.leaf("net")
    world.on("net", lambda claim: Outcome(status={"id": 7}))
    schema = {"properties": {"id": {"type": "string"}, "size": {"type": "integer"}}, "required": ["id", "size"]}
    world.leaf("vm", spec_schema=schema)
    world.composite()
    world.group("g", ["net/n"], ["vm/v", {"size": 1}], edges=[["vm/v", "net/n", [["/id", "/id"]]]])
    assert world.work() == ["compose group/g", "work net/n"]
    record = world.get("vm/v")
    assert (record.failure_reason, record.failure_terminal) == ("InvalidSpec", True)
    assert '/id: 7 is not of type "string"' in record.failure_message


def test_what_the_engine_says_of_any_name_and_pointer_can_be_stored(world):
    world.leaf("net")
    world.leaf("vm", spec_schema={"properties": {"nul\x00": {"type": "string"}}})
    world.on("net", lambda claim: Outcome(status={"id": 7}))
    world.composite()
    world.group("g", ["net/n"], ["vm/v"], ["vm/w"], edges=[
        ["vm/v", "net/n", [["/nul\x00", "/id"]]],
        ["vm/w", "net/n", [["/x", "/nul\x00"]]],
    ])  # fmt: skip
    world.work()
    assert "/nul\ufffd: 7 is not of type" in world.get("vm/v").failure_message
    assert world.condition("vm/w", "Synced").message == "net/n has no value at /nul\ufffd"


def test_what_ends_of_an_older_generation_is_no_success_of_one_that_was_stopped(world):
    world.leaf("net")
    world.on("net", lambda claim: Outcome(status=claim.resource.spec))
    world.leaf("vm", spec_schema={"properties": {"id": {"type": "string"}}})
    world.composite()
    world.group("g", ["net/n", {"id": "a"}], ["vm/v"], edges=[["vm/v", "net/n", [["/id", "/id"]]]])
    world.answer(world.claim_one())
    world.answer(world.claim_one())
    running = world.claim_one()
    assert str(running.resource.ref) == "vm/v"
    world.group("g", ["net/n", {"id": 7}], ["vm/v"], edges=[["vm/v", "net/n", [["/id", "/id"]]]])
    world.answer(world.claim_one())
    world.answer(world.claim_one())
    world.settle(running)
    record = world.get("vm/v")
    assert (record.phase, record.failure_reason, record.synced_gen) == ("Failed", "InvalidSpec", 2)


def test_a_task_is_told_to_stop_when_another_value_flows_in_while_the_gate_stays_shut(world):
    world.leaf("net")
    world.leaf("vm")
    world.composite()
    world.on("net", lambda claim: Outcome(status={"id": 1}))
    world.group("g", ["net/n"], ["vm/v"], edges=[["vm/v", "net/n", [["/id", "/id"]]]])
    world.answer(world.claim_one())
    world.answer(world.claim_one())
    running = world.claim_one()
    world.again("net/n")
    for status in (None, {"id": 2}):
        world.settle(world.claim_one(), Outcome(status=status), error="not yet")
        world.clock.advance(400)
    assert world.get("vm/v").spec == b'{"id":2}'
    assert [void.lease for void in world.do(world.engine.voided("broker"))] == [running.lease]


@pytest.fixture
def misfit(world):
    """`vm/v`, which takes a number where its schema asks for a text."""
    world.leaf("net")
    world.on("net", lambda claim: Outcome(status={"id": 7}))
    world.leaf("vm", spec_schema={"properties": {"id": {"type": "string"}}})
    world.composite()
    world.group("g", ["net/n"], ["vm/v"], edges=[["vm/v", "net/n", [["/id", "/id"]]]])
    world.work()
    return world


def edit_config(world):
    default = ConfigDeclaration("d", KindVersion("vm"), is_default=True, bundle=b"1")
    world.do(world.engine.put_config(default, "test"))


@pytest.mark.parametrize("ask", [lambda world: world.again("vm/v"), edit_config, lambda world: world.again("net/n")])
def test_a_spec_that_breaks_its_schema_is_handed_to_no_worker_whoever_asks(misfit, ask):
    ask(misfit)
    assert "work vm/v" not in misfit.work()
    record = misfit.get("vm/v")
    assert (record.phase, record.failure_reason, record.failure_terminal) == ("Failed", "InvalidSpec", True)


def test_a_schema_that_is_mended_lets_the_dependent_run(misfit):
    misfit.leaf("vm", spec_schema={"properties": {"id": {"type": "integer"}}})
    assert misfit.work() == ["work vm/v"]
    assert (misfit.phase("vm/v"), misfit.phase("group/g")) == ("Ready", "Ready")


def test_a_value_that_is_mended_lets_the_dependent_run(misfit):
    misfit.on("net", lambda claim: Outcome(status={"id": "n-1"}))
    misfit.again("net/n")
    assert misfit.work() == ["work net/n", "work vm/v"]
    assert misfit.phase("vm/v") == "Ready"


def test_what_flows_keeps_its_tokens(world):
    world.leaf("net")
    world.leaf("vm")
    world.on("net", lambda claim: Outcome(status=claim.resource.spec_json))
    world.composite()
    value = RawJson(b'{"x":1.0,"y":123456789012345678901234567890}')

    def compose(claim):
        children = [ChildSpec("net", 1, "n", join_members({"a/b": value})), ChildSpec("vm", 1, "v")]
        edges = [DepEdge(world.ref("vm/v"), world.ref("net/n"), [ValueFlow("/in", "/a~1b")])]
        return Outcome(children=children, edges=edges)

    world.on("group", compose, "compose")
    world.group("g")
    world.work()
    assert world.get("vm/v").spec == b'{"in":' + value + b"}"


def test_edges_and_dependencies_are_shown(world, pair):
    def beneath(ref, limit):
        return world.do(world.engine.subtree(world.ref(ref), limit, str))

    pair()
    world.work()
    [edge] = beneath("group/g", 3).edges
    assert (str(edge.dependent), str(edge.dependency), edge.flows) == ("vm/v", "net/n", [("/net/id", "/id")])
    assert beneath("group/g", 2).edges == beneath("net/n", 3).edges == []
    [(edge, record)] = world.do(world.engine.dependencies(world.ref("vm/v"))).items
    assert record.name == "n"


def test_a_dependent_that_changes_together_with_its_dependency_runs_after_it(world, pair, monkeypatch):
    pair()
    world.work()
    pair(gives={"id": "n-2"}, vm={"size": 2})
    compose = world.claim_one()
    with monkeypatch.context() as slow:  # the follow-up of the compose has not come yet
        slow.setattr(Batcher, "follow", lambda self: None)
        outcome = world.handlers["group", compose.stage](compose)
        world.do(world.engine.settle([Settlement(compose.lease, compose.stage, outcome)]))
        assert [str(claim.resource.ref) for claim in world.claim()] == ["net/n"]
