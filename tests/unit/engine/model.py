"""What the engine must make of a history, told without queues, counters, rechecks or transactions.

Every derived member is computed from scratch over the whole tree each time it is asked for. What only the engine
can know is taken from it and named: when the last stage of a kind with a rollup ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

WITH_TEARDOWN = ("vm", "tree")
COMPOSITES = ("group", "tree")
OBSERVED = ("tree",)  # kinds with a rollup
WITH_GRACE = ("vm",)
ATTEMPTS_MAX = 3  # of leaves
GRACE_MS = 450_000
REVISIONS_KEEP = 3
FOR_EVER = math.inf
OPEN, WAITING, BLOCKED = 0, 1, 2


@dataclass
class Thing:
    """A resource."""

    ref: str
    owner: str | None
    declared: dict
    spec: dict
    version: int = 1
    config: str | None = None
    labels: dict = field(default_factory=dict)
    sources: dict[str, list] = field(default_factory=dict)
    flowed: dict = field(default_factory=dict)
    generation: int = 1
    worked: int = 0
    synced: int = 0
    failed_at: int = 0
    stopped: bool = False
    attempts: int = 0
    healthy: bool = True
    value: str | None = None
    gate: int = OPEN
    wanted: bool = True
    deleting: bool = False
    finalizer: bool = False
    owes: bool = False
    frozen_until: float | None = None
    emits: str | None = None
    """The config that its composer emitted last."""
    specs: dict[int, dict] = field(default_factory=dict)
    """Each spec by the generation from which on it was the live one."""

    def __post_init__(self) -> None:
        self.specs[1] = self.spec

    def respecify(self, spec: dict) -> None:
        """Another spec or version."""
        self.spec = spec
        self.generation += 1
        self.specs[self.generation] = spec

    @property
    def kind(self) -> str:
        return self.ref.partition("/")[0]

    @property
    def quarantined(self) -> bool:
        return self.frozen_until == FOR_EVER and not self.deleting

    @property
    def failed(self) -> bool:
        return self.failed_at == self.generation


@dataclass
class Held:
    """A lease."""

    ref: str
    stage: str
    generation: int
    version: int
    broker: str
    frozen: bool = False
    """Its resource was frozen meanwhile, whatever it is now."""


def emitted(ref: str, spec: dict) -> str | None:
    """The name of the config that a composite emits."""
    return f"{ref.partition('/')[2]}-{spec['config']}" if "config" in spec else None


class Model:
    def __init__(self) -> None:
        self.things: dict[str, Thing] = {}
        self.leases: dict[object, Held] = {}
        self.now_ms = 0

    # ---- people ----

    def apply(self, ref: str, spec: dict, *, version: int = 1, labels: dict, config: str | None) -> str:
        """What an apply answers."""
        thing = self.things.get(ref)
        if thing is None:
            self.things[ref] = Thing(ref, None, spec, spec, version, config, labels)
            return "created"
        if thing.owner is not None or thing.deleting:
            return "conflict"
        before = (thing.spec, thing.version, thing.config)
        bumped = (spec, version, config) != before
        if (spec, version) != before[:2]:
            thing.respecify(spec)
        else:
            thing.generation += bumped
        thing.declared, thing.version, thing.config = spec, version, config
        relabelled, thing.labels = labels != thing.labels, labels
        return "configured" if bumped or relabelled else "unchanged"

    def reconcile(self, ref: str) -> None:
        self.things[ref].generation += not self.things[ref].deleting

    def delete(self, ref: str, *, force: bool = False) -> None:
        for thing in self._doomed(ref):
            if not thing.deleting:
                thing.deleting, thing.finalizer = True, thing.kind in WITH_TEARDOWN
                thing.frozen_until = None
                self._succeed(thing)
            thing.finalizer &= not force

    def roll_back(self, ref: str, generation: int) -> bool:
        """May it be? Generations that changed no spec have that of the one before them."""
        thing = self.things[ref]
        if thing.owner is not None or thing.deleting or not 0 < generation <= thing.generation:
            return False
        kept = [number for number in sorted(thing.specs)[-REVISIONS_KEEP:] if number <= generation]
        if not kept:
            return False
        spec = thing.specs[kept[-1]]
        if spec != thing.spec:
            thing.respecify(spec)
            thing.declared = spec
        return True

    def quarantine(self, ref: str) -> bool:
        """May it be?"""
        thing = self.things[ref]
        if not thing.deleting and not thing.quarantined:
            thing.wanted = True
            self._freeze(thing, FOR_EVER)
        return not thing.deleting

    def unquarantine(self, ref: str) -> None:
        thing = self.things[ref]
        if thing.quarantined:
            thing.frozen_until = None
            if thing.owner and not self.things[thing.owner].deleting:
                self.things[thing.owner].owes = True

    def _freeze(self, thing: Thing, until: float) -> None:
        thing.frozen_until = until
        for held in self.leases.values():
            held.frozen |= held.ref == thing.ref

    def expire(self) -> None:
        """Orphans whose grace is over go."""
        for thing in [t for t in self.things.values() if not t.wanted and self._is_over(t)]:
            self.delete(thing.ref)

    def _is_over(self, thing: Thing) -> bool:
        return thing.frozen_until is not None and thing.frozen_until <= self.now_ms

    def _doomed(self, ref: str) -> list[Thing]:
        """The resource, what it owns and what depends on any of these."""
        found = {ref}
        while more := {t.ref for t in self.things.values() if t.owner in found or found & t.sources.keys()} - found:
            found |= more
        return [self.things[each] for each in found]

    # ---- workers ----

    def claim(self, lease: object, ref: str, stage: str, broker: str, *, by_clock: bool = False) -> None:
        """Raises AssertionError when the task may not run now."""
        thing = self.things[ref]
        assert not self.is_busy(ref), f"{ref} has a lease already"
        if stage == "delete":
            assert thing.finalizer, f"{ref} has nothing to tear down"
            assert self._holders(thing) == [], f"{ref} is torn down before {self._holders(thing)}"
        else:
            assert not thing.deleting, f"{ref} is being deleted"
            assert thing.frozen_until is None, f"{ref} is frozen"
            assert not by_clock or thing.worked == thing.generation, f"{ref} is run by the clock while it moves"
            assert not by_clock or not thing.stopped, f"{ref} is run by the clock though it failed for good"
            assert stage == "operate" or thing.gate == OPEN, f"{ref} is gated"
        self.leases[lease] = Held(ref, stage, thing.generation, thing.version, broker)

    def settle(self, lease: object, stage: str, ending: str, *, sick: bool = False, value: str | None = None) -> bool:
        """Does the result land, and what does it change?"""
        held = self.leases.get(lease)
        if held is None or held.stage != stage:
            return False
        del self.leases[lease]
        thing = self.things[held.ref]
        if ending == "ok":
            self._ended_well(thing, held, sick=sick, value=value)
        elif ending != "released" and stage != "operate":
            if stage == "work" and value is not None:
                thing.value = value  # sent with the failure
            self._ended_badly(thing, held, terminal=ending == "terminal")
        return True

    def release(self, lease: object, broker: str, *, counted: bool) -> None:
        held = self.leases.get(lease)
        if held is not None and held.broker == broker:
            self.settle(lease, held.stage, "transient" if counted and not held.frozen else "released")

    def attest(self, lease: object, broker: str) -> bool:
        if lease not in self.leases:
            return False
        self.leases[lease].broker = broker
        return True

    def is_busy(self, ref: str) -> bool:
        return any(held.ref == ref for held in self.leases.values())

    def _ended_well(self, thing: Thing, held: Held, *, sick: bool, value: str | None) -> None:
        if held.stage == "delete":
            thing.finalizer = False
            self._succeed(thing)
        elif held.stage == "compose":
            is_superseded = held.generation != thing.generation or thing.deleting or held.frozen
            if not is_superseded and self._compose(thing):
                self._complete(thing, held.generation)
        elif held.stage == "work":
            thing.value, thing.healthy = value, not sick
            self._complete(thing, held.generation)
            thing.synced = thing.worked

    def resynced(self) -> set[str]:
        """What the clock may have run: the rest of what it looks at moves, failed, is frozen or goes."""
        return {thing.ref for thing in self.things.values() if self.phase(thing) in ("Ready", "Degraded")}

    def _complete(self, thing: Thing, generation: int) -> None:
        thing.worked = max(thing.worked, generation)
        if generation == thing.generation:
            self._succeed(thing)

    @staticmethod
    def _succeed(thing: Thing) -> None:
        thing.failed_at, thing.stopped, thing.attempts = 0, False, 0

    def _ended_badly(self, thing: Thing, held: Held, *, terminal: bool) -> None:
        if held.stage == "delete":
            self._fail(thing, stopped=False, counted=True)
        elif held.generation == thing.generation and not thing.deleting:
            tried = thing.attempts + 1 if thing.failed else 1
            last = thing.kind == "leaf" and tried >= ATTEMPTS_MAX
            self._fail(thing, stopped=terminal or last, counted=not terminal)
            if thing.stopped and held.stage == "work":
                thing.worked = min(thing.worked, thing.generation - 1)  # it is still to be worked on

    @staticmethod
    def _fail(thing: Thing, *, stopped: bool, counted: bool) -> None:
        thing.attempts = (thing.attempts if thing.failed else 0) + counted
        thing.failed_at, thing.stopped = thing.generation, stopped

    # ---- composition ----

    def children(self, ref: str) -> list[Thing]:
        return [thing for thing in self.things.values() if thing.owner == ref]

    def _compose(self, owner: Thing) -> bool:
        wanted = dict(owner.spec["children"])
        if any(ref in self.things and self.things[ref].owner != owner.ref for ref in wanted):
            self._fail(owner, stopped=True, counted=False)
            return False
        sources: dict[str, dict] = {ref: {} for ref in wanted}
        for dependent, source, flows in owner.spec["edges"]:
            sources[dependent][source] = flows
        owner.emits = emitted(owner.ref, owner.spec)
        for ref, spec in wanted.items():
            config = owner.emits if ref.startswith("vm/") else None
            if ref in self.things:
                self._update(self.things[ref], spec, sources[ref], config)
            else:
                self.things[ref] = Thing(ref, owner.ref, spec, spec, config=config, sources=sources[ref])
        unwanted = [child for child in self.children(owner.ref) if child.ref not in wanted]
        while going := [child for child in unwanted if child.wanted and not child.quarantined]:
            for child in going:  # which may take along what is quarantined
                self._drop(child)
        owner.owes = False
        return True

    def _drop(self, child: Thing) -> None:
        child.wanted = False
        if child.kind in WITH_GRACE and not child.deleting:
            self._freeze(child, self.now_ms + GRACE_MS)
        else:
            self.delete(child.ref)

    @staticmethod
    def _update(child: Thing, spec: dict, sources: dict, config: str | None) -> None:
        if not child.wanted:
            child.frozen_until = None
        child.wanted, child.sources = True, sources
        if child.deleting:
            return
        fields = {target[1:] for flows in sources.values() for target, _ in flows}
        child.declared = spec
        child.flowed = {target: value for target, value in child.flowed.items() if target in fields}
        effective = {**spec, **child.flowed}
        reconfigured, child.config = child.config != config, config
        if effective != child.spec:
            child.respecify(effective)
        else:
            child.generation += reconfigured

    def configs(self) -> set[str]:
        """Those that are emitted, or that something still refers to."""
        things = self.things.values()
        return {name for thing in things for name in (thing.emits, thing.config) if name is not None}

    # ---- at rest ----

    def rest(self) -> None:
        """What follows from what is: values flow, gates open and close, composites are synced, what is free goes."""
        self._look(None)
        while free := [thing for thing in self.things.values() if self._may_go(thing)]:
            for thing in free:
                self._remove(thing)
            self._look(None)

    def _look(self, owner: str | None) -> None:
        for thing in self._in_order(
            self.children(owner) if owner else [t for t in self.things.values() if not t.owner]
        ):
            if not thing.deleting:
                self._flow(thing)
            self._look(thing.ref)
            if not thing.deleting:
                thing.gate = self._gate(thing)
            if thing.kind in COMPOSITES and not thing.owes and not self.unsettled(thing):
                thing.synced = max(thing.synced, thing.worked)

    @staticmethod
    def _in_order(things: list[Thing]) -> list[Thing]:
        by_ref = {thing.ref: thing for thing in things}
        order = TopologicalSorter({thing.ref: thing.sources.keys() for thing in things}).static_order()
        return [by_ref[ref] for ref in order if ref in by_ref]

    def _flow(self, thing: Thing) -> None:
        for source, flows in thing.sources.items():
            if flows and source in self.things and self.things[source].value is not None:
                thing.flowed = {**thing.flowed, flows[0][0][1:]: self.things[source].value}
        effective = {**thing.declared, **thing.flowed}
        if effective != thing.spec:
            thing.respecify(effective)

    def _gate(self, thing: Thing) -> int:
        gates = [self._withholds(self.things.get(source), flows) for source, flows in thing.sources.items()]
        return BLOCKED if BLOCKED in gates else max(gates, default=OPEN)

    def _withholds(self, source: Thing | None, flows: list) -> int:
        if source is None or source.deleting:  # it comes again
            return WAITING
        if self.is_synced(source):
            return BLOCKED if flows and source.value is None else OPEN
        stuck = source.frozen_until is not None or source.failed or source.gate == BLOCKED
        return BLOCKED if stuck else WAITING

    def _holders(self, thing: Thing) -> list[str]:
        """What must go before it."""
        dependents = [t for t in self.things.values() if thing.ref in t.sources and t.deleting]
        return [other.ref for other in [*self.children(thing.ref), *dependents]]

    def _may_go(self, thing: Thing) -> bool:
        return thing.deleting and not thing.finalizer and not self._holders(thing) and not self.is_busy(thing.ref)

    def _remove(self, gone: Thing) -> None:
        del self.things[gone.ref]
        if gone.owner and gone.wanted:
            self.things[gone.owner].owes = True

    # ---- what it comes to ----

    def phase(self, thing: Thing) -> str:
        if thing.deleting:
            return "Deleting"
        if thing.quarantined:
            return "Quarantined"
        if thing.failed:
            return "Failed"
        if thing.frozen_until is not None:
            return "Orphaned"
        if not self.is_synced(thing):
            return "Reconciling"
        return "Ready" if thing.healthy and not self.unready(thing) else "Degraded"

    def is_synced(self, thing: Thing) -> bool:
        return thing.synced >= thing.generation and not self.unsettled(thing) and not thing.owes

    def unsettled(self, thing: Thing) -> list[str]:
        """Children whose subtree moves."""
        return [child.ref for child in self._counted(thing) if child.deleting or not self._is_settled(child)]

    def unready(self, thing: Thing) -> list[str]:
        return [child.ref for child in self._counted(thing) if self.phase(child) != "Ready"]

    def _counted(self, thing: Thing) -> Iterator[Thing]:
        return (child for child in self.children(thing.ref) if child.wanted and child.frozen_until is None)

    def _is_settled(self, thing: Thing) -> bool:
        if self.unsettled(thing):
            return False
        done = thing.worked >= thing.generation and not thing.owes
        return thing.failed or thing.gate == BLOCKED or (done and thing.gate == OPEN)
