"""Composites: what they own, what they wait for, and when they are healthy."""

import pytest

from stdworker.engine.reconcile import documents
from stdworker.engine.store.claims import Settlement
from stdworker.errors import Retry, Terminal
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import Stage
from stdworker.model.outcome import ChildSpec, Condition, Outcome
from tests.unit.engine.conftest import compose_from_spec

STORES = "both"


def sick(claim):
    return Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")])


def test_a_composite_is_ready_when_all_that_it_owns_is_ready(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    [compose] = world.claim()
    world.answer(compose)
    assert world.phase("group/g") == "Reconciling"
    a, b = world.claim()
    world.answer(a)
    assert world.phase("group/g") == "Reconciling"
    world.answer(b)
    assert world.phase("group/g") == "Ready"
    assert world.get("group/g").synced_gen == 1


def test_a_composite_without_children_is_ready_at_once(world):
    world.composite()
    world.group("g")
    world.work()
    assert world.phase("group/g") == "Ready"


def test_a_childs_result_is_kept_by_the_composition_that_changes_it_in_the_same_batch(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a", {"n": 1}])
    world.answer(world.claim_one())
    work = world.claim_one()
    world.group("g", ["leaf/a", {"n": 2}])
    plan = world.claim_one()
    results = [Settlement(work.lease, work.stage, Outcome(status={"made": 1}))]
    results += [Settlement(plan.lease, plan.stage, compose_from_spec(plan))]
    assert world.do(world.engine.settle(results)) == [True, True]
    world.rest()
    record = world.get("leaf/a")
    assert (record.spec, record.status) == (b'{"n":2}', b'{"made":1}')
    assert (record.generation, record.synced_gen) == (2, 1)


def test_children_not_ready_appears_with_the_phase_and_names_the_culprit(world):
    world.leaf()
    world.leaf("bad")
    world.on("bad", sick)
    world.composite()
    world.group("g", ["leaf/a"], ["bad/sick"])
    world.work()
    assert world.phase("group/g") == "Degraded"
    ready = world.condition("group/g", "Ready")
    assert (ready.status, ready.reason, ready.message) == ("False", "ChildrenNotReady", "bad/sick: db is down")


def test_health_is_folded_at_any_depth_and_names_those_with_their_own_reason_first(world):
    world.leaf("bad")
    world.on("bad", sick)
    world.composite()
    world.composite("outer")
    world.apply("outer", "top", {"children": [["group/mid", {"children": [["bad/sick"]]}]]})
    world.work()
    assert [world.phase(ref) for ref in ("bad/sick", "group/mid", "outer/top")] == ["Degraded"] * 3
    message = world.condition("outer/top", "Ready").message
    assert message == "bad/sick: db is down; group/mid: its children are not ready"


def test_a_composite_heals_when_its_child_does(world):
    world.leaf("bad")
    world.on("bad", sick)
    world.composite()
    world.group("g", ["bad/sick"])
    world.work()
    world.on("bad", lambda claim: Outcome())
    world.again("bad/sick")
    world.work()
    assert world.phase("group/g") == "Ready"


def test_a_failed_child_counts_as_settled_and_not_ready(world):
    world.leaf("bad")
    world.on("bad", lambda claim: (_ for _ in ()).throw(Terminal("no quota")))
    world.composite()
    world.group("g", ["bad/x"])
    world.work()
    assert world.phase("bad/x") == "Failed"
    assert world.phase("group/g") == "Degraded"
    assert world.condition("group/g", "Ready").message == "bad/x: no quota"


def test_unchanged_children_are_not_touched(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a", {"n": 1}], ["leaf/b", {"n": 1}])
    world.work()
    world.group("g", ["leaf/a", {"n": 1}], ["leaf/b", {"n": 2}])
    assert world.work() == ["compose group/g", "work leaf/b"]
    assert world.get("leaf/a").generation == 1
    assert world.get("leaf/b").generation == 2


def test_labels_that_a_composer_gives_are_no_new_generation_of_its_child(world):
    world.leaf()
    world.composite()
    world.on("group", lambda c: Outcome(children=[ChildSpec("leaf", 1, "a", {}, c.resource.spec)]), "compose")
    world.apply("group", "g", {"tier": "one"})
    world.work()
    world.apply("group", "g", {"tier": "two"})
    assert world.work() == ["compose group/g"]
    found = world.get("leaf/a")
    assert (found.labels, found.generation) == ({"tier": "two"}, 1)


def test_children_that_are_not_emitted_again_go(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.group("g", ["leaf/a"])
    world.work()
    assert not world.exists("leaf/b")
    assert world.phase("group/g") == "Ready"


@pytest.fixture
def emptied(world):
    """A composer that had a child emits none any more."""
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    world.group("g")
    world.work()
    return world


def test_a_composer_that_suddenly_emits_nothing_is_stopped(emptied):
    assert emptied.exists("leaf/a")
    assert emptied.get("group/g").failure_reason == "NoChildren"
    assert emptied.get("group/g").failure_terminal


def test_a_label_lets_a_composer_emit_nothing(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    world.apply("group", "g", {"children": []}, labels={"converge.sh/allow-empty": "true"})
    world.work()
    assert not world.exists("leaf/a")
    assert world.phase("group/g") == "Ready"


def test_a_composer_that_was_stopped_goes_on_when_its_resource_gets_the_label(emptied):
    emptied.apply("group", "g", labels={"converge.sh/allow-empty": "true"})
    assert emptied.work() == ["compose group/g"]
    assert not emptied.exists("leaf/a")
    assert (emptied.phase("group/g"), emptied.get("group/g").generation) == ("Ready", 2)


def test_a_composer_goes_on_when_its_owner_gives_its_resource_the_label(world):
    world.leaf()
    world.composite()
    world.composite("tower")
    labels, spec = {}, {"children": [["leaf/a"]]}
    child = lambda claim: Outcome(children=[ChildSpec("group", 1, "g", dict(spec), labels=dict(labels))])  # noqa: E731
    world.on("tower", child, Stage.COMPOSE)
    world.apply("tower", "t")
    world.work()
    spec["children"] = []
    world.again("tower/t")
    world.work()
    assert world.get("group/g").failure_reason == "NoChildren"
    labels["converge.sh/allow-empty"] = "true"
    world.again("tower/t")
    world.work()
    assert (world.exists("leaf/a"), world.phase("tower/t")) == (False, "Ready")


@pytest.mark.parametrize("said", [{"allow_empty": True}, {"status": {"allow_empty": True}}])
def test_a_composer_that_means_it_may_emit_nothing(world, said):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    world.on("group", lambda claim: Outcome(**said), Stage.COMPOSE)
    world.again("group/g")
    world.work()
    assert not world.exists("leaf/a")
    assert world.phase("group/g") == "Ready"


def test_what_a_composer_meant_once_does_not_hold_for_the_next_time(world):
    world.leaf()
    world.composite()
    world.on("group", lambda claim: Outcome(status={"allow_empty": True}), Stage.COMPOSE)
    world.group("g")
    world.work()
    world.on("group", lambda claim: Outcome(children=[ChildSpec("leaf", 1, "a")]), Stage.COMPOSE)
    world.again("group/g")
    world.work()
    world.on("group", lambda claim: Outcome(), Stage.COMPOSE)
    world.again("group/g")
    world.work()
    assert world.exists("leaf/a")
    assert world.get("group/g").failure_reason == "NoChildren"


def test_a_label_of_another_value_lifts_no_guard(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    world.apply("group", "g", {"children": []}, labels={"converge.sh/allow-empty": "yes"})
    world.work()
    assert world.get("group/g").failure_reason == "NoChildren"


def grow(world, *, recompose):
    """A composer that wants another child once the first one is ready."""

    def compose(claim):
        ready = {child.name for child in claim.observed if child.is_ready}
        names = ["one", *(["two"] if "one" in ready else [])]
        return Outcome(children=[ChildSpec("leaf", 1, name) for name in names], recompose=recompose)

    world.leaf()
    world.composite()
    world.on("group", compose, Stage.COMPOSE)
    world.group("g")
    return world.work()


def test_a_compose_that_asks_for_it_is_repeated_when_a_child_settles_at_the_same_generation(world):
    ran = grow(world, recompose=True)
    assert ran[:4] == ["compose group/g", "work leaf/one", "compose group/g", "work leaf/two"]
    assert (world.phase("group/g"), world.get("group/g").generation) == ("Ready", 1)
    world.on("leaf", lambda claim: Outcome(status={"seen": 2}))
    world.again("leaf/one")
    assert "compose group/g" in world.work()


def test_a_compose_that_does_not_ask_for_it_is_not_repeated(world):
    assert grow(world, recompose=False) == ["compose group/g", "work leaf/one"]
    assert not world.exists("leaf/two")


def test_the_last_compose_says_whether_it_is_repeated(world):
    grow(world, recompose=True)
    world.on("group", lambda claim: Outcome(children=[ChildSpec("leaf", 1, "one")]), Stage.COMPOSE)
    world.again("group/g")
    world.work()
    world.again("leaf/one")
    assert world.work() == ["work leaf/one"]


def test_a_kind_that_has_lost_its_composer_owes_no_compose(world):
    grow(world, recompose=True)
    world.leaf("group")
    world.work()
    world.again("leaf/one")
    world.work()
    assert world.phase("group/g") == "Ready"


@pytest.mark.parametrize(
    ("children", "edges", "reason", "told"),
    [
        ([["leaf/a"], ["leaf/a"]], [], "InvalidChildren", "leaf/a is emitted twice"),
        ([["leaf/-"]], [], "InvalidChildren", "'-' is not a resource name"),
        ([["nope/a"]], [], "UnknownKind", "nope@1 is not published"),
        ([["leaf/a", {"n": "x"}]], [], "InvalidSpec", "leaf/a: /n:"),
        ([["leaf/a"]], [["leaf/a", "leaf/a"]], "InvalidEdges", "leaf/a can't depend on itself"),
        ([["leaf/a"]], [["leaf/a", "leaf/b"]], "InvalidEdges", "an edge ends at leaf/b, which is not emitted"),
        (
            [["leaf/a"], ["leaf/b"]],
            [["leaf/a", "leaf/b"], ["leaf/b", "leaf/a"]],
            "InvalidEdges",
            "dependencies form a circle: leaf/a → leaf/b → leaf/a",
        ),
        ([["leaf/taken"]], [], "NotOwned", "leaf/taken exists and is not owned by group/g"),
    ],
)
def test_a_bad_result_is_rejected_as_a_whole_for_good_with_the_reason(world, children, edges, reason, told):
    world.leaf(spec_schema={"properties": {"n": {"type": "integer"}}})
    world.apply("leaf", "taken")
    world.composite()
    world.group("g", ["leaf/good"], *children, edges=edges)
    world.work()
    record = world.get("group/g")
    assert (record.failure_reason, record.failure_terminal) == (reason, True)
    assert told in record.failure_message
    assert not world.exists("leaf/good")


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(children=[ChildSpec("leaf", 1, "a", {"x": "y" * 20})]), "leaf/a: the spec has 28 bytes"),
        (
            Outcome(configs=[ProviderConfigSpec("c", "leaf", 1, {"x": "y" * 20})]),
            "the config c has 28 bytes",
        ),
    ],
)
def test_a_document_that_is_larger_than_any_that_is_stored_is_rejected(world, monkeypatch, outcome, told):
    monkeypatch.setattr(documents, "DOCUMENT_BYTES_MAX", 20)
    world.leaf()
    world.composite()
    world.on("group", lambda claim: outcome, Stage.COMPOSE)
    world.group("g")
    world.work()
    record = world.get("group/g")
    assert record.failure_terminal
    assert told in record.failure_message


def test_publishing_the_kind_that_a_composite_waits_for_runs_it_again(world):
    world.composite()
    world.group("g", ["late/a"])
    world.work()
    assert world.phase("group/g") == "Failed"
    world.leaf("late")
    world.work()
    assert world.phase("group/g") == "Ready"


def test_removing_the_name_that_a_composite_waits_for_runs_it_again(world):
    world.leaf()
    world.apply("leaf", "a")
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    assert world.phase("group/g") == "Failed"
    world.delete("leaf/a")
    world.work()
    assert world.phase("group/g") == "Ready"
    assert str(world.get("leaf/a").owner) == "group/g"


def test_a_composite_that_waits_for_a_name_no_more_is_left_alone_when_it_goes(world):
    world.composite()
    world.leaf()
    world.apply("leaf", "taken", {})
    world.group("g", ["leaf/taken"])
    world.work()
    world.group("g", ["leaf/other"])
    world.work()
    world.delete("leaf/taken")
    assert world.work() == []


def test_a_wanted_child_that_someone_deletes_is_made_again_and_its_owner_is_pending_meanwhile(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    before = world.get("leaf/a").uid
    world.delete("leaf/a")
    assert world.phase("group/g") == "Reconciling"
    world.work()
    assert world.get("leaf/a").uid != before
    assert world.phase("group/g") == "Ready"
    assert world.get("group/g").generation == 1


def test_a_transient_failure_of_a_child_degrades_its_owner_until_the_retry(world):
    world.leaf("flaky")
    world.on("flaky", lambda claim: (_ for _ in ()).throw(Retry("not yet", after=1)))
    world.composite()
    world.group("g", ["flaky/x"])
    world.work()
    assert world.phase("group/g") == "Degraded"
    world.on("flaky", lambda claim: Outcome())
    world.clock.advance(1)
    world.work()
    assert world.phase("group/g") == "Ready"
