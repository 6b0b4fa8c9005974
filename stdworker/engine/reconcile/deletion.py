"""Asking for deletion: of a resource, and of all that can't go on without it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from stdworker.engine.reconcile import operate, schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import edges, nodes
from stdworker.engine.store.declarations import Doomed
from stdworker.engine.store.rows import DELETE, RECONCILE, Node, task_id

DEPENDENTS_NAMED_MAX = 5


def mark(uow: UnitOfWork, target_id: int, *, force: bool = False) -> list[Node]:
    """Request the deletion of a resource, of what it owns and of what depends on any of these: all that it answers."""
    ids: list[int] = []
    while (found := _doomed(uow, target_id)) != ids:
        ids = found
        uow.lock(ids)  # until then others may add to it
    uow.lock_tasks(ids)
    doomed = uow.lock(ids)
    for node in doomed:
        if not state.is_deleting(node):
            _mark(uow, node)
            if node.id == target_id and not force:
                uow.audit(node, "DeleteRequested")
            else:
                uow.event(node, "DeleteRequested")
        if force and node.finalizers != "[]":
            _skip_teardown(uow, node)
        uow.recheck(edges.REMOVAL, node.id)
    return doomed


def _doomed(uow: UnitOfWork, target_id: int) -> list[int]:
    """What goes with the target, also what a result has just had made beside it, which the store doesn't know yet."""
    ids = set(nodes.deletion_set(uow.db, target_id))
    return sorted(ids.union(node.id for node in uow.pending.fresh.values() if node.owner_id in ids))


def beside(target_id: int, doomed: Sequence[Node]) -> Doomed:
    """What is doomed beside the target; an owner is older than what it owns, so it comes first."""
    owned, dependents = {target_id}, []
    for node in doomed:
        if node.owner_id in owned:
            owned.add(node.id)
        elif node.id != target_id:
            dependents.append(node.ref)
    return Doomed(len(owned) - 1, len(dependents), dependents[:DEPENDENTS_NAMED_MAX])


def _mark(uow: UnitOfWork, node: Node) -> None:
    kind = uow.kinds.get(node.pair)
    node.deletion_requested_at, node.frozen_until = uow.now_ms, None
    node.finalizers = json.dumps(kind.finalizers if kind else [])
    state.succeed(node)  # from now on its failures are those of its teardown
    uow.touch(node)
    operate.cancel(uow, node)
    row = uow.tasks.get(task_id(node.id, RECONCILE))
    if row is None:
        return
    if row.claimed_by is None:
        uow.remove_task(row)
    elif row.superseded is None:
        schedule.supersede(uow, row, "the resource is being deleted")
        uow.save_task(row)


def _skip_teardown(uow: UnitOfWork, node: Node) -> None:
    uow.event(node, "TeardownSkipped", message=f"forced, without {', '.join(json.loads(node.finalizers))}")
    node.finalizers = "[]"
    uow.touch(node)
    row = uow.tasks.get(task_id(node.id, DELETE))
    if row is not None and row.claimed_by is not None:
        schedule.supersede(uow, row, "the deletion is forced")
        uow.save_task(row)
