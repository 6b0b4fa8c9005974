"""Queueing many resources again, a bounded piece at a time."""

from __future__ import annotations

from stdworker.engine.reconcile import schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, edges, nodes
from stdworker.model.kind import KindVersion

PIECE_RESOURCES = 500


def advance(uow: UnitOfWork) -> bool:
    """One piece of one sweep; False when there is none."""
    sweep = catalog.next_sweep(uow.db)
    if sweep is None:
        return False
    subject, after = sweep
    ids = _piece(uow, subject, after)
    for node in uow.lock(ids):
        if state.is_deleting(node):
            uow.recheck(edges.REMOVAL, node.id)
        else:
            uow.request(node, schedule.CONFIG)
    catalog.move_sweep(uow.db, subject, ids[-1] if len(ids) == PIECE_RESOURCES else None)
    return True


def _piece(uow: UnitOfWork, subject: str, after: int) -> list[int]:
    what, _, name = subject.partition(":")
    if what == "config":
        return nodes.on_config(uow.db, name, after, PIECE_RESOURCES)
    pair = KindVersion.parse(name)
    return nodes.of_pair(uow.db, pair.kind, pair.version, after, PIECE_RESOURCES)
