"""Crossings: transitions in the lives of resources, on their way to the reactors that watch them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from stdworker.engine.reconcile.kinds import Binding
from stdworker.engine.reconcile.pending import Crossing
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import reactors
from stdworker.engine.store.rows import REACT, Node, TaskRow, task_id
from stdworker.model.kind import Phase, Transition

_INTO = {Phase.DEGRADED: Transition.DEGRADED, Phase.FAILED: Transition.FAILED}
_NONE: tuple[Transition, ...] = ()


def between(node: Node, phase_before: Phase | None, phase: Phase, synced_before: int) -> Sequence[Transition]:
    """What a resource crossed since it was in another phase; before it was made it had none.

    Synced is each generation once, whatever its health, but for one that is already deleted; Degraded and Failed
    are crossed whenever the phase is entered.
    """
    if phase is phase_before and node.synced_gen == synced_before:
        return _NONE
    found = [Transition.CREATED] if phase_before is None else []
    if synced_before < node.synced_gen >= node.generation and phase is not Phase.DELETING:
        found.append(Transition.SYNCED)
    if phase is not phase_before and phase in _INTO:
        found.append(_INTO[phase])
    return found


def send(uow: UnitOfWork) -> None:
    """Write a delivery for each binding that watches what was crossed, before the resources change again or go.

    The resources must be stored as they are now.
    """
    if not uow.pending.crossings:
        return
    found = list(_watched(uow, uow.pending.crossings))
    uow.pending.crossings.clear()
    rows = []
    for (crossing, binding), id in zip(found, uow.db.next_ids(len(found)), strict=True):
        node, transition, generation, seq = crossing
        row = binding.row
        token = f"{node.uid}:{transition}:{generation}:{seq}:{row.name}"
        rows.append((id, node.id, row.name, transition, row.reactor, row.reactor_version, token, uow.now_ms))
        uow.save_task(TaskRow(task_id(id, REACT), id, *binding.reactor, uow.position()))
    reactors.send(uow.db, rows)


def _watched(uow: UnitOfWork, crossings: Sequence[Crossing]) -> Iterator[tuple[Crossing, Binding]]:
    told = [
        (crossing, binding)
        for crossing in crossings
        for binding in uow.kinds.bound[crossing.node.kind, crossing.transition]
        if binding.watches(crossing.node.kind_version)
    ]
    uow.lock([crossing.node.id for crossing, binding in told if binding.label_match], whole=True)
    for crossing, binding in told:
        if not binding.label_match or binding.label_match.items() <= orjson.loads(crossing.node.labels).items():
            yield crossing, binding
