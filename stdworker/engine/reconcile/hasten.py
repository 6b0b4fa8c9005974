"""Tasks that were queued by a clock which was ahead: here they would wait until that instant comes.

Nothing asks for a task to wait longer than the longest retry. Who finds one that does takes it for due.
"""

from __future__ import annotations

from stdworker.engine.reconcile.positions import until
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, tasks
from stdworker.engine.store.contract import Connection

AHEAD_SECONDS_MIN = 600.0  # clocks of several machines may differ, and so may their RETRY_CAP
PIECE_TASKS = 1_000


def is_due(db: Connection, now_ms: int, retry_cap_seconds: float) -> bool:
    """Is any task that far off?"""
    return tasks.next_position(db, catalog.pairs(db), _last(now_ms, retry_cap_seconds)) is not None


def hasten(uow: UnitOfWork) -> int:
    """Let one piece of them run now; says how many."""
    after, found = _last(uow.now_ms, uow.options.retry_cap_seconds), 0
    for pair in catalog.pairs(uow.db):
        waiting, _ = tasks.free(uow.db, tasks.later(uow.db, pair, after, PIECE_TASKS))
        if waiting:
            tasks.put_at(uow.db, waiting, uow.position())
            uow.hint("work", pair)
            found += len(waiting)
    return found


def _last(now_ms: int, retry_cap_seconds: float) -> int:
    return until(now_ms + int(max(2 * retry_cap_seconds, AHEAD_SECONDS_MIN) * 1000))
