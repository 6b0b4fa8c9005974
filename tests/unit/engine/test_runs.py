"""Which stages run, why, and what handlers are handed."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Invalid, NotFound
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, Condition, Outcome

STORES = "both"

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "configs", "status", "conditions"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status", "conditions"]}
AGAIN = {"name": "again", "trigger": "childrenSettled", "emits": ["children", "edges", "status"]}


def put_default(world, kind="leaf", spec=b'{"x":1}', name="d", **more):
    declared = {"is_default": True, "spec": RawJson(spec) if spec else None, **more}
    result, record = world.do(world.engine.put_config(ConfigDeclaration(name, KindVersion(kind), **declared), "t"))
    world.rest()
    return result, record


# ---- stages ----


def test_one_reconcile_composes_works_and_rolls_up_in_this_order(world):
    world.leaf()
    world.composite("all", MAKE, SUM)
    world.apply("all", "x", {"children": [["leaf/a"]]})
    ran = world.work()
    assert [task for task in ran if task != "work leaf/a"] == ["compose all/x", "work all/x", "rollup all/x"]
    assert ran[-1] == "rollup all/x"
    assert world.phase("all/x") == "Ready"


def test_a_rollup_without_children_runs_at_once(world):
    world.composite("all", SUM)
    world.apply("all", "x")
    assert world.work() == ["compose all/x", "rollup all/x"]


def test_a_composite_is_not_ready_before_its_rollup_ran(world):
    world.leaf()
    world.composite("all", SUM)
    world.apply("all", "x", {"children": [["leaf/a"]]})
    world.answer(world.claim_one())
    world.answer(world.claim_one())
    assert world.phase("all/x") == "Reconciling"
    world.answer(world.claim_one())
    assert world.phase("all/x") == "Ready"


def test_a_rollup_sees_the_whole_subtree_and_runs_again_when_it_settled_again(world):
    world.leaf()
    world.composite()
    world.composite("all", SUM)
    seen = []
    world.on("all", lambda claim: seen.append([r.name for r in claim.descendants]) or Outcome(), Stage.ROLLUP)
    world.apply("all", "x", {"children": [["group/g", {"children": [["leaf/a"]]}]]})
    world.work()
    assert seen == [["g", "a"]]
    world.again("leaf/a")
    assert world.work() == ["work leaf/a", "rollup all/x"]
    assert world.get("all/x").generation == 1


def test_a_nested_rollup_sees_its_own_subtree(world):
    world.leaf()
    world.composite("inner", SUM)
    world.composite("outer")
    seen = []
    world.on("inner", lambda claim: seen.append([r.name for r in claim.descendants]) or Outcome(), Stage.ROLLUP)
    world.apply("outer", "o", {"children": [["inner/i", {"children": [["leaf/a"], ["leaf/b"]]}], ["leaf/c"]]})
    world.work()
    assert seen == [["a", "b"]]
    assert world.phase("outer/o") == "Ready"


def test_per_condition_type_the_later_stage_wins_and_a_rollup_keeps_what_work_said(world):
    world.leaf()
    world.composite("all", MAKE, SUM)

    def says(*types):
        return lambda claim: Outcome(conditions=[Condition(t, "True", str(claim.stage)) for t in types])

    world.on(
        "all",
        lambda c: Outcome(conditions=[Condition("A", "True", "compose"), Condition("B", "True", "compose")]),
        Stage.COMPOSE,
    )
    world.on("all", says("B", "C"), Stage.WORK)
    world.on("all", says("C", "D"), Stage.ROLLUP)
    world.apply("all", "x")
    world.work()
    reasons = {c.type: c.reason for c in world.get("all/x").conditions if c.type not in ("Synced", "Ready")}
    assert reasons == {"A": "compose", "B": "work", "C": "rollup", "D": "rollup"}


def test_a_condition_is_stored_with_one_of_three_statuses_and_bounded_texts(world):
    world.leaf()
    told = [Condition("Odd", "Maybe", "r" * 5_000, "m" * 5_000), Condition("Said", "False", "x\0y", "\0")]
    world.on("leaf", lambda claim: Outcome(conditions=told))
    world.apply("leaf", "a")
    world.work()
    odd, said = world.condition("leaf/a", "Odd"), world.condition("leaf/a", "Said")
    assert (odd.status, len(odd.reason), len(odd.message)) == ("Unknown", 4_000, 4_000)
    assert (said.status, said.reason, said.message) == (
        "False",
        "x\N{REPLACEMENT CHARACTER}y",
        "\N{REPLACEMENT CHARACTER}",
    )


def test_a_composer_that_asks_for_it_composes_again_when_a_child_settles(world):
    world.leaf()
    world.kind("grow", PLAN, AGAIN)
    reactions = []

    def compose(claim):
        reactions.append((claim.reaction, str(claim.trigger)))
        ready = {child.name for child in claim.observed if child.is_ready}
        names = ["one"] + (["two"] if "one" in ready else [])
        return Outcome(children=[ChildSpec("leaf", 1, name) for name in names])

    world.on("grow", compose, Stage.COMPOSE)
    world.apply("grow", "g")
    world.work()
    assert world.exists("leaf/two")
    assert reactions[:2] == [("plan", "specChange"), ("again", "childrenSettled")]
    assert world.phase("grow/g") == "Ready"
    assert world.get("grow/g").generation == 1


def test_a_composer_observes_what_it_owns(world):
    world.leaf()
    world.composite()
    world.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    world.group("g", ["leaf/a"])
    world.work()
    world.again("group/g")
    [child] = world.claim_one().observed
    assert (child.name, child.is_ready, child.status) == ("a", True, {"id": "a"})
    assert child.owner_uid == child.root_uid == world.get("group/g").uid


def test_a_handler_is_handed_the_whole_resource(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1}, labels={"app": "x"})
    world.settle(world.claim_one(), Outcome(status={"id": 1}))
    world.again("leaf/a")
    resource = world.claim_one().resource
    assert (resource.name, resource.kind_version, resource.labels, resource.status) == ("a", 1, {"app": "x"}, {"id": 1})
    assert (resource.generation, resource.synced_gen, resource.phase) == (2, 1, "Reconciling")


def test_a_kind_that_reacts_to_no_spec_has_resources_that_are_ready_as_they_are(world):
    world.kind("folder")
    world.apply("folder", "f")
    assert world.work() == []
    assert world.phase("folder/f") == "Ready"


def test_what_a_reaction_may_not_emit_is_dropped_with_a_warning(world):
    world.kind("quiet", {"name": "make", "trigger": "specChange", "emits": ["conditions"]})
    world.on("quiet", lambda claim: Outcome(status={"x": 1}, children=[ChildSpec("quiet", 1, "c")]))
    world.apply("quiet", "q")
    world.work()
    assert world.get("quiet/q").status is None
    [warning] = [event for event in world.events("quiet/q") if event.type == "Warning"]
    assert warning.message == "dropped what the reaction may not emit: children, status"


def test_a_compose_that_was_superseded_changes_no_children(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/old"])
    claim = world.claim_one()
    world.group("g", ["leaf/new"])
    world.answer(claim)
    assert not world.exists("leaf/old")
    assert world.get("group/g").synced_gen == 0
    world.work()
    assert world.exists("leaf/new")
    assert not world.exists("leaf/old")


# ---- configs ----


def test_a_claim_carries_the_override_and_the_revision_of_the_default(world):
    world.leaf()
    put_default(world)
    put_default(world, name="o", is_default=False, spec=b'{"y":2}', bundle=b"b")
    world.apply("leaf", "a", provider_config_ref="o")
    claim = world.claim_one()
    assert (claim.override.spec, claim.override.bundle) == (b'{"y":2}', b"b")
    default = world.do(world.engine.default_configs([KindVersion("leaf"), KindVersion("none")]))
    assert default[KindVersion("leaf")].config.spec == b'{"x":1}'
    assert default[KindVersion("leaf")].revision == claim.config_revision == 1
    assert (default[KindVersion("none")].revision, default[KindVersion("none")].config.spec) == (0, None)


def test_every_edit_of_a_default_raises_its_revision_its_deletion_too(world):
    world.leaf()
    assert put_default(world)[0] == "created"
    assert put_default(world)[0] == "unchanged"
    assert put_default(world, spec=b'{"x":2}')[0] == "configured"
    world.do(world.engine.delete_config("d", "t"))
    default = world.do(world.engine.default_configs([KindVersion("leaf")]))[KindVersion("leaf")]
    assert (default.revision, default.config.spec) == (3, None)


def test_editing_a_default_runs_its_kinds_resources_again_at_the_same_generation(world):
    world.leaf()
    world.leaf("other")
    for i in range(3):
        world.apply("leaf", f"r{i}")
    world.apply("other", "o")
    world.work()
    put_default(world)
    assert world.work() == ["work leaf/r0", "work leaf/r1", "work leaf/r2"]
    assert world.get("leaf/r0").generation == 1


def test_a_sweep_over_many_resources_comes_to_all_of_them(world, monkeypatch):
    from stdworker.engine.reconcile import sweeps

    monkeypatch.setattr(sweeps, "PIECE_RESOURCES", 2)
    world.leaf()
    for i in range(5):
        world.apply("leaf", f"r{i}")
    world.work()
    put_default(world)
    assert len(world.work()) == 5


def test_editing_an_attached_config_runs_its_resources_again(world):
    world.leaf()
    put_default(world, name="o", is_default=False)
    world.apply("leaf", "a", provider_config_ref="o")
    world.apply("leaf", "b")
    world.work()
    put_default(world, name="o", is_default=False, spec=b'{"x":3}')
    assert world.work() == ["work leaf/a"]


def test_a_composer_alone_composes_again_when_its_config_changes(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.work()
    put_default(world, "group")
    assert world.work() == ["compose group/g"]


def test_a_composer_that_works_too_only_works_again_when_its_config_changes(world):
    world.composite("all", MAKE)
    world.apply("all", "x")
    world.work()
    put_default(world, "all")
    assert world.work() == ["work all/x"]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda w: put_default(w, name="e"), Conflict, "leaf@1 has a default config already: d"),
        (lambda w: put_default(w, kind="other"), Conflict, "the provider config d is for leaf@1, not other@1"),
        (lambda w: put_default(w, kind="nope", name="n"), Invalid, "nope@1 is not published"),
        (lambda w: put_default(w, name="-"), Invalid, "'-' is not a name"),
        (lambda w: put_default(w, spec=b'{"x":"s"}'), Invalid, "breaks the config schema of leaf@1"),
        (lambda w: put_default(w, spec=b"{}"), Invalid, "breaks the config schema of leaf@1"),
        (lambda w: w.do(w.engine.delete_config("nope", "t")), NotFound, "there is no provider config nope"),
        (lambda w: w.do(w.engine.config("nope")), NotFound, "there is no provider config nope"),
        (lambda w: w.do(w.engine.delete_config("o", "t")), Conflict, "the provider config o is used by leaf/a"),
    ],
)
def test_a_config_that_can_not_be_is_refused(world, call, error, told):
    schema = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
    world.leaf(config_schema=schema)
    world.leaf("other")
    put_default(world)
    put_default(world, name="o", is_default=False, spec=b"{}")  # what is required may come from the default
    world.apply("leaf", "a", provider_config_ref="o")
    with pytest.raises(error, match=told):
        call(world)


# ---- kinds ----


def test_publishing_the_same_manifest_again_runs_nothing_another_one_runs_its_resources(world):
    world.leaf()
    world.apply("leaf", "a")
    world.work()
    world.leaf()
    assert world.work() == []
    world.leaf(description="told better")
    assert world.work() == []
    world.leaf(status_schema={"type": "object"})
    assert world.work() == ["work leaf/a"]


def test_the_manifest_seeds_the_live_policy_once(world):
    world.leaf(max_inflight=3, task_deadline_secs=60)
    pair = KindVersion("leaf")
    world.do(world.engine.set_policy(pair, KindPolicy(max_inflight=9), "t"))
    world.leaf(max_inflight=5)
    assert world.do(world.engine.kind(pair)).policy.max_inflight == 9


def test_a_deadline_goes_with_the_task(world):
    world.leaf(task_deadline_secs=60)
    world.apply("leaf", "a")
    assert world.claim_one().deadline_ms == 60_000


def test_a_kind_in_use_can_not_be_deleted_another_can(world):
    world.leaf()
    world.apply("leaf", "a")
    pair = KindVersion("leaf")
    with pytest.raises(Conflict, match="leaf@1 has resources"):
        world.do(world.engine.delete_kind(pair, "t"))
    world.delete("leaf/a")
    world.do(world.engine.delete_kind(pair, "t"))
    with pytest.raises(NotFound):
        world.do(world.engine.kind(pair))


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "bogus"}, "bogus"),
        ({"$ref": "https://example.org/schema"}, "https://example.org/schema"),
        ({"$ref": "#/$defs/none"}, "none"),
        ({"pattern": "(a)\\1"}, "regex"),
    ],
)
def test_a_schema_that_is_none_or_leaves_the_document_or_backtracks_is_refused(world, schema, told):
    with pytest.raises(Invalid, match="spec_schema is not a usable JSON Schema") as refused:
        world.leaf(spec_schema=schema)
    assert told in str(refused.value)


def test_an_illegal_manifest_is_refused_with_every_violation(world):
    with pytest.raises(Invalid) as refused:
        world.kind("bad", MAKE, MAKE, max_inflight=-1)
    assert refused.value.violations


# ---- events and hints ----


def test_events_are_one_sequence_of_what_happened_to_whom_by_whom(world):
    world.leaf()
    world.apply("leaf", "a")
    world.work()
    world.delete("leaf/a")
    told = [(e.type, e.reason, e.actor) for e in world.events("leaf/a")]
    assert told == [
        ("Created", "", "test"),
        ("PhaseChanged", "Ready", "engine"),
        ("DeleteRequested", "", "test"),
        ("PhaseChanged", "Deleting", "test"),
        ("Deleted", "", "engine"),
    ]
    assert [e.seq for e in world.events()] == list(range(1, len(world.events()) + 1))


def test_the_oldest_events_are_pruned(world):
    world.leaf()
    for i in range(20):
        world.apply("leaf", f"r{i}")
    world.apply("leaf", "last")
    world.do(world.engine.ticks.prune())
    kept = world.events()
    assert (len(kept), kept[-1].ref) == (20, world.ref("leaf/last"))


def test_hints_say_what_to_look_at(world):
    world.leaf()

    async def scenario():
        async with world.engine.watch() as watch:
            assert await watch.next(0) == set()
            await world.engine.reconcile(world.ref("leaf/a"), "t")
            return await watch.next(10)

    world.apply("leaf", "a")
    world.settle(world.claim_one())
    hints = {(hint.topic, hint.pair, str(hint.ref) if hint.ref else None) for hint in world.do(scenario())}
    leaf = KindVersion("leaf")
    assert hints == {("work", leaf, None), ("resource", leaf, "leaf/a"), ("event", None, None)}


def test_a_retry_that_has_become_due_is_hinted(world):
    world.leaf()
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="busy", retry_after_ms=1000)

    async def scenario():
        async with world.engine.watch() as watch:
            await world.engine.ticks.look()
            assert await watch.next(0) == set()
            world.clock.advance(1)
            await world.engine.ticks.look()
            return await watch.next(10)

    assert {hint.topic for hint in world.do(scenario())} == {"work"}


def test_a_claim_that_saw_the_generation_before_is_run_again(world):
    """On Postgres one may read the resource just before a change of it, and hold its row just after."""
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    claim = world.claim_one()
    world.write("UPDATE resources SET generation = 2")
    assert world.settle(claim)
    assert world.phase("leaf/a") == "Reconciling"
    assert (world.work(), world.get("leaf/a").synced_gen) == (["work leaf/a"], 2)
