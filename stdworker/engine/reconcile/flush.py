"""Writing what a unit of work collected: one statement for each kind of change, whatever the number of rows."""

from __future__ import annotations

from collections import Counter

from stdworker.engine.reconcile import crossings, schedule, state
from stdworker.engine.reconcile.pending import Pending
from stdworker.engine.reconcile.positions import until
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.reconcile.watch import Hint
from stdworker.engine.store import edges, nodes, reactors, revisions, tasks
from stdworker.engine.store.rows import REACT, Node, resource_of, type_of
from stdworker.model.kind import Phase


def flush(uow: UnitOfWork) -> None:
    """Write everything but what is left to the end of the transaction."""
    schedule.resolve(uow)
    _note_changes(uow)
    _write_nodes(uow)
    crossings.send(uow)
    _write_tasks(uow)
    _leave_to_the_end(uow)
    uow.pending = Pending()


# ---- what the changes mean ----


def _note_changes(uow: UnitOfWork) -> None:
    moves: Counter[tuple[str, Phase | None, Phase]] = Counter()
    told = {event.uid for event in uow.pending.events}
    for node in uow.pending.dirty.values():
        state.fold(node)
        before, after = uow.before.get(node.id), state.snapshot(node)
        uow.before[node.id] = after
        if before is not None:
            node.updated_at = max(uow.now_ms, node.updated_at + 1)  # tells any two states apart
        for crossed in crossings.between(node, before and before[0], after[0], before[4] if before else 0):
            uow.cross(node, crossed)
        if before is not None:
            _note_transition(uow, node, before, after, is_told=node.uid in told)
        moves[node.kind, before and before[0], after[0]] += 1
        if node.gate == state.MISFIT and not state.is_stopped(node):  # its gate has to say so again
            uow.recheck(edges.GATE, node.id)
        if node.owner_id is not None and _matters_above(uow, node, before, after):
            uow.recheck(edges.SOURCE, node.id)
        uow.hint_change(node)
    _count(uow, moves)


def _note_transition(
    uow: UnitOfWork, node: Node, before: state.Snapshot, after: state.Snapshot, *, is_told: bool
) -> None:
    """Events of what is to be seen from outside, and that no decision told."""
    phase_before, (synced_before, ready_before), _, generation_before, _ = before
    phase, (synced, ready), _, generation, _ = after
    if synced != synced_before:
        node.synced_changed_at = uow.now_ms
    if ready != ready_before:
        node.ready_changed_at = uow.now_ms
    if phase is not phase_before:
        message = node.failure_message if phase is Phase.FAILED else ""
        uow.event(node, "PhaseChanged", phase, message, previous=phase_before)
    elif generation != generation_before and not is_told:
        uow.event(node, "SpecChanged", generation=generation)
    elif node.id in uow.pending.reported and not is_told:
        uow.event(node, "StatusReported")


def _matters_above(uow: UnitOfWork, node: Node, before: state.Snapshot | None, after: state.Snapshot) -> bool:
    """Must its owner and what depends on it be looked at after the commit (decision 12)?"""
    if state.contribution(node) != (node.counted_unsettled, node.counted_unready):
        return True
    return before is not None and (before != after or node.id in uow.pending.reported)


def _count(uow: UnitOfWork, moves: Counter[tuple[str, Phase | None, Phase]]) -> None:
    """By how much the number of resources in each phase changed."""
    for (kind, before, after), resources in moves.items():
        uow.closing.counts[kind, after] += resources
        if before is not None:
            uow.closing.counts[kind, before] -= resources


# ---- statements ----


def _write_nodes(uow: UnitOfWork) -> None:
    pending = uow.pending
    if pending.fresh:
        nodes.add(uow.db, list(pending.fresh.values()))
    if old := [node for node in pending.dirty.values() if node.id not in pending.fresh]:
        nodes.save_state(uow.db, old)
    if pending.documents:
        nodes.save_documents(uow.db, list(pending.documents.values()))
    if pending.labels:
        nodes.save_labels(uow.db, list(pending.labels.items()))
    if pending.revisions:
        revisions.save(uow.db, pending.revisions)
        changed = {row.resource_id for row in pending.revisions}
        revisions.prune(uow.db, changed, uow.options.revisions_keep - 1)


def _write_tasks(uow: UnitOfWork) -> None:
    pending = uow.pending
    if pending.tasks_removed:
        tasks.remove(uow.db, pending.tasks_removed)
        if told := [resource_of(id) for id in pending.tasks_removed if type_of(id) == REACT]:
            reactors.forget(uow.db, told)
    if pending.tasks:
        tasks.save(uow.db, list(pending.tasks.values()))
        for row in pending.tasks.values():
            if row.claimed_by is None and not row.held and row.position <= until(uow.now_ms):
                uow.hint("work", row.pair)


def _leave_to_the_end(uow: UnitOfWork) -> None:
    pending, closing = uow.pending, uow.closing
    if pending.rechecks:
        uow.follow_up = True
    if pending.events and "event" in uow.heard:
        uow.hints.add(Hint("event"))
    closing.rechecked |= pending.rechecked
    closing.rechecks |= pending.rechecks
    closing.events += pending.events
