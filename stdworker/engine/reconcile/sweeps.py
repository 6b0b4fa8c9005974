"""Queueing many resources again, or planning when they are, a bounded piece at a time."""

from __future__ import annotations

from stdworker.engine.reconcile import gates, interval, schedule, state
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
    what, _, name = subject.partition(":")
    ids = _piece(uow, what, name, after)
    if what == "resync":
        kind = uow.kinds.get(KindVersion.parse(name))
        nodes.plan_resync(uow.db, [(id, interval.spread(kind, uow.now_ms)) for id in ids])
    else:
        _run_again(uow, ids)
    catalog.move_sweep(uow.db, subject, after, ids[-1] if len(ids) == PIECE_RESOURCES else None)
    return True


def _run_again(uow: UnitOfWork, ids: list[int]) -> None:
    for node in uow.lock(ids):
        if state.is_deleting(node):
            uow.recheck(edges.REMOVAL, node.id)
        else:
            uow.request(node, schedule.CONFIG)
            gates.look_again(uow, node)


def _piece(uow: UnitOfWork, what: str, name: str, after: int) -> list[int]:
    if what == "config":
        return nodes.on_config(uow.db, name, after, PIECE_RESOURCES)
    pair = KindVersion.parse(name)
    return nodes.of_pair(uow.db, pair.kind, pair.version, after, PIECE_RESOURCES)
