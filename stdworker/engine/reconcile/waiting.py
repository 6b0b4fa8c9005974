"""Deliveries that no reactor has taken yet: how many there are for a binding, and why the first one waits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from stdworker.engine.reconcile.availability import why_untaken
from stdworker.engine.reconcile.positions import POSITIONS_PER_MS
from stdworker.engine.reconcile.reasons import Reason
from stdworker.engine.store import reactors, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.reactors import Untaken
from stdworker.engine.store.rows import REACT, TaskRow, task_id

COUNTED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many deliveries of a reactor binding wait or run, counted to a bound, and why the first one does."""

    deliveries: int
    reason: Reason


def waiting(db: Connection, bindings: Collection[str], now_ms: int) -> dict[str, Waiting]:
    """Those of the bindings, by name, for which something waits or runs."""
    found = [untaken for untaken in reactors.untaken(db, COUNTED_MAX) if untaken.binding in bindings]
    rows = {row.resource_id: row for row in tasks.read(db, [task_id(untaken.first, REACT) for untaken in found])}
    return {
        untaken.binding: Waiting(untaken.deliveries, _why(db, untaken, row, now_ms))
        for untaken in found
        if (row := rows.get(untaken.first)) is not None
    }


def _why(db: Connection, untaken: Untaken, row: TaskRow, now_ms: int) -> Reason:
    if row.claimed_by is not None:
        return Reason("running", f"the reactor runs on {row.worker}", about=untaken.ref, since_ms=row.claimed_at)
    due_ms = row.position // POSITIONS_PER_MS
    if due_ms > now_ms:
        told = f"attempt {row.attempts} failed; it is tried again by itself"
        return Reason("retrying", told, f"conctl events {untaken.ref}", untaken.ref, untaken.created_at, due_ms)
    [reason] = why_untaken(db, row, now_ms)
    return replace(reason, about=untaken.ref, since_ms=untaken.created_at)
