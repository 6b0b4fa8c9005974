"""Removal of what is marked for deletion: dependents first, the root last, each after its own teardown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stdworker.engine.reconcile import changes, crossings, schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, edges, nodes
from stdworker.engine.store.rows import Node
from stdworker.model.kind import Phase, Transition


def sweep(uow: UnitOfWork, ids: Collection[int]) -> None:
    """Remove those of the resources that nothing holds any more; start the teardown of those with finalizers."""
    free = uow.lock(nodes.unblocked(uow.db, ids))
    uow.lock_tasks([node.id for node in free])
    gone = []
    for node in free:
        if node.finalizers != "[]" and _has_teardown(uow, node):
            uow.request(node, schedule.REMOVAL)
        elif schedule.is_idle(uow, node.id):
            gone.append(node)
    if gone:
        _remove(uow, gone)


def _has_teardown(uow: UnitOfWork, node: Node) -> bool:
    """A kind that was published again without one has nothing left that could strip the finalizer."""
    kind = uow.kinds.get(node.pair)
    return kind is not None and kind.deleter is not None


def _remove(uow: UnitOfWork, gone: Sequence[Node]) -> None:
    ids = [node.id for node in gone]
    for edge in edges.of_dependents(uow.db, ids):
        uow.recheck(edges.REMOVAL, edge.dependency_id)
    owners = {node.id: node for node in uow.lock({node.owner_id for node in gone if node.owner_id is not None})}
    uow.lock(ids, whole=True)
    for node in gone:
        uow.cross(node, Transition.DELETED)
        uow.event(node, "Deleted", **changes.tombstone(node, owners.get(node.owner_id or 0)))
        owner = owners.get(node.owner_id or 0)
        if owner is not None:
            _tell_owner(uow, owner, node)
    schedule.run_waiting(uow, [f"name:{node.ref}" for node in gone])
    crossings.send(uow)
    for node in gone:
        uow.refer(node, None)
    uow.closing.configs.update(catalog.forsake_configs(uow.db, ids))
    nodes.remove(uow.db, ids)
    for node in gone:
        uow.closing.counts[node.kind, Phase.DELETING] -= 1
    uow.forget(gone)


def _tell_owner(uow: UnitOfWork, owner: Node, child: Node) -> None:
    owner.unsettled -= child.counted_unsettled
    owner.unready -= child.counted_unready
    uow.touch(owner)
    if state.is_deleting(owner):
        uow.recheck(edges.REMOVAL, owner.id)
    elif child.wanted:
        schedule.compose_again(uow, owner)
