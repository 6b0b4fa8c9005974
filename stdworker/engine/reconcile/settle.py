"""What a result changes.

One lease is one stage. A stage that succeeded stores its status and conditions and puts the row back at its
place for the next stage; the last one completes the run. A result whose lease is void is dropped, one whose
generation was superseded still stores what it saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stdworker.engine.reconcile import compose, conditions, deliver, documents, operate, retry, schedule, state
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.rejected import Rejected
from stdworker.engine.reconcile.tokens import row_id
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, edges, nodes
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.rows import DELETE, OPERATE, REACT, Node, TaskRow, resource_of
from stdworker.model.kind import Emit, Stage
from stdworker.model.outcome import Outcome


def settle(uow: UnitOfWork, settlements: Sequence[Settlement]) -> list[bool]:
    """Apply results; False for each that is stale."""
    ids = [row_id(settlement.lease) for settlement in settlements]
    known = {id for id in ids if id is not None}
    about = [resource_of(id) for id in known]
    if composites := {resource_of(id) for id, s in zip(ids, settlements, strict=True) if id and _composes(s)}:
        uow.hold(about, composites)
        if named := {name for s in settlements if _composes(s) for name in _configs_named(s.outcome)}:
            catalog.hold_configs(uow.db, named, composites)
    uow.lock(about)
    uow.lock_rows(known)
    return [_settle(uow, settlement, uow.tasks.get(id or 0)) for settlement, id in zip(settlements, ids, strict=True)]


def _composes(settlement: Settlement) -> bool:
    return settlement.stage is Stage.COMPOSE and not settlement.error and not settlement.released


def _configs_named(outcome: Outcome) -> Iterator[str]:
    yield from (config.name for config in outcome.configs)
    yield from (child.provider_config_ref for child in outcome.children if child.provider_config_ref)


def _settle(uow: UnitOfWork, settlement: Settlement, row: TaskRow | None) -> bool:
    if row is None or (row.token, row.epoch, row.stage) != (*settlement.lease, settlement.stage):
        return False
    if row.task_type == REACT:
        deliver.settle(uow, row, settlement)
        return True
    node = uow.nodes[row.resource_id]
    uow.touch(node)
    if row.task_type == OPERATE:
        operate.settle(uow, node, row, settlement)
    elif settlement.released:
        give_back(uow, node, row)
    elif settlement.error or settlement.terminal:
        kind = uow.kinds.get(row.pair)
        if kind is not None and Emit.STATUS in _emits(kind, row, settlement.stage):
            documents.store_status(uow, node, settlement.outcome.status)
        fail(uow, node, row, settlement)
    elif row.stage == Stage.DELETE:
        kind = uow.kinds.get(row.pair)
        if kind is not None:
            emits = _emits(kind, row, settlement.stage)
            documents.warn_of_dropped(uow, node, settlement.outcome, emits, documents.RUN_EMITS)
        _torn_down(uow, node, row)
    else:
        _succeed(uow, node, row, settlement)
    return True


def give_back(uow: UnitOfWork, node: Node, row: TaskRow) -> None:
    """A lease ends without a result: nothing is counted, the task keeps its place."""
    if row.task_type == OPERATE:
        operate.give_back(uow, node, row)
        return
    place = row.position
    requeue(uow, node, row, keep=row.superseded is None)
    row.position = place


def fail(uow: UnitOfWork, node: Node, row: TaskRow, failure: Settlement) -> None:
    """A counted failure. A teardown never stops; another task does when it is told to, or at its limit.

    Of an operation it is the loss of its worker: its own failure ends it.
    """
    if row.task_type == OPERATE:
        operate.lose(uow, node, row, failure)
        return
    if row.task_type == DELETE:
        _fail_teardown(uow, node, row, failure)
        return
    if row.generation != node.generation or state.is_deleting(node):
        requeue(uow, node, row, keep=False)
        return
    attempts, is_last = _count_attempt(uow, node, row)
    stops = failure.terminal or is_last
    row.attempts += not failure.terminal
    _note_failure(uow, node, row, failure, terminal=stops, counted=not failure.terminal)
    if stops:
        _stop(uow, node, row)
    else:
        _retry(uow, node, row, attempts, failure.retry_after_ms)


def _stop(uow: UnitOfWork, node: Node, row: TaskRow) -> None:
    """The run is over, and the generation still to be worked on; what was asked for meanwhile is a run of its own."""
    asked = row.again
    if not schedule.is_from_below(row.reasons):
        node.worked_gen = min(node.worked_gen, node.generation - 1)
        asked &= ~schedule.DESCENDANTS
    uow.remove_task(row)
    if asked:
        uow.request(node, asked)


def _fail_teardown(uow: UnitOfWork, node: Node, row: TaskRow, failure: Settlement) -> None:
    """It is tried again for ever: at the cap if it says that this won't help, or has reached its kind's limit."""
    attempts, is_last = _count_attempt(uow, node, row)
    row.attempts += 1
    _note_failure(uow, node, row, failure, terminal=False, counted=True)
    cap_ms = int(uow.options.retry_cap_seconds * 1000)
    _retry(uow, node, row, attempts, cap_ms if failure.terminal or is_last else failure.retry_after_ms)


def _count_attempt(uow: UnitOfWork, node: Node, row: TaskRow) -> tuple[int, bool]:
    """Which attempt in a row failed, and whether the kind allows no other."""
    attempts = node.failure_attempts + 1 if state.is_failed(node) else 1
    return attempts, retry.is_last(uow.kinds.get(row.pair), attempts)


def _note_failure(
    uow: UnitOfWork, node: Node, row: TaskRow, failure: Settlement, *, terminal: bool, counted: bool
) -> None:
    reason = failure.reason or ("Terminal" if terminal else "ReconcileError")
    message = failure.error or "the task failed"
    state.fail(node, reason, message, terminal=terminal, counted=counted)
    uow.event(node, "TaskFailed", reason, message, stage=row.stage, terminal=terminal, attempts=node.failure_attempts)


def _retry(uow: UnitOfWork, node: Node, row: TaskRow, attempts: int, asked_ms: int) -> None:
    """Queue the row again: now if someone asked for it meanwhile, which children don't, else when its backoff ends."""
    asked_again = not schedule.is_from_below(row.again)
    requeue(uow, node, row, keep=True)
    row.position = uow.position(delay_ms=0 if asked_again else uow.backoff_ms(attempts, asked_ms=asked_ms))


