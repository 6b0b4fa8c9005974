"""Declaring resources: what counts as a change, what is refused, and how documents keep their text."""

import pytest

from stdworker.engine.store.declarations import ApplyDocument, ConfigDeclaration
from stdworker.errors import Conflict, Invalid, NotFound
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome


@pytest.fixture
def leaf(world):
    world.leaf(spec_schema={"properties": {"n": {"type": "integer"}}})
    return world


def test_a_resource_begins_reconciling_and_is_ready_when_its_work_succeeded(leaf):
    assert leaf.apply("leaf", "a", {"n": 1}).phase == "Reconciling"
    assert leaf.result == "created"
    assert leaf.work() == ["work leaf/a"]
    record = leaf.get("leaf/a")
    assert (record.phase, record.is_ready, record.synced_gen) == ("Ready", True, 1)


def test_the_same_document_again_changes_nothing(leaf):
    leaf.apply("leaf", "a", {"n": 1})
    leaf.work()
    assert leaf.apply("leaf", "a", {"n": 1}).generation == 1
    assert leaf.result == "unchanged"
    assert leaf.work() == []


def test_key_order_and_white_space_are_no_change_the_spelling_of_a_number_is(world):
    world.leaf()
    world.do(world.engine.apply([ApplyDocument("leaf", 1, "a", RawJson(b'{"a":1,"b":1.0}'))], "test"))
    for spec, generation in ((b'{ "b": 1.0, "a": 1 }', 1), (b'{"a":1,"b":1}', 2)):
        world.do(world.engine.apply([ApplyDocument("leaf", 1, "a", RawJson(spec))], "test"))
        assert world.get("leaf/a").generation == generation


def test_a_spec_is_stored_as_it_was_written(world):
    world.leaf()
    spec = '{"z":1.0,"a":123456789012345678901234567890,"é":"\\u2028","e":1e2}'
    world.do(world.engine.apply([ApplyDocument("leaf", 1, "a", RawJson(spec.encode()))], "test"))
    assert world.get("leaf/a").spec == spec.replace("é", "\\u00e9").encode()


def test_a_new_spec_is_a_new_generation(leaf):
    leaf.apply("leaf", "a", {"n": 1})
    leaf.work()
    assert leaf.apply("leaf", "a", {"n": 2}).generation == 2
    assert leaf.result == "configured"
    assert leaf.work() == ["work leaf/a"]


def test_labels_alone_are_configured_without_a_new_generation(leaf):
    leaf.apply("leaf", "a", {"n": 1}, labels={"app": "x"})
    leaf.work()
    record = leaf.apply("leaf", "a", {"n": 1}, labels={"app": "y"})
    assert (leaf.result, record.generation, record.labels) == ("configured", 1, {"app": "y"})
    assert leaf.work() == []
    assert [r.name for r in leaf.find(labels={"app": "y"})] == ["a"]
    assert leaf.find(labels={"app": "x"}) == []


def test_what_is_left_out_stays_and_null_clears(leaf):
    config(leaf, "c")
    leaf.apply("leaf", "a", {"n": 1}, labels={"app": "x"}, provider_config_ref="c")
    record = leaf.apply("leaf", "a")
    assert (record.spec, record.labels, record.provider_config) == (b'{"n":1}', {"app": "x"}, "c")
    record = leaf.apply("leaf", "a", labels=None, provider_config_ref=None)
    assert (record.labels, record.provider_config, record.generation) == ({}, None, 2)


def test_an_explicit_reconcile_is_a_new_generation(leaf):
    leaf.apply("leaf", "a", {"n": 1})
    leaf.work()
    leaf.again("leaf/a")
    assert leaf.get("leaf/a").generation == 2
    assert leaf.work() == ["work leaf/a"]


