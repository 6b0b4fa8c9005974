"""Why a resource is not Ready, in plain words, each reason with what to do about it.

Everything is read from the store at one look: what the engine decided, what is queued and leased, and what the
brokers report of their workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from stdworker.engine.reconcile import conditions, gates, present, state
from stdworker.engine.reconcile.availability import why_untaken
from stdworker.engine.reconcile.effective import EffectiveConfig, effective
from stdworker.engine.reconcile.positions import POSITIONS_PER_MS
from stdworker.engine.reconcile.reasons import Reason
from stdworker.engine.reconcile.texts import progress
from stdworker.engine.store import edges, events, lists, nodes, operations, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.lists import Seen
from stdworker.engine.store.records import ResourceRecord
from stdworker.engine.store.rows import DELETE, OPERATE, RECONCILE, Node, TaskRow, task_id, task_ids
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.model.json_text import RawJson
from stdworker.model.kind import Stage
from stdworker.model.pointer import find
from stdworker.model.resource import Ref

REASONS_MAX = 20
NAMED_MAX = 5

_CALLED: dict[str | None, str] = {Stage.COMPOSE: "composition", Stage.DELETE: "teardown"}


@dataclass(frozen=True, slots=True)
class Look:
    """A resource as it is at one instant, with its queue rows by task type."""

    db: Connection
    seen: Seen
    tasks: dict[int, TaskRow]
    now_ms: int

    @property
    def node(self) -> Node:
        return self.seen.node

    @property
    def ref(self) -> Ref:
        return self.seen.node.ref

    def task(self, task_type: int) -> TaskRow | None:
        return self.tasks.get(task_id(self.node.id, task_type))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A resource, why it is not Ready (nothing if it is), and its config."""

    resource: ResourceRecord
    reasons: list[Reason]
    config: EffectiveConfig


def explain(db: Connection, ref: Ref, now_ms: int) -> Explanation:
    """Raises NotFound."""
    seen = present.existing(db, ref)
    rows = {row.id: row for row in tasks.read(db, task_ids(seen.node.id))}
    record = present.record(db, seen)
    reasons = [] if record.is_ready else why_not_ready(Look(db, seen, rows, now_ms))
    return Explanation(record, reasons, effective(db, seen.node.pair, seen.node.provider_config))


def why_not_ready(look: Look) -> list[Reason]:
    """What stands in the way, what weighs most first; at least one reason, at most `REASONS_MAX`."""
    found = list(islice(_deleting(look) if state.is_deleting(look.node) else _living(look), REASONS_MAX))
    return found or [Reason("settling", "the engine is about to look at what has just changed around it")]


def _living(look: Look) -> Iterator[Reason]:
    node = look.node
    if node.frozen_until is not None:
        yield _frozen(look)
    if state.is_stopped(node):
        yield from _stopped(look)
    elif state.is_failed(node):
        yield _failing(look)
    elif node.gate != state.OPEN and node.frozen_until is None:
        yield from _gated(look)
    yield from _work(look, RECONCILE)
    yield from _children(look)
    if state.is_synced(node) and not node.health_ok:
        yield _unhealthy(look)


# ---- frozen, failed, unhealthy ----


def _frozen(look: Look) -> Reason:
    node, owner = look.node, look.seen.owner
    if node.frozen_until != FOREVER_MS:
        told = f"{owner} doesn't want it any more; it is deleted unless it is wanted again before"
        return Reason("orphaned", told, f"see what is composed: conctl get {owner}", owner, until_ms=node.frozen_until)
    waits = f", and generation {node.generation} waits for that" if node.synced_gen < node.generation else ""
    frozen = [event for event in events.of_type(look.db, "Quarantined", [look.ref]) if event.uid == node.uid]
    by, since = (f" by {frozen[-1].actor}", frozen[-1].created_at) if frozen else ("", None)
    told = f"it is quarantined{by}: nothing of it runs until someone releases it{waits}"
    return Reason("quarantined", told, f"conctl unquarantine {look.ref}", since_ms=since)


def _stopped(look: Look) -> Iterator[Reason]:
    node = look.node
    subjects = nodes.waits_of(look.db, node.id)
    attempts = f" (after {node.failure_attempts} attempts)" if node.failure_attempts > 1 else ""
    hint = "" if subjects else f"change its spec or its config, or run it again: conctl reconcile {look.ref}"
    told = f"it failed and is not tried again{attempts}: {node.failure_message}"
    yield Reason("failed", told, hint)
    for subject in subjects:
        what, _, name = subject.partition(":")
        if what == "kind":
            yield Reason("waits_for_kind", f"it runs again once {name} is published", "conctl apply -f its manifest")
        else:
            told = f"it runs again once {name}, which is not its own, is gone"
            yield Reason("waits_for_name", told, f"delete {name}, or name the child otherwise", Ref.parse(name))


def _failing(look: Look) -> Reason:
    told = f"attempt {look.node.failure_attempts} failed: {look.node.failure_message}"
    hint = f"it is tried again by itself; at once: conctl reconcile {look.ref}"
    return Reason("retrying", told, hint, until_ms=_due(look, look.task(RECONCILE)))