def requeue(uow: UnitOfWork, node: Node, row: TaskRow, *, keep: bool) -> None:
    """End the lease and let the row be claimed again; `keep`: go on with the same run."""
    if keep:
        row.reasons |= row.again
    else:
        row.reasons, row.done, row.emitted = row.again or row.reasons, 0, "[]"
    row.again = 0
    row.end_lease()
    if row.task_type == DELETE and node.finalizers != "[]":
        uow.save_task(row)
        return
    if state.is_deleting(node):
        uow.remove_task(row)
        schedule.release_teardown(uow, node)
        return
    row.kind_version, row.held = node.kind_version, not state.may_run(node)
    uow.save_task(row)


def _succeed(uow: UnitOfWork, node: Node, row: TaskRow, settlement: Settlement) -> None:
    kind = uow.kinds.get(row.pair)
    if kind is None:
        fail(uow, node, row, Settlement(settlement.lease, settlement.stage, error=f"{row.pair} is not published"))
        return
    stage, outcome = settlement.stage, settlement.outcome
    emits = _emits(kind, row, stage)
    documents.warn_of_dropped(uow, node, outcome, emits, documents.RUN_EMITS)
    problem = documents.store_status(uow, node, outcome.status) if Emit.STATUS in emits else ""
    if problem:
        fail(uow, node, row, Settlement(settlement.lease, stage, error=problem, reason="BadStatus", terminal=True))
        return
    if stage is Stage.COMPOSE and not _is_superseded(node, row):
        try:
            compose.apply(uow, node, outcome, emits)
        except Rejected as rejected:
            reason, message, stops = rejected.reason, rejected.message, rejected.terminal
            fail(uow, node, row, Settlement(settlement.lease, stage, error=message, reason=reason, terminal=stops))
            nodes.wait_for(uow.db, [(subject, node.id) for subject in rejected.waits_for])
            return
        node.composed_gen = row.generation
    row.done |= schedule.DONE[stage]
    if outcome.conditions and Emit.CONDITIONS in emits:
        reported = conditions.given(outcome.conditions, row.generation)
        row.emitted = conditions.text(conditions.overlay(conditions.read(row.emitted), reported))
    _advance(uow, node, kind, row)


def _advance(uow: UnitOfWork, node: Node, kind: Kind, row: TaskRow) -> None:
    """Go on to the next stage, or complete the run."""
    following = schedule.next_stage(kind, node, row.reasons, row.done)
    whole_run = following is None and not schedule.is_from_below(row.reasons)
    if row.emitted != "[]" or node.conditions != "[]":
        emitted = conditions.read(row.emitted)
        node.conditions = conditions.merged(node.conditions, emitted, replace=whole_run, now_ms=uow.now_ms)
    if _is_superseded(node, row) and (following is not None or row.done & schedule.COMPOSED):
        requeue(uow, node, row, keep=False)  # what is left of the old run will never be
    elif following is not None:
        place = row.position
        requeue(uow, node, row, keep=True)
        row.position = place
    else:
        node.health_ok = conditions.say_healthy(node.conditions)
        schedule.complete(uow, node, kind, row.reasons, row.done, row.generation)
        _end_run(uow, node, row)


def _is_superseded(node: Node, row: TaskRow) -> bool:
    """Did a newer generation, or a deletion, come while the task ran?"""
    return row.superseded is not None or row.generation != node.generation


def _end_run(uow: UnitOfWork, node: Node, row: TaskRow) -> None:
    if row.again or row.seq != row.claimed_seq or row.generation != node.generation:
        requeue(uow, node, row, keep=False)
    else:
        uow.remove_task(row)
        schedule.release_teardown(uow, node)


def _torn_down(uow: UnitOfWork, node: Node, row: TaskRow) -> None:
    """Its finalizer is the resource's only one, also when the kind has renamed it since."""
    node.finalizers = "[]"
    state.succeed(node)
    uow.remove_task(row)
    uow.recheck(edges.REMOVAL, node.id)


def _emits(kind: Kind, row: TaskRow, stage: Stage) -> frozenset[Emit]:
    """What the manifest lets the reaction that ran hand back."""
    below, by_clock = schedule.is_from_below(row.reasons), schedule.is_resync(row.reasons)
    reaction = kind.reaction(stage, only_children=below, resync=by_clock)
    return reaction.emits if reaction is not None else frozenset()
