"""Children that their composer wants no more.

Its kind version's grace freezes a dropped child for a while: whoever emits it again in time has it back as it
was. Without a grace, and when it is over, it is deleted.
"""

from __future__ import annotations

from stdworker.engine.reconcile import deletion, schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import nodes
from stdworker.engine.store.rows import Node

PIECE_ORPHANS = 100  # each may bring a subtree down with it


def drop(uow: UnitOfWork, owner: Node, node: Node) -> None:
    """The composer wants the child no more; from now on it doesn't count for its owner."""
    node.wanted = False
    uow.touch(node)
    kind = uow.kinds.get(node.pair)
    grace_seconds = kind.policy.orphan_grace_seconds if kind else 0
    if grace_seconds and not state.is_deleting(node):
        node.frozen_until = uow.now_ms + grace_seconds * 1000
        uow.event(node, "Orphaned", message=f"it is deleted in {grace_seconds} s unless {owner.ref} emits it again")
        uow.request(node, 0)
    else:
        deletion.mark(uow, node.id)
    state.count_child(owner, node)


def adopt(uow: UnitOfWork, node: Node) -> None:
    """The composer wants the child after all: what was held back while it was frozen may run."""
    node.wanted = True
    uow.touch(node)
    if node.frozen_until is not None:
        node.frozen_until = None
        uow.event(node, "Adopted")
        uow.request(node, schedule.SPEC)


def expire(uow: UnitOfWork) -> None:
    """Delete one piece of the orphans whose grace is over and whom nobody has adopted meanwhile."""
    for node in uow.lock(nodes.thawed(uow.db, uow.now_ms, PIECE_ORPHANS)):
        if node.frozen_until is not None and node.frozen_until <= uow.now_ms and not node.wanted:
            uow.event(node, "OrphanExpired")
            deletion.mark(uow, node.id)
