"""Correctness by search: any order of edits, results and losses leaves the books right and comes to rest Ready."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from stdworker.engine.reconcile import state
from stdworker.engine.store import lists, nodes, tasks
from stdworker.engine.store.records import BindingDeclaration, ResourceFilter
from stdworker.engine.store.rows import task_ids
from stdworker.errors import Conflict, NotFound
from stdworker.model.kind import KindVersion, Phase, Stage, Transition
from stdworker.model.outcome import Condition, Outcome

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
HEAR = {"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}
POKE = {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
ROOTS = ["group/g", "tree/t", "leaf/lone"]
CHILDREN = ["a", "b", "c"]
AGAIN = ("degraded", "failed")  # may be crossed more than once at the same generation
EXAMPLES, STEPS = 60, 30

numbers = st.integers(0, 2)
some_children = st.lists(st.sampled_from(CHILDREN), unique=True, min_size=1)


def child_name(prefix, child):
    return f"{'vm' if child == 'b' else 'leaf'}/{prefix}{child}"


class Machine(RuleBasedStateMachine):
    new_world = None

    def __init__(self) -> None:
        super().__init__()
        assert Machine.new_world is not None
        self.opened = Machine.new_world()
        self.world = self.opened.__enter__()
        self.world.leaf()
        self.world.composite()
        self.world.composite("tree", SUM, DROP, POKE)
        self.world.kind("vm", MAKE, DROP, POKE)
        self.world.kind("ear", HEAR)
        for watched, transition in itertools.product(("leaf", "group", "tree", "vm"), Transition):
            binding = BindingDeclaration(f"{watched}-{transition}", watched, transition, "ear")
            self.world.do(self.world.engine.put_binding(binding, "t"))
        self.claims: list = []
        self.heard: dict = {}  # what the reactor was told, by its token
        self.landed: Counter = Counter()

    # ---- people ----

    @rule(children=some_children, number=numbers, chained=st.booleans())
    def apply_group(self, children, number, chained):
        self.apply("group", "g", self.group_spec("", children, number, chained))

    @rule(children=some_children, number=numbers, chained=st.booleans())
    def apply_tree(self, children, number, chained):
        inner = self.group_spec("t-", children, number, chained)
        self.apply("tree", "t", {"children": [["group/inner", inner], ["leaf/side", {"n": number}]]})

    @rule(number=numbers)
    def apply_lone(self, number):
        self.apply("leaf", "lone", {"n": number})

    @rule(root=st.sampled_from(ROOTS), force=st.booleans())
    def delete(self, root, force):
        if self.world.exists(root):
            self.world.delete(root, force=force)

    @rule(name=st.sampled_from([child_name(p, c) for p in ("", "t-") for c in CHILDREN] + ["group/inner"]))
    def delete_a_child(self, name):
        if self.world.exists(name):
            self.world.delete(name)

    @rule(name=st.sampled_from(["group/g", "tree/t", "leaf/a", "leaf/t-a", "vm/b"]))
    def reconcile(self, name):
        if self.world.exists(name):
            self.world.again(name)

    @rule(name=st.sampled_from(["tree/t", "vm/b", "vm/t-b"]))
    def operate(self, name):
        with contextlib.suppress(Conflict, NotFound):
            self.world.operate(name, "poke")

    @rule(number=numbers)
    def edit_config(self, number):
        put = self.world.engine.put_config
        bundle = str(number).encode()
        self.world.do(put("d", KindVersion("leaf"), is_default=True, spec=None, bundle=bundle, actor="t"))

    # ---- workers ----

    @rule(credit=st.integers(1, 3))
    def claim(self, credit):
        claims = self.world.claim(credit)
        for claim in claims:
            self.hear(claim)
            if claim.stage == "delete":
                assert self.world.find(owners=[claim.resource.ref]) == []
        self.claims += claims

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), ending=st.sampled_from(["ok", "ok", "sick", "null", "transient", "terminal", "released"]))
    def settle(self, data, ending):
        claim = data.draw(st.sampled_from(self.claims))  # an old one too: its result is late, or comes twice
        if ending in ("transient", "terminal", "released"):
            failure = {"terminal": ending == "terminal", "released": ending == "released"}
            landed = self.world.settle(claim, error=ending, **failure)
        elif str(claim.stage) == "work":
            landed = self.world.settle(claim, self.leaf_outcome(claim, ending))
        else:
            landed = self.world.answer(claim)
        self.landed[claim.lease] += landed
        assert self.landed[claim.lease] <= 1

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), counted=st.booleans())
    def lose(self, data, counted):
        claim = data.draw(st.sampled_from(self.claims))
        self.world.do(self.world.engine.release([claim.lease], "broker", counted=counted))

    @rule(seconds=st.sampled_from([0.5, 5, 400]))
    def wait(self, seconds):
        self.world.clock.advance(seconds)

    # ---- the books ----

    @invariant()
    def the_books_are_right(self):
        self.world.rest()
        self.world.do(self.world.engine.read(check_books))
        found = self.world.find()
        counted = Counter((record.kind, str(record.phase)) for record in found)
        by_kind = self.world.do(self.world.engine.summary())["by_kind"]
        assert counted == Counter({(k, p): n for k, phases in by_kind.items() for p, n in phases.items()})

    def teardown(self):
        try:
            self.comes_to_rest()
        finally:
            self.opened.__exit__(None, None, None)

    def comes_to_rest(self):
        """When workers succeed from now on, all that is left becomes Ready."""
        world = self.world
        world.on("ear", self.hear, Stage.REACT)
        for kind in ("leaf", "vm"):
            world.on(kind, lambda claim: self.leaf_outcome(claim, "ok"))
        for claim in self.claims:
            world.do(world.engine.release([claim.lease], "broker", counted=False))
        for record in world.find():
            if record.phase != "Deleting" and (record.failure_terminal or not record.health_ok):
                world.again(str(record.ref))
        for _ in range(3):
            world.clock.advance(400)
            world.work()
        assert {str(record.ref): str(record.phase) for record in world.find() if record.phase != "Ready"} == {}
        assert world.do(world.engine.read(lambda db: db.fetch("SELECT count(*) FROM queue"))) == [(0,)]
        opened = "SELECT count(*) FROM operations WHERE finished_at IS NULL"
        assert world.do(world.engine.read(lambda db: db.fetch(opened))) == [(0,)]
        assert world.do(world.engine.read(lambda db: db.fetch("SELECT count(*) FROM rechecks"))) == [(0,)]
        self.reactors_were_told()

    def hear(self, claim):
        if claim.stage == "react":
            told = (claim.resource.uid, str(claim.transition), claim.resource.generation)
            assert self.heard.setdefault(claim.dedup_token, told) == told

    def reactors_were_told(self):
        """All that is there was made and synced, and all that was made and is not there any more was deleted, once."""
        letters = self.world.do(self.world.engine.dead_letters(limit=1000)).items
        assert {letter.dedup_token for letter in letters} <= self.heard.keys()
        assert self.world.do(self.world.engine.delivery_counts())["waiting"] == 0
        told = Counter(self.heard.values())
        assert {crossing for crossing, times in told.items() if times > 1 and crossing[1] not in AGAIN} == set()
        by_transition = {t: {uid for uid, transition, _ in told if transition == t} for t in Transition}
        there = {record.uid for record in self.world.find()}
        assert by_transition["created"] - by_transition["deleted"] == there
        assert {
            (record.uid, "synced", record.generation) for record in self.world.find(phases=[Phase.READY])
        } <= told.keys()

    # ---- words ----

    def apply(self, kind, name, spec):
        with contextlib.suppress(Conflict):  # it is being deleted
            self.world.apply(kind, name, spec)

    @staticmethod
    def group_spec(prefix, children, number, chained):
        names = [child_name(prefix, child) for child in children]
        flows = [["/from", "/id"]]
        edges = [[b, a, flows] for a, b in itertools.pairwise(names)] if chained else []
        return {"children": [[name, {"n": number}] for name in names], "edges": edges}

    @staticmethod
    def leaf_outcome(claim, ending):
        sick = [Condition("Ready", "False", "Sick", "down")] if ending == "sick" else []
        value = None if ending == "null" else f"{claim.resource.name}-{claim.resource.spec.get('n')}"
        return Outcome(status={"id": value}, conditions=sick)


def check_books(db):
    """Each owner's counts are what its children contribute, and what each child says was counted of it."""
    ids = [row[0] for row in db.fetch("SELECT id FROM resources")]
    all_nodes = nodes.lock(db, ids)
    sums: dict = {node.id: [0, 0] for node in all_nodes}
    for node in all_nodes:
        assert node.synced_gen <= node.generation
        assert node.worked_gen <= node.generation
        contribution = state.contribution(node)
        assert contribution == (bool(node.counted_unsettled), bool(node.counted_unready)) or node.owner_id is None
        if node.owner_id is not None:
            sums[node.owner_id][0] += contribution[0]
            sums[node.owner_id][1] += contribution[1]
    assert {node.id: [node.unsettled, node.unready] for node in all_nodes} == sums
    leased: Counter = Counter()
    for row in tasks.lock(db, [task for resource in ids for task in task_ids(resource)]):
        assert row.resource_id in sums
        leased[row.resource_id] += row.claimed_by is not None
    assert not leased or max(leased.values()) <= 1
    assert len(lists.find(db, ResourceFilter(), 1000, None)) == len(all_nodes)


def test_any_history_keeps_the_books_right_and_comes_to_rest(new_world):
    Machine.new_world = staticmethod(new_world)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
