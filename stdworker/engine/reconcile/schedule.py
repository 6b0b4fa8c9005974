"""What runs next, and what a request to run does to a resource's place in the queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from stdworker.engine.reconcile import interval, state
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import edges, nodes
from stdworker.engine.store.rows import DELETE, OPERATE, RECONCILE, Node, TaskRow, task_id, task_ids
from stdworker.model.kind import Stage

# Why a resource runs; a queue row carries any number of them (decision 9).
SPEC, CONFIG, RESYNC, DESCENDANTS, RECONCILED, CHILDREN, REMOVAL = 1, 2, 4, 8, 16, 32, 64
_FROM_BELOW = DESCENDANTS | CHILDREN

FROZEN = "the resource is frozen"
NO_CHILDREN = "NoChildren"

# `done`: stages of a run that succeeded.
COMPOSED, WORKED, ROLLED = 1, 2, 4
DONE = {Stage.COMPOSE: COMPOSED, Stage.WORK: WORKED, Stage.ROLLUP: ROLLED}


class Standing(Protocol):
    """What the choice of a stage looks at."""

    @property
    def generation(self) -> int: ...
    @property
    def composed_gen(self) -> int: ...
    @property
    def due(self) -> int: ...
    @property
    def unsettled(self) -> int: ...


def is_from_below(reasons: int) -> bool:
    """Was a run asked for by descendants alone?"""
    return not reasons & ~_FROM_BELOW


def is_resync(reasons: int) -> bool:
    """Did nobody but the clock ask for a run? Descendants that moved meanwhile are summed up by it all the same."""
    return reasons & ~_FROM_BELOW == RESYNC


def next_stage(kind: Kind, node: Standing, reasons: int, done: int) -> Stage | None:
    """The stage that a run comes to next: compose, work, rollup; None at its end.

    A child that moves after the run has composed has it compose again before it goes on.
    """
    if (not done & COMPOSED or node.due & state.COMPOSE_DUE) and _composes(kind, node, reasons):
        return Stage.COMPOSE
    if not done & WORKED and _works(kind, reasons):
        return Stage.WORK
    if kind.rollup and not done & ROLLED and not node.unsettled:
        return Stage.ROLLUP
    return None


def _composes(kind: Kind, node: Standing, reasons: int) -> bool:
    if reasons & RESYNC and kind.composes_at_resync:
        return True
    if not kind.composes:
        return False
    is_owed = node.composed_gen < node.generation or bool(node.due & state.COMPOSE_DUE)
    return is_owed or (kind.worker is None and bool(reasons & CONFIG))


def _works(kind: Kind, reasons: int) -> bool:
    if is_from_below(reasons):
        return False
    return kind.works_at_resync if is_resync(reasons) else kind.worker is not None


def resolve(uow: UnitOfWork) -> None:
    """Turn the requests to run into queue rows."""
    requests = uow.pending.requests
    uow.lock_tasks([id for id in requests if not uow.is_new(id)])
    for id, reasons in requests.items():
        node = uow.nodes[id]
        if state.is_deleting(node):
            if reasons & REMOVAL:
                _queue_removal(uow, node)
        else:
            _queue_reconcile(uow, node, reasons & ~REMOVAL)
            _bring_operation_up_to_date(uow, node)


def _queue_reconcile(uow: UnitOfWork, node: Node, reasons: int) -> None:
    if reasons == SPEC and (node.worked_gen >= node.generation or state.is_stopped(node)):
        reasons = 0
    row = uow.tasks.get(task_id(node.id, RECONCILE))
    held = not state.may_run(node) or _is_leased(uow, node, OPERATE)
    if row is None:
        if reasons:
            _enqueue(uow, node, reasons, held=held)
        return
    if row.claimed_by is not None:
        _ask_again(uow, node, row, reasons)
    else:
        if reasons & ~row.reasons & ~_FROM_BELOW or row.kind_version != node.kind_version or reasons & SPEC:
            row.position = uow.position()
        if reasons & SPEC:
            row.done, row.emitted = 0, "[]"
        row.reasons |= reasons
        row.kind_version, row.held = node.kind_version, held
    uow.save_task(row)


def _enqueue(uow: UnitOfWork, node: Node, reasons: int, *, held: bool) -> None:
    kind = uow.kinds.get(node.pair)
    if kind is not None and kind.composes and node.composed_gen < node.generation:
        reasons |= SPEC  # the run that stopped before it had composed goes on as a whole
    if kind is not None and next_stage(kind, node, reasons, 0) is None:
        complete(uow, node, kind, reasons, 0, node.generation)
        uow.touch(node)
        return
    id = task_id(node.id, RECONCILE)
    uow.save_task(TaskRow(id, node.id, node.kind, node.kind_version, uow.position(), held=held, reasons=reasons))


def _ask_again(uow: UnitOfWork, node: Node, row: TaskRow, reasons: int) -> None:
    if reasons:
        row.again |= reasons
        row.seq += 1
    if row.superseded is not None:
        return
    if row.generation != node.generation:
        supersede(uow, row, f"generation {node.generation} replaced generation {row.generation}")
    elif node.frozen_until is not None:
        supersede(uow, row, FROZEN)


def supersede(uow: UnitOfWork, row: TaskRow, why: str) -> None:
    """The leased task's result no longer counts in full; its worker is told to stop."""
    row.superseded = why
    uow.hint("voided", row.pair)


