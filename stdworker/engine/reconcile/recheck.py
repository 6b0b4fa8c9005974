"""After a commit: what its changes mean for owners, dependents and removals.

One consumer at a time evaluates the rows that settles left (decision 12). Dependents come before owners: a
value that flows on unsettles its target before the source's owner counts the source as settled, so that no
composite looks Ready in between.

All resources are locked before one is looked at, and the rows are removed last: whoever changes a resource locks it
first and asks for its recheck then, so the change is either seen or asked for anew, and nobody waits in a circle.
"""

from __future__ import annotations

from stdworker.engine.reconcile import gates, remove, schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import edges
from stdworker.engine.store.rows import Node

BATCH_ROWS = 1_000


def consume(uow: UnitOfWork, rows_max: int = BATCH_ROWS) -> bool:
    """Evaluate one batch; False when there was nothing to do."""
    rows = edges.take_rechecks(uow.db, rows_max)
    if not rows:
        return False
    if rows[0][0] == edges.GATE:
        rows = [row for row in rows if row[0] == edges.GATE]  # the turn of the others is the next
    by_reason: dict[int, list[int]] = {}
    for what, id in rows:
        by_reason.setdefault(what, []).append(id)
    ids = {id for _, id in rows}
    uow.lock(ids.union(edges.around(uow.db, ids)), whole=edges.GATE in by_reason)
    if edges.GATE in by_reason:
        _count_in(uow, gates.evaluate(uow, by_reason[edges.GATE]))
    else:
        _count_in(uow, uow.lock(by_reason.get(edges.SOURCE, ())), sources=True)
        remove.sweep(uow, by_reason.get(edges.REMOVAL, ()))
    uow.rechecked(rows)
    return True


def set_aside(uow: UnitOfWork, why: str) -> bool:
    """Leave out the row that comes first, so that one that can't be evaluated holds up no other; False if none."""
    rows = edges.take_rechecks(uow.db, 1)
    uow.rechecked(rows)
    for node in uow.lock([id for _, id in rows]):
        uow.event(node, "Warning", "RecheckFailed", why)
    return bool(rows)


def _count_in(uow: UnitOfWork, changed: list[Node], *, sources: bool = False) -> None:
    children = [node for node in changed if node.owner_id is not None]
    owners = {node.id: node for node in uow.lock({node.owner_id for node in children if node.owner_id is not None})}
    for child in children:
        owner = owners.get(child.owner_id or 0)
        if owner is None:
            continue
        if state.count_child(owner, child):
            uow.touch(owner)
            uow.touch(child)
        if sources:
            _follow(uow, owner, child)


def _follow(uow: UnitOfWork, owner: Node, child: Node) -> None:
    """A child moved: its owner may have to compose again, or to roll up."""
    kind = uow.kinds.get(owner.pair)
    if kind is None or state.is_deleting(owner) or not child.wanted:
        return
    if (owner.recompose or kind.recomposer is not None) and state.is_settled(child):
        schedule.compose_again(uow, owner)
    if kind.rollup is not None and not owner.unsettled and not state.has_work_failed(owner):
        owner.due |= state.ROLLUP_DUE
        uow.touch(owner)
        uow.request(owner, schedule.DESCENDANTS)
