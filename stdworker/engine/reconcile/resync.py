"""Running settled resources again by the clock, which finds what has drifted.

The last stage of a run plans the next one: an interval later and a random part of one more, so that what
settled together doesn't come due together. A kind without an interval plans nothing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from random import random

from stdworker.engine.reconcile import schedule, state
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import nodes
from stdworker.engine.store.contract import Connection

PIECE_RESOURCES = 1_000
JITTER = 0.25  # of the interval


def instant(kind: Kind | None, now_ms: int, *, draw: Callable[[], float] = random) -> int | None:
    """When a resource that has run now is due again."""
    seconds = kind.resync_seconds if kind else 0
    return now_ms + int(seconds * 1000 * (1 + JITTER * draw())) if seconds else None


def spread(kind: Kind | None, now_ms: int, *, draw: Callable[[], float] = random) -> int | None:
    """When a resource is due whose kind has just got another interval: any time within it."""
    seconds = kind.resync_seconds if kind else 0
    return now_ms + int(seconds * 1000 * draw()) if seconds else None


def is_due(db: Connection, now_ms: int) -> bool:
    return bool(nodes.resync_due(db, now_ms, 1))


def run_due(uow: UnitOfWork) -> None:
    """Queue one piece of what is due.

    Engines take turns. What moves or is frozen is looked at an interval later, a failed resource once it has
    succeeded.
    """
    uow.db.lock_rechecks()
    ids = nodes.resync_due(uow.db, uow.now_ms, PIECE_RESOURCES)
    due = [node for node in uow.lock(ids) if node.resync_at is not None and node.resync_at <= uow.now_ms]
    for node in due:
        kind = uow.kinds.get(node.pair)
        node.resync_at = instant(kind, uow.now_ms)
        if state.is_failed(node) or state.is_deleting(node):
            node.resync_at = None
        elif node.resync_at is not None and node.frozen_until is None and state.is_synced(node):
            node.resync_at = None
            uow.request(node, schedule.RESYNC)
    nodes.plan_resync(uow.db, [(node.id, node.resync_at) for node in due])