def _due(look: Look, row: TaskRow | None) -> int | None:
    """When the task may run, if that is yet to come."""
    if row is None or row.claimed_by is not None or look.node.frozen_until is not None:
        return None
    due_ms = row.position // POSITIONS_PER_MS
    return due_ms if due_ms > look.now_ms else None


def _unhealthy(look: Look) -> Reason:
    own = next((c for c in conditions.read(look.node.conditions) if c.type == "Ready"), None)
    why = ": ".join(filter(None, (own.reason, own.message))) if own else ""
    told = f"its last run succeeded and says that it is not Ready{f': {why}' if why else ''}"
    return Reason("unhealthy", told, f"once that is mended: conctl reconcile {look.ref}")


# ---- what it depends on ----


def _gated(look: Look) -> Iterator[Reason]:
    incoming = edges.of_dependents(look.db, [look.node.id])
    sources = {seen.node.id: seen.node for seen in lists.get_many(look.db, [edge.dependency_id for edge in incoming])}
    for edge in incoming:
        if (source := sources.get(edge.dependency_id)) is None:
            yield _removed(look.seen.owner)
            continue
        if not state.is_synced(source) or state.is_deleting(source):
            told = f"it waits for {source.ref}, which {gates.why_unsynced(source)}"
            yield Reason("waits_for_dependency", told, f"conctl explain {source.ref}", source.ref)
            continue
        status = RawJson((source.status or "null").encode())
        for field, pointer in gates.flows_of(edge.flows):
            value = find(status, pointer)
            if value is None or value == b"null":
                yield _missing(source.ref, pointer, field, "isn't there" if value is None else "is null")


def _removed(owner: Ref | None) -> Reason:
    told = f"it waits for a dependency that is gone, which {owner} has to make again or want no more"
    return Reason("waits_for_dependency", told, f"conctl explain {owner}", owner)


def _missing(source: Ref, pointer: str, field: str, how: str) -> Reason:
    told = f"it waits for the value at {pointer} of the status of {source}, which {how}; it flows to {field}"
    return Reason("waits_for_value", told, f"{source} has to report it: conctl get {source} -o yaml", source)


# ---- what runs, and what waits for a worker ----


def _work(look: Look, task_type: int) -> Iterator[Reason]:
    """What of the resource runs; if nothing does, why nobody has taken what may."""
    running = [row for row in look.tasks.values() if row.claimed_by is not None]
    for row in running:
        yield _running(look, row)
    waiting = look.task(task_type)
    if waiting is not None and not running and not waiting.held and _due(look, waiting) is None:
        yield from why_untaken(look.db, waiting, look.now_ms)


def _running(look: Look, row: TaskRow) -> Reason:
    what = f"the operation {_verb(look)}" if row.task_type == OPERATE else f"its {_CALLED.get(row.stage, row.stage)}"
    if row.superseded is not None:
        told = f"{what} on {row.worker} is told to stop, because {row.superseded}"
        return Reason("stopping", told, since_ms=row.claimed_at)
    said = progress(row.progress, row.progress_message)
    return Reason("running", f"{what} runs on {row.worker}{f' ({said})' if said else ''}", since_ms=row.claimed_at)


def _verb(look: Look) -> str:
    opened = operations.opened(look.db, [look.node.id]).get(look.node.id, [])
    return opened[0].verb if opened else ""


# ---- what it owns ----


def _children(look: Look) -> Iterator[Reason]:
    node = look.node
    if not node.unready and not node.unsettled:
        return
    named = 0
    for culprit in present.find_culprits(look.db, node):
        ref = Ref(culprit.kind, culprit.name)
        yield Reason("child_not_ready", present.reason(culprit), f"conctl explain {ref}", ref)
        named += 1
    if node.unready > named:
        told = f"{node.unready} of its children are not Ready"
        yield Reason("children_not_ready", told, f"conctl tree {look.ref}")


# ---- deletion ----


def _deleting(look: Look) -> Iterator[Reason]:
    since = look.node.deletion_requested_at
    for child in lists.children_of(look.db, look.node.id, NAMED_MAX):
        told = f"its deletion waits until {child}, which it owns, is gone"
        yield Reason("deletion_waits", told, f"conctl explain {child}", child, since_ms=since)
    for dependent in lists.deleting_dependents_of(look.db, look.node.id, NAMED_MAX):
        told = f"its deletion waits until {dependent}, which depends on it, is gone"
        yield Reason("deletion_waits", told, f"conctl explain {dependent}", dependent, since_ms=since)
    if state.is_failed(look.node):
        told = f"attempt {look.node.failure_attempts} of its teardown failed: {look.node.failure_message}"
        hint = f"it is tried again for ever; without teardown: conctl delete {look.ref} --force"
        yield Reason("teardown_failed", told, hint, since_ms=since, until_ms=_due(look, look.task(DELETE)))
    yield from _work(look, DELETE)