def test_documents_are_applied_in_their_order_each_alone(leaf):
    good, bad, newer = {"n": 1}, {"n": "x"}, {"n": 2}
    documents = [ApplyDocument("leaf", 1, "a", dumps(s)) for s in (good, bad, newer)]
    results = leaf.do(leaf.engine.apply(documents, "test"))
    assert results[0].result == "created"
    assert isinstance(results[1], Invalid)
    assert results[1].violations == [("/spec/n", '"x" is not of type "integer"')]
    assert results[2].result == "configured"
    assert leaf.get("leaf/a").spec == b'{"n":2}'


def test_a_dry_run_says_what_would_happen_and_changes_nothing(leaf):
    [done] = leaf.do(leaf.engine.apply([ApplyDocument("leaf", 1, "a", RawJson(b"{}"))], "test", dry_run=True))
    assert done.result == "created"
    assert not leaf.exists("leaf/a")
    assert leaf.work() == []


@pytest.mark.parametrize(
    ("kind", "version", "name", "error", "told"),
    [
        ("nope", 1, "a", Invalid, "the kind nope@1 is not published"),
        ("leaf", 2, "a", Invalid, "published: leaf@1"),
        ("Leaf", 1, "a", Invalid, "'Leaf' is not a kind name"),
        ("leaf", 1, "-a", Invalid, "'-a' is not a resource name"),
        ("leaf", 1, "a/b", Invalid, "'a/b' is not a resource name"),
        ("bell", 1, "a", Invalid, "bell@1 is a reactor kind"),
        ("old", 1, "a", Invalid, "old@1 is retired"),
    ],
)
def test_a_document_that_can_not_be_is_refused(leaf, kind, version, name, error, told):
    leaf.kind("bell", {"name": "ring", "trigger": "reactor", "emits": ["sideEffect"]})
    leaf.leaf("old", retired=True)
    with pytest.raises(error, match=told.replace("(", r"\(")):
        leaf.apply(kind, name, {}, version=version)


def test_a_config_that_is_not_there_or_for_another_kind_is_refused(leaf):
    leaf.leaf("other")
    config(leaf, "c", kind="other")
    for name, told in (("nope", "does not exist"), ("c", "is for other@1")):
        with pytest.raises(Invalid, match=told):
            leaf.apply("leaf", "a", {}, provider_config_ref=name)


def test_an_owned_child_is_changed_through_its_owner(leaf):
    leaf.composite()
    leaf.group("g", ["leaf/a"])
    leaf.work()
    with pytest.raises(Conflict, match="leaf/a is owned by group/g"):
        leaf.apply("leaf", "a", {"n": 3})


def test_another_version_takes_the_resource_over(leaf):
    leaf.leaf(version=2, spec_schema={"required": ["m"]})
    leaf.apply("leaf", "a", {"n": 1})
    leaf.work()
    uid = leaf.get("leaf/a").uid
    with pytest.raises(Invalid):
        leaf.apply("leaf", "a", {"n": 1}, version=2)
    record = leaf.apply("leaf", "a", {"m": 1}, version=2)
    assert (record.uid, record.kind_version, record.generation) == (uid, 2, 2)
    assert leaf.claim_one().pair == KindVersion("leaf", 2)


def test_a_resource_that_is_not_there_is_not_found(world):
    for call in (
        world.engine.get(world.ref("leaf/no")),
        world.engine.delete(world.ref("leaf/no"), "test"),
        world.engine.reconcile(world.ref("leaf/no"), "test"),
    ):
        with pytest.raises(NotFound, match="there is no resource leaf/no"):
            world.do(call)