def _queue_removal(uow: UnitOfWork, node: Node) -> None:
    """A teardown waits until no other task of the resource is leased (decision 11)."""
    id = task_id(node.id, DELETE)
    row = uow.tasks.get(id) or TaskRow(id, node.id, node.kind, node.kind_version, uow.position())
    if row.claimed_by is None:
        row.position = uow.position()
        row.reasons, row.held = REMOVAL, _is_leased(uow, node, RECONCILE) or _is_leased(uow, node, OPERATE)
    else:
        row.again = REMOVAL
    uow.save_task(row)


def _bring_operation_up_to_date(uow: UnitOfWork, node: Node) -> None:
    """Operations run at the version at which their resource is, and not while it is frozen."""
    row = uow.tasks.get(task_id(node.id, OPERATE))
    if row is None:
        return
    frozen = node.frozen_until is not None
    if row.claimed_by is None and (row.kind_version, row.held) != (node.kind_version, frozen):
        row.kind_version, row.held = node.kind_version, frozen
        uow.save_task(row)
    elif row.claimed_by is not None and frozen and row.superseded is None:
        supersede(uow, row, FROZEN)
        uow.save_task(row)


def _is_leased(uow: UnitOfWork, node: Node, task_type: int) -> bool:
    row = uow.tasks.get(task_id(node.id, task_type))
    return row is not None and row.claimed_by is not None


def release_teardown(uow: UnitOfWork, node: Node) -> None:
    """A task is out of the way of the resource's removal."""
    if state.is_deleting(node):
        uow.recheck(edges.REMOVAL, node.id)


def complete(uow: UnitOfWork, node: Node, kind: Kind, reasons: int, done: int, generation: int) -> None:
    """All stages that a run had to go through succeeded; `generation` is what it saw.

    What descendants asked for makes up for no work that failed for good.
    """
    if kind.worker is None or not is_from_below(reasons):
        node.worked_gen = max(node.worked_gen, generation)
    if node.worked_gen >= node.generation == generation:
        state.succeed(node)
    if not kind.composes:
        node.due &= ~state.COMPOSE_DUE
    if kind.rollup is None or done & ROLLED:
        node.due &= ~state.ROLLUP_DUE
    elif node.unsettled:
        node.due |= state.ROLLUP_DUE
    if not is_from_below(reasons):
        node.resync_at = interval.instant(kind, uow.now_ms)
    state.fold(node)


def compose_again(uow: UnitOfWork, owner: Node) -> None:
    """What the owner composed holds no more: its composer is asked anew, at the same generation."""
    owner.due |= state.COMPOSE_DUE
    uow.touch(owner)
    uow.request(owner, CHILDREN)


def relabelled(uow: UnitOfWork, node: Node) -> None:
    """A composite that stopped because it would lose all its children may have the label now that lets them go."""
    if state.is_stopped(node) and node.failure_reason == NO_CHILDREN:
        uow.request(node, CONFIG | CHILDREN)


def is_idle(uow: UnitOfWork, resource_id: int) -> bool:
    """Has the resource no leased task?"""
    rows = map(uow.tasks.get, task_ids(resource_id))
    return not any(row is not None and row.claimed_by is not None for row in rows)


def run_waiting(uow: UnitOfWork, subjects: Iterable[str]) -> None:
    """What some resources stopped for has come: each gets one more run."""
    for node in uow.lock(nodes.stop_waiting(uow.db, list(subjects))):
        if state.is_stopped(node):
            uow.request(node, CONFIG | CHILDREN)
