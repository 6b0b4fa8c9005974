"""Correctness by search: whatever happens in whatever order, the engine does what the model says, on both stores."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter

import orjson
import pytest
from hypothesis import HealthCheck, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from stdworker.engine.reconcile import schedule
from stdworker.engine.reconcile.interval import JITTER
from stdworker.engine.store.claims import Want
from stdworker.engine.store.declarations import BindingDeclaration, ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.engine.store.rows import RECONCILE
from stdworker.errors import Conflict, NotFound
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import KindVersion, Phase, Stage, Transition
from stdworker.model.outcome import Condition, Outcome
from stdworker.model.task import Lease
from stdworker.testing import invariants
from tests.unit.engine.conftest import compose_from_spec
from tests.unit.engine.model import ATTEMPTS_MAX, COMPOSITES, GRACE_MS, OBSERVED, REVISIONS_KEEP, Model, emitted

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "1"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
EXAMPLES = {"sqlite": 30, "postgres": 6}
STEPS = 40

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
HEAR = {"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}
POKE = {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
AGAIN = ("degraded", "failed")  # may be crossed more than once at the same generation
FLOW = [["/from", "/id"]]
LEAF = KindVersion("leaf")
BROKERS = ["broker", "other"]
REAP_SECONDS, REAPS = 3, 7
RETRY_CAP_SECONDS = 300
CREDIT = 10
RESYNC_SECONDS = 1_000
UNPLANNED = "SELECT count(*) FROM resources WHERE kind = 'vm' AND resync_at IS NULL"
LATEST_SECONDS = RESYNC_SECONDS * (1 + JITTER) + 1
VM = {
    "orphan_grace_secs": GRACE_MS // 1000,
    "resync_interval_secs": RESYNC_SECONDS,
}

numbers = st.integers(0, 2)
rounds = st.integers(0, 4)
rarely = st.sampled_from([False, False, True])
versions = st.sampled_from([1, 1, 1, 2])
brokers = st.sampled_from(BROKERS)
endings = st.sampled_from(["ok", "ok", "ok", "sick", "null", "transient", "transient", "told", "terminal", "released"])
children = st.lists(st.sampled_from(["leaf/a", "vm/b", "leaf/c", "vm/d"]), unique=True, min_size=1)
connections = st.sampled_from(["none", "edges", "flows"])
configs = st.sampled_from([None, "x", "y"])
orders = st.randoms(use_true_random=False)
anything = st.integers(0, 1_000)


class Machine(RuleBasedStateMachine):
    new_world = None

    def __init__(self) -> None:
        super().__init__()
        assert Machine.new_world is not None
        self.opened = Machine.new_world()
        self.world = self.opened.__enter__()
        self.model = Model()
        self.claims: list = []
        self.deliveries: list = []
        self.heard: dict = {}  # what the reactor was told, by its token
        self.cap = 0
        self.publish()

    def publish(self) -> None:
        self.world.leaf(max_transient_attempts=ATTEMPTS_MAX)
        self.world.kind("leaf", MAKE, version=2, max_transient_attempts=ATTEMPTS_MAX)
        self.world.kind("vm", MAKE, DROP, POKE, **VM)
        self.world.composite()
        self.world.composite("tree", SUM, DROP, POKE)
        for kind in COMPOSITES:
            self.world.on(kind, compose, Stage.COMPOSE)
        for name in ("p", "q"):
            self.put_config(name, "{}")
        self.world.kind("ear", HEAR)
        for watched, transition in itertools.product(("leaf", "group", "tree", "vm"), Transition):
            binding = BindingDeclaration(f"{watched}-{transition}", watched, transition, "ear")
            self.world.do(self.world.engine.put_binding(binding, "t"))

    # ---- people ----

    @rule(wanted=children, number=numbers, connected=connections, lone=rarely, config=configs, rounds=rounds)
    def apply_group(self, wanted, number, connected, lone, config, rounds):
        self.apply("group/g", plan(wanted + ["leaf/lone"] * lone, number, connected, config))
        self.work_on(rounds)

    @rule(wanted=children, number=numbers, connected=connections, outer=connections, config=configs, rounds=rounds)
    def apply_tree(self, wanted, number, connected, outer, config, rounds):
        inner = plan([f"{child}-t" for child in wanted], number, connected, config)
        sides = plan(["leaf/side", "vm/late"], number, outer)
        sides["edges"] += [["vm/late", "group/inner", []]] if outer != "none" else []
        self.apply("tree/t", {**sides, "children": [["group/inner", inner], *sides["children"]]})
        self.work_on(rounds)

    @rule(
        number=numbers, version=st.sampled_from([1, 1, 1, 2]), config=st.sampled_from([None, "p", "q"]), label=numbers
    )
    def apply_lone(self, number, version, config, label):
        self.apply("leaf/lone", {"n": number}, version, config if version == 1 else None, {"l": str(label)})

    def apply(self, ref, spec, version=1, config=None, labels=None):
        expected = self.model.apply(ref, spec, version=version, labels=labels or {}, config=config)
        kind, name = ref.split("/")
        more = {"labels": labels or {}, "provider_config_ref": config}
        try:
            self.world.apply(kind, name, spec, version=version, **more)
            result = self.world.result
        except Conflict:
            result = "conflict"
        assert result == expected, f"the apply of {ref} answered {result}, not {expected}"

    @precondition(lambda self: self.model.things)
    @rule(which=anything, force=rarely, rounds=rounds)
    def delete(self, which, force, rounds):
        ref = self.pick(which)
        note(f"# deletes {ref}")
        self.model.delete(ref, force=force)
        self.world.delete(ref, force=force)
        self.work_on(rounds)

    @precondition(lambda self: self.model.things)
    @rule(which=anything)
    def reconcile(self, which):
        self.run_again(self.pick(which))

    def run_again(self, ref):
        note(f"# reconciles {ref}")
        self.model.reconcile(ref)
        self.world.again(ref)

    @precondition(lambda self: self.model.things)
    @rule(which=anything, generation=st.integers(1, 5))
    def roll_back(self, which, generation):
        ref = self.pick_root(which)
        allowed = self.model.roll_back(ref, generation)
        note(f"# rolls {ref} back to generation {generation}, which is allowed: {allowed}")
        with contextlib.nullcontext() if allowed else pytest.raises((Conflict, NotFound)):
            self.world.do(self.world.engine.roll_back(self.world.ref(ref), generation, "t"))

    @precondition(lambda self: self.model.things)
    @rule(which=anything, at_work=st.booleans(), rounds=rounds, briefly=st.booleans())
    def quarantine(self, which, at_work, rounds, briefly):
        busy = sorted({held.ref for held in self.model.leases.values()})
        ref = busy[which % len(busy)] if at_work and busy else self.pick(which)
        self.freeze(ref)
        self.work_on(rounds)
        if briefly and ref in self.model.things:
            self.release(ref)

    @precondition(lambda self: any(thing.quarantined for thing in self.model.things.values()))
    @rule(which=anything, rounds=rounds)
    def unquarantine(self, which, rounds):
        frozen = sorted(ref for ref, thing in self.model.things.items() if thing.quarantined)
        self.release(frozen[which % len(frozen)])
        self.work_on(rounds)

    def freeze(self, ref):
        note(f"# quarantines {ref}")
        allowed = self.model.quarantine(ref)
        with contextlib.nullcontext() if allowed else pytest.raises(Conflict):
            self.world.do(self.world.engine.quarantine(self.world.ref(ref), "t"))

    def release(self, ref):
        note(f"# releases {ref}")
        self.model.unquarantine(ref)
        self.world.do(self.world.engine.unquarantine(self.world.ref(ref), "t"))

    @rule(name=st.sampled_from(["tree/t", "vm/b", "vm/d-t"]))
    def operate(self, name):
        with contextlib.suppress(Conflict, NotFound):
            self.world.operate(name, "poke")

    @rule(name=st.sampled_from(["d", "p"]), number=numbers)
    def edit_config(self, name, number):
        self.put_config(name, str(number))

    def put_config(self, name, bundle):
        declared = ConfigDeclaration(name, LEAF, is_default=name == "d", bundle=bundle.encode())
        self.world.do(self.world.engine.put_config(declared, "t"))

    @rule(number=numbers)
    def publish_anew(self, number):
        self.world.kind("vm", {**MAKE, "name": f"make{number}"}, DROP, POKE, **VM)

    @rule(cap=st.integers(0, 2))
    def cap_leaves(self, cap):
        self.cap = cap
        policy = KindPolicy(max_inflight=cap, max_transient_attempts=ATTEMPTS_MAX)
        self.world.do(self.world.engine.set_policy(LEAF, policy, "t"))

    # ---- workers ----

    @rule(credit=st.integers(1, 3), broker=brokers)
    def claim(self, credit, broker):
        self.lease(credit, broker)

    def lease(self, credit, broker):
        before = self.leased_leaves()
        found = self.world.do(self.world.engine.claim([Want(p, credit, "w") for p in self.world.pairs], broker))
        claims = [claim for claim in found if claim.stage != "react"]
        for delivery in [claim for claim in found if claim.stage == "react"]:
            self.hear(delivery)
            self.deliveries.append(delivery)
        for claim in claims:
            note(f"# {broker} leases {claim.stage} {claim.resource.ref} at {claim.resource.generation}")
            ref = str(claim.resource.ref)
            self.model.claim(claim.lease, ref, claim.stage, broker, by_clock=claim.trigger == "resync")
            thing = self.model.things[ref]
            assert claim.resource.generation == thing.generation
            assert dict(claim.resource.spec) == thing.spec
            if thing.kind == "vm":
                assert claim.override.spec == (f'{{"name":"{thing.config}"}}'.encode() if thing.config else None)
        assert not self.cap or self.leased_leaves() <= max(self.cap, before)
        self.claims += claims
        return claims

    def work_on(self, rounds):
        """Workers do what can be done for a while, and do it well."""
        self.the_engine_is_where_the_model_is()
        for _ in range(rounds):
            self.world.clock.advance(RETRY_CAP_SECONDS)
            for claim in self.lease(CREDIT, BROKERS[0]):
                self.answer(claim, "ok")
                self.the_engine_is_where_the_model_is()

    @rule(order=orders, worst=st.sampled_from(["ok", "sick", "null", "transient", "told"]))
    def work(self, order, worst):
        """Results come in any order, and some are bad."""
        self.world.clock.advance(RETRY_CAP_SECONDS)
        claims = self.lease(CREDIT, BROKERS[0])
        order.shuffle(claims)
        for claim in claims:
            self.answer(claim, order.choice(["ok", "ok", worst]))
            self.the_engine_is_where_the_model_is()

    @rule(order=orders)
    def work_half(self, order):
        """Some stay at it."""
        claims = self.lease(CREDIT, BROKERS[0])
        for claim in order.sample(claims, len(claims) // 2):
            self.answer(claim, "ok")
            self.the_engine_is_where_the_model_is()

    def leased_leaves(self):
        held = [held for held in self.model.leases.values() if held.ref.startswith("leaf/")]
        return sum(lease.version == 1 for lease in held)

    @precondition(lambda self: self.claims)
    @rule(which=anything, ending=endings)
    def settle(self, which, ending):
        self.answer(self.claims[-1 - which % len(self.claims)], ending)

    def answer(self, claim, ending):
        """An old claim too: its result is late, or comes twice."""
        value = None if ending == "null" else f"{claim.resource.name}-{claim.resource.generation}"
        sick, told = ending == "sick", ending == "told" and claim.stage == "work"
        ending = "ok" if ending in ("sick", "null") else ending
        self.model.now_ms = self.now_ms()
        sent = value if ending == "ok" else f"{value}-failed" if told else None
        expected = self.model.settle(claim.lease, claim.stage, ending, sick=sick, value=sent)
        note(f"# {claim.stage} {claim.resource.ref} at {claim.resource.generation}: {ending}, lands: {expected}")
        if ending == "ok":
            landed = self.world.settle(claim, self.outcome(claim, sick, value))
        else:
            how = {"terminal": ending == "terminal", "released": ending == "released"}
            landed = self.world.settle(claim, Outcome(status={"id": sent}) if told else None, error=ending, **how)
        assert landed == expected

    def outcome(self, claim, sick, value):
        if claim.stage == "work":
            conditions = [Condition("Ready", "False", "Sick", "down")] if sick else []
            return Outcome(status={"id": value}, conditions=conditions)
        handler = self.world.handlers.get((claim.pair.kind, claim.stage), lambda _: Outcome())
        return handler(claim)

    @precondition(lambda self: self.deliveries)
    @rule(which=anything, fails=st.booleans())
    def react(self, which, fails):
        self.world.settle(self.deliveries[which % len(self.deliveries)], error="deaf" if fails else "")

    @precondition(lambda self: self.claims)
    @rule(which=anything)
    def forge(self, which):
        """Nobody's result lands."""
        claim = self.claims[-1 - which % len(self.claims)]
        token, epoch = claim.lease
        for forged in (Lease(token, epoch + 1), Lease(token[:-1] + "~", epoch), Lease("", epoch)):
            claim.lease = forged
            assert not self.world.settle(claim, self.outcome(claim, False, "forged"))
        claim.lease = Lease(token, epoch)

    @precondition(lambda self: self.claims)
    @rule(which=anything, broker=brokers, counted=st.booleans())
    def lose(self, which, broker, counted):
        claim = self.claims[-1 - which % len(self.claims)]
        note(f"# {broker} releases {claim.stage} {claim.resource.ref}")
        self.model.release(claim.lease, broker, counted=counted)
        self.world.do(self.world.engine.release([claim.lease], broker, counted=counted))

    @precondition(lambda self: self.claims)
    @rule(which=anything, broker=brokers)
    def attest(self, which, broker):
        claim = self.claims[-1 - which % len(self.claims)]
        note(f"# {broker} attests {claim.stage} {claim.resource.ref}")
        valid = self.model.attest(claim.lease, broker)
        assert self.world.do(self.world.engine.attest([claim.lease], broker, "w")) == [claim.lease] * (not valid)

    @precondition(lambda self: self.model.leases)
    @rule()
    def silence(self):
        """No worker attests anything for the whole window."""
        ticks = self.world.engine.ticks
        for _ in range(REAPS):
            self.world.do(ticks.reap())
            self.world.clock.advance(REAP_SECONDS)
        for lease, held in list(self.model.leases.items()):
            self.model.release(lease, held.broker, counted=True)

    @rule(seconds=st.sampled_from([0.5, 5, 400, -30]))
    def wait(self, seconds):
        self.world.clock.advance(seconds)

    @rule(seconds=st.sampled_from([0, GRACE_MS / 1000]))
    def expire(self, seconds):
        self.world.clock.advance(seconds)
        self.expire_orphans()

    def expire_orphans(self):
        note("# orphans whose grace is over go")
        self.model.now_ms = self.world.clock.ms = self.now_ms()
        self.model.expire()
        self.world.do(self.world.engine.ticks.expire())

    @rule(which=anything, first=st.sampled_from(["nothing", "disturb", "transient", "terminal"]))
    def resync(self, which, first):
        """What is due by then runs again, if it is settled."""
        self.work_on(2 * (first != "nothing"))
        vms = sorted(ref for ref in self.model.resynced() if ref.startswith("vm/"))
        if first == "disturb":
            self.disturb(vms, which)
        elif first in ("transient", "terminal"):
            self.fail_again(first)
        note("# all that is settled is due again")
        self.world.clock.advance(LATEST_SECONDS)
        before, due = self.asked_by_clock()
        self.world.do(self.world.engine.ticks.resync())
        asked, _ = self.asked_by_clock()
        assert asked - before == due & self.model.resynced() - before

    def disturb(self, refs, which):
        """One is frozen, the next one moves, the one after that is left alone."""
        for number, ref in enumerate(refs, which):
            if number % 3 == 0:
                self.freeze(ref)
            elif number % 3 == 1:
                self.run_again(ref)

    def fail_again(self, ending):
        """What has run already fails when it runs once more at the same generation."""
        self.publish_anew(len(self.claims))
        self.world.rest()
        for claim in self.lease(CREDIT, BROKERS[0]):
            self.answer(claim, ending if claim.pair.kind == "vm" and claim.stage == "work" else "ok")
            self.the_engine_is_where_the_model_is()

    def asked_by_clock(self):
        """What the clock has asked to run, and what it will look at next."""
        books = self.world.do(self.world.engine.read(invariants.read))
        rows = {node: books.task(node, RECONCILE) for node in books.nodes.values()}
        asked = {str(node.ref) for node, row in rows.items() if row and (row.reasons | row.again) & schedule.RESYNC}
        due = {str(node.ref) for node in rows if node.resync_at is not None and node.resync_at <= self.now_ms()}
        return asked, due

    def now_ms(self):
        """The engine's clock, which never goes back while it is open."""
        return self.world.engine._batcher._now()

    @rule(which=anything, ending=endings)
    def crash(self, which, ending):
        """The engine dies right after a commit, before it looked at what that left to be looked at."""
        self.world.engine._batcher._following = True  # so that it doesn't
        if self.claims:
            self.world.rest = lambda: None
            self.answer(self.claims[-1 - which % len(self.claims)], ending)
            del self.world.rest
        self.world.close()
        self.world.open()

    # ---- what must be so ----

    @invariant()
    def the_engine_is_where_the_model_is(self):
        self.world.rest()
        books = self.world.do(self.world.engine.read(invariants.read))
        assert invariants.violations(books) == []
        assert books.rechecks == set()
        nodes = {str(node.ref): node for node in books.nodes.values()}
        for ref, node in nodes.items():
            if node.kind in OBSERVED and ref in self.model.things:
                self.observe(self.model.things[ref], node)
        self.model.rest()
        found = {ref: self.seen(node, books) for ref, node in nodes.items()}
        expected = {ref: self.expected(thing) for ref, thing in self.model.things.items()}
        wrong = {ref for ref in {*found, *expected} if found.get(ref) != expected.get(ref)}
        assert {name for name, *_ in books.configs} - {"d", "p", "q"} == self.model.configs() - {"d", "p", "q"}
        assert not wrong, "\n".join(f"{ref}: {found.get(ref)}, the model says {expected.get(ref)}" for ref in wrong)

    @staticmethod
    def observe(thing, node):
        """When the last stage of a run with a rollup ended, only the engine knows."""
        thing.worked, thing.synced, thing.owes = node.worked_gen, node.synced_gen, bool(node.due)
        thing.failed_at, thing.stopped = node.failure_gen, bool(node.failure_terminal)
        thing.attempts, thing.healthy = node.failure_attempts, bool(node.health_ok)

    def seen(self, node, books):
        owner = books.nodes.get(node.owner_id)
        sources = [books.nodes.get(edge.dependency_id) for edge in books.incoming.get(node.id, ())]
        return {
            "phase": books.phases[node.id],
            "value": (orjson.loads(node.status or "null") or {}).get("id"),
            "generation": node.generation,
            "version": node.kind_version,
            "owner": str(owner.ref) if owner else None,
            "wanted": bool(node.wanted),
            "depends on": sorted(str(source.ref) for source in sources if source),
            "finalizer": node.finalizers != "[]",
            "failure": (node.failure_gen, bool(node.failure_terminal), node.failure_attempts),
            "settled": node.deletion_requested_at is not None or (node.worked_gen, node.synced_gen, node.gate),
        }

    def expected(self, thing):
        return {
            "phase": self.model.phase(thing),
            "value": thing.value,
            "generation": thing.generation,
            "version": thing.version,
            "owner": thing.owner,
            "wanted": thing.wanted,
            "depends on": sorted(ref for ref in thing.sources if ref in self.model.things),
            "finalizer": thing.finalizer,
            "failure": (thing.failed_at, thing.stopped, thing.attempts),
            "settled": thing.deleting or (thing.worked, thing.synced, thing.gate),
        }

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
            world.on(kind, lambda claim: self.outcome(claim, False, claim.resource.name))
        world.kind("vm", MAKE, DROP, POKE, **VM)
        deliveries = [claim.lease for claim in self.deliveries]
        for held, broker in itertools.product([*self.model.leases, *deliveries], BROKERS):
            world.do(world.engine.release([held], broker, counted=False))
        if world.exists("group/g") and world.exists("leaf/lone"):
            self.let_go_of_lone()
        for record in world.find(phases=[Phase.QUARANTINED]):
            self.release(str(record.ref))
        for record in world.find():
            has_nothing_to_give = record.status == b'{"id":null}'
            if record.phase != "Deleting" and (record.failure_terminal or not record.health_ok or has_nothing_to_give):
                world.again(str(record.ref))
        for _ in range(4):
            world.clock.advance(400)
            world.do(world.engine.ticks.expire())
            world.work()
        assert {str(record.ref): str(record.phase) for record in world.find() if record.phase != "Ready"} == {}
        for table in ("queue", "rechecks", "sweeps", "waits", "operations WHERE finished_at IS NULL"):
            [(left,)] = world.do(world.engine.read(lambda db, table=table: db.fetch(f"SELECT count(*) FROM {table}")))
            assert left == 0, f"{left} rows are left in {table}"
        [(left,)] = world.do(world.engine.read(lambda db: db.fetch(UNPLANNED)))
        assert left == 0, f"{left} resources never come due again"
        self.reactors_were_told()

    def hear(self, claim):
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
        ready = {(record.uid, "synced", record.generation) for record in self.world.find(phases=[Phase.READY])}
        assert ready <= told.keys()

    def let_go_of_lone(self):
        """A composite that wants what somebody else declared would stay Failed, rightly."""
        with contextlib.suppress(Conflict, NotFound):
            if self.world.get("leaf/lone").owner is None:
                self.world.delete("leaf/lone")

    def pick_root(self, which):
        roots = sorted(ref for ref, thing in self.model.things.items() if thing.owner is None)
        return roots[which % len(roots)]

    def pick(self, which):
        return sorted(self.model.things)[which % len(self.model.things)]


def plan(names, number, connected, config=None):
    """A composite's spec: each child depends on the one before it, or not, and all of a kind have a config, or not."""
    flows = FLOW if connected == "flows" else []
    edges = [[after, before, flows] for before, after in itertools.pairwise(names)] if connected != "none" else []
    chosen = {"config": config} if config else {}
    return {"children": [[name, {"n": number}] for name in names], "edges": edges, **chosen}


def compose(claim):
    """Emits the config that the spec names, and gives it to the virtual machines."""
    outcome = compose_from_spec(claim)
    if config := emitted(str(claim.resource.ref), claim.resource.spec):
        outcome.configs = [ProviderConfigSpec(config, "vm", 1, {"name": config})]
        for child in outcome.children:
            child.provider_config_ref = config if child.kind == "vm" else ""
    return outcome


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_any_history_goes_as_the_model_says_and_comes_to_rest(new_world, store):
    Machine.new_world = staticmethod(lambda: new_world(store, revisions_keep=REVISIONS_KEEP))
    search = settings(
        max_examples=EXAMPLES[store] * ROUNDS,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(seed(SEED)(Machine) if SEED else Machine, settings=search)