def test_lists_are_filtered_and_paged_newest_first(leaf):
    leaf.leaf("other")
    for name in ("a", "b_1", "c"):
        leaf.apply("leaf", name, {"n": 1})
    leaf.apply("other", "d")
    leaf.settle(leaf.claim(1, pairs=[KindVersion("leaf")])[0])
    assert [r.name for r in leaf.find()] == ["d", "c", "b_1", "a"]
    assert [r.name for r in leaf.find(kinds=["leaf"], phases=["Reconciling"])] == ["c", "b_1"]
    assert [r.name for r in leaf.find(phases=["Ready"])] == ["a"]
    assert [r.name for r in leaf.find(name="B_")] == ["b_1"]
    assert [r.name for r in leaf.find(pairs=[KindVersion("other", 1), KindVersion("other", 2)])] == ["d"]
    from stdworker.engine.store.records import ResourceFilter

    page = leaf.do(leaf.engine.find(ResourceFilter(), limit=3))
    rest = leaf.do(leaf.engine.find(ResourceFilter(), limit=3, cursor=page.cursor))
    assert ([r.name for r in rest.items], rest.cursor) == (["a"], None)
    with pytest.raises(Invalid, match="is not a cursor"):
        leaf.do(leaf.engine.find(ResourceFilter(), cursor="x"))


def test_children_and_roots_are_found_by_owner(leaf):
    leaf.composite()
    leaf.group("g", ["leaf/a"])
    leaf.work()
    assert [r.name for r in leaf.find(owners=[leaf.ref("group/g")])] == ["a"]
    assert [r.name for r in leaf.find(roots_only=True)] == ["g"]


def test_the_summary_counts_what_a_list_finds(leaf):
    leaf.composite()
    leaf.group("g", ["leaf/a"])
    leaf.apply("leaf", "b")
    leaf.settle(leaf.claim(1, pairs=[KindVersion("leaf")])[0])
    expected: dict = {}
    for record in leaf.find():
        by_phase = expected.setdefault(record.kind, {})
        by_phase[str(record.phase)] = by_phase.get(str(record.phase), 0) + 1
    assert leaf.do(leaf.engine.summary())["by_kind"] == expected


def test_a_number_beyond_64_bits_is_validated_exactly(world):
    world.leaf(spec_schema={"properties": {"n": {"maximum": 10**30}}})
    world.apply("leaf", "a", {"n": 10**30})
    with pytest.raises(Invalid):
        world.apply("leaf", "b", {"n": 10**30 + 1})


def config(world, name, kind="leaf", **more):
    declared = ConfigDeclaration(name, KindVersion(kind), **{"spec": RawJson(b'{"x":1}'), **more})
    return world.do(world.engine.put_config(declared, "test"))


def test_the_conditions_synced_and_ready_are_always_there_and_their_times_move_when_they_flip(leaf):
    leaf.apply("leaf", "a", {"n": 1})
    created = leaf.clock.ms
    assert [(c.type, c.status) for c in leaf.get("leaf/a").conditions] == [("Synced", "Unknown"), ("Ready", "Unknown")]
    leaf.clock.advance(5)
    leaf.work()
    synced = leaf.clock.ms
    leaf.clock.advance(5)
    leaf.again("leaf/a")
    leaf.clock.advance(5)
    leaf.work()
    first = leaf.condition("leaf/a", "Synced")
    assert (first.status, first.last_transition_at_ms) == ("True", leaf.clock.ms)
    leaf.clock.advance(5)
    config(leaf, "d", is_default=True)
    leaf.work()
    assert leaf.condition("leaf/a", "Synced").last_transition_at_ms == first.last_transition_at_ms
    assert created < synced < first.last_transition_at_ms


def test_a_successful_run_replaces_all_conditions_of_handlers(leaf):
    from stdworker.model.outcome import Condition

    leaf.on("leaf", lambda c: Outcome(conditions=[Condition("Old", "True"), Condition("Kept", "True", "A")]))
    leaf.apply("leaf", "a", {"n": 1})
    leaf.work()
    since = leaf.condition("leaf/a", "Kept").last_transition_at_ms
    leaf.clock.advance(9)
    leaf.on("leaf", lambda c: Outcome(conditions=[Condition("Kept", "True", "B")]))
    leaf.apply("leaf", "a", {"n": 2})
    leaf.work()
    kept = leaf.condition("leaf/a", "Kept")
    assert (kept.reason, kept.last_transition_at_ms, kept.observed_generation) == ("B", since, 2)
    assert "Old" not in [c.type for c in leaf.get("leaf/a").conditions]
