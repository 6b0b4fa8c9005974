"""Resources as the API shows them."""

from __future__ import annotations

import json

import orjson

from stdworker.engine.reconcile import conditions, state
from stdworker.engine.reconcile.positions import POSITIONS_PER_MS
from stdworker.engine.store import lists
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.documents import from_text
from stdworker.engine.store.lists import Culprit, Seen
from stdworker.engine.store.records import ResourceRecord, WorkRecord
from stdworker.engine.store.rows import TASK_TYPE_NAMES, Node, TaskRow
from stdworker.errors import NotFound
from stdworker.model.kind import Phase
from stdworker.model.resource import Ref

CULPRITS_NAMED_MAX = 5
CULPRITS_READ_MAX = 200


def existing(db: Connection, ref: Ref) -> Seen:
    """Raises NotFound."""
    seen = lists.get(db, ref)
    if seen is None:
        raise NotFound(f"there is no resource {ref}")
    return seen


def record(db: Connection, seen: Seen) -> ResourceRecord:
    """A resource as the API shows it."""
    node = seen.node
    phase = state.phase(node)
    failed = state.is_failed(node)
    return ResourceRecord(
        node.uid,
        node.kind,
        node.kind_version,
        node.name,
        seen.owner,
        seen.root,
        from_text(node.spec),
        from_text(node.status),
        {} if node.labels == "{}" else orjson.loads(node.labels),
        node.provider_config,
        node.generation,
        node.synced_gen,
        state.is_healthy(node),
        phase,
        phase is Phase.READY,
        [] if node.finalizers == "[]" else json.loads(node.finalizers),
        node.failure_message if failed else "",
        node.failure_reason if failed else "",
        bool(node.failure_terminal) and failed,
        node.failure_attempts if failed else 0,
        _next_attempt(node, seen.task),
        conditions.shown(node, culprits(db, node) if _needs_culprits(node) else ""),
        node.created_at,
        node.updated_at,
        _work(seen.task) if seen.task is not None else None,
    )


def culprits(db: Connection, node: Node) -> str:
    """Who keeps a composite from being Ready, as a condition tells it."""
    return "; ".join(map(reason, find_culprits(db, node)))


def find_culprits(db: Connection, node: Node) -> list[Culprit]:
    """Who keeps a composite from being Ready: first the descendants unready for their own reason, then the
    composites that are unready because of them."""
    own: list[Culprit] = []
    others: list[Culprit] = []
    level, read = [node.id], 0
    while level and read < CULPRITS_READ_MAX and len(own) < CULPRITS_NAMED_MAX:
        found = lists.culprits(db, level, CULPRITS_READ_MAX - read)
        read += len(found)
        own += [culprit for culprit in found if _is_own(culprit)]
        others += [culprit for culprit in found if not _is_own(culprit)]
        level = [culprit.id for culprit in found if culprit.unready]
    return (own + others)[:CULPRITS_NAMED_MAX]


def _needs_culprits(node: Node) -> bool:
    return bool(node.unready) and bool(node.health_ok) and state.is_synced(node) and not state.is_failed(node)


def _is_own(culprit: Culprit) -> bool:
    return culprit.failed or not culprit.health_ok or not culprit.unready


def reason(culprit: Culprit) -> str:
    """Who it is and what is wrong with it."""
    if not _is_own(culprit):
        return f"{culprit.kind}/{culprit.name}: its children are not ready"
    ready = next((c for c in conditions.read(culprit.conditions) if c.type == "Ready"), None)
    if culprit.failed:
        why = culprit.failure_message
    elif not culprit.health_ok and ready is not None:
        why = ready.message or ready.reason
    else:
        why = culprit.gate_message
    return f"{culprit.kind}/{culprit.name}: {why or culprit.phase}"


def _next_attempt(node: Node, task: TaskRow | None) -> int | None:
    waiting = task is not None and task.claimed_by is None and state.is_failed(node) and node.frozen_until is None
    return task.position // POSITIONS_PER_MS if waiting and task is not None else None


def _work(task: TaskRow) -> WorkRecord:
    return WorkRecord(
        TASK_TYPE_NAMES[task.task_type],
        task.claimed_by,
        task.worker,
        task.attempts + 1,
        task.position // POSITIONS_PER_MS,
        task.heartbeat_at,
        task.progress,
        task.progress_message,
    )
