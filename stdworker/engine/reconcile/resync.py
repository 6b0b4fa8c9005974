"""Running settled resources again by the clock, which finds what has drifted.

The end of a run plans the next one: an interval later and a random part of one more, so that what settled
together doesn't come due together. A kind without an interval plans nothing and costs nothing.
"""

from __future__ import annotations

from stdworker.engine.reconcile import interval, schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import nodes
from stdworker.engine.store.rows import Node

PIECE_RESOURCES = 1_000


def run_due(uow: UnitOfWork) -> None:
    """Queue one piece of what is due. What moves, failed or is frozen is looked at an interval later."""
    ids = nodes.resync_due(uow.db, uow.now_ms, PIECE_RESOURCES)
    due = [node for node in uow.lock(ids) if node.resync_at is not None and node.resync_at <= uow.now_ms]
    for node in due:
        node.resync_at = interval.instant(uow.kinds.get(node.pair), uow.now_ms)
        if state.is_deleting(node):
            node.resync_at = None
        elif node.resync_at is not None and _is_settled(node):
            node.resync_at = None
            uow.request(node, schedule.RESYNC)
    nodes.plan_resync(uow.db, [(node.id, node.resync_at) for node in due])


def _is_settled(node: Node) -> bool:
    return state.is_synced(node) and not state.is_failed(node) and node.frozen_until is None
