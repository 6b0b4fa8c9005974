"""Operations: asked for by people, run once, one at a time for each resource and in their order.

The resource's queue row for operations stands for the first one that has not ended. While it is leased the
resource's other rows are held; while one of those is leased it is the operation that is put off.
"""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.engine.reconcile import documents, retry, schedule, state
from stdworker.engine.reconcile.kinds import Kind, input_schema
from stdworker.engine.reconcile.texts import clean, new_uid
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import operations, tasks
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.documents import to_text
from stdworker.engine.store.rows import (
    DELETE,
    FAILED,
    OPERATE,
    PENDING,
    RECONCILE,
    RUNNING,
    SUCCEEDED,
    Node,
    OperationRow,
    TaskRow,
    resource_of,
    task_id,
)
from stdworker.engine.store.tasks import Ready
from stdworker.errors import Conflict, Invalid, JsonError, NotFound
from stdworker.model.json_text import RawJson, loads
from stdworker.model.kind import Emit, KindVersion
from stdworker.model.manifest import Reaction
from stdworker.model.resource import Ref

ENDED_KEPT = 100  # operations of one resource that are remembered
OPEN_MAX = 100  # of one resource that wait
PUT_OFF_MS = 500  # until an operation whose resource is busy is looked at again

_GOES = "the resource is being deleted"


# ---- asking ----


def request(uow: UnitOfWork, ref: Ref, verb: str, input: RawJson | None) -> OperationRow:
    """Queue an operation. Raises NotFound, Conflict, and Invalid for an input that breaks its schema."""
    node = uow.named(ref)
    kind = uow.kinds.get(node.pair)
    _check_input(_reaction(kind, node.pair, verb), verb, input)
    _check_free(node)
    uow.lock_tasks([node.id])
    if len(operations.opened(uow.db, [node.id]).get(node.id, ())) >= OPEN_MAX:
        raise Conflict(f"{OPEN_MAX} operations of {ref} have not ended yet", hint="wait for them", code="too_many")
    number = operations.last_number(uow.db, node.id) + 1
    text = to_text(input)
    operation = OperationRow(new_uid(uow.now_ms), node.id, number, verb, text, uow.actor, uow.now_ms)
    operations.save(uow.db, [operation])
    operations.prune(uow.db, node.id, number - ENDED_KEPT)
    uow.audit(node, "OperationRequested", verb, operation=operation.uid)
    id = task_id(node.id, OPERATE)
    if id not in uow.tasks:
        uow.save_task(TaskRow(id, node.id, node.kind, node.kind_version, uow.position()))
    return operation


def _reaction(kind: Kind | None, pair: KindVersion, verb: str) -> Reaction:
    reaction = kind.manifest.operation(verb) if kind else None
    if reaction is None:
        verbs = sorted(reaction.verb for reaction in kind.manifest.reactions if reaction.verb) if kind else []
        hint = f"it has {', '.join(verbs)}" if verbs else "it has none"
        raise NotFound(f"{pair} has no operation {verb!r}", hint=hint, code="unknown_verb")
    return reaction


def _check_input(reaction: Reaction, verb: str, input: RawJson | None) -> None:
    """An input that is left out is judged as an empty object."""
    found = input_schema(reaction).violations(loads(input) if input is not None else {})
    if found:
        violations = [("/input" + path, what) for path, what in found]
        raise Invalid(f"the input breaks the input schema of {verb!r}", violations, code="schema")


def _check_free(node: Node) -> None:
    if state.is_deleting(node):
        raise Conflict(f"{node.ref} is being deleted", code="deleting")
    if node.frozen_until is not None:
        raise Conflict(f"{node.ref} is {state.phase(node)}", hint="operations don't run on it", code="frozen")


def cancel(uow: UnitOfWork, node: Node) -> None:
    """The resource goes: what waits fails, what runs is told to stop. Its queue rows must be loaded."""
    row = uow.tasks.get(task_id(node.id, OPERATE))
    if row is None:
        return
    if row.claimed_by is not None:
        schedule.supersede(uow, row, _GOES)
        uow.save_task(row)
    else:
        _end_all(uow, node)
        uow.remove_task(row)


# ---- starting ----


def admit(uow: UnitOfWork, found: Sequence[Ready]) -> tuple[list[Ready], dict[int, OperationRow]]:
    """What of the found tasks may start, and the operations among it by their rows."""
    asked = [ready for ready in found if ready.task_type == OPERATE]
    if not asked:
        return list(found), {}
    others = [task_id(ready.resource_id, task) for ready in asked for task in (RECONCILE, DELETE)]
    waiting, taken = tasks.free(uow.db, others)
    starting = {ready.id for ready in found}
    busy = {resource_of(id) for id in taken} | {resource_of(id) for id in waiting if id in starting}
    if busy:
        position = uow.position(delay_ms=PUT_OFF_MS)
        tasks.put_at(uow.db, [task_id(resource, OPERATE) for resource in busy], position)
    begun = _begin(uow, [ready for ready in asked if ready.resource_id not in busy])
    if begun:
        tasks.hold(uow.db, [id for id in waiting if task_id(resource_of(id), OPERATE) in begun])
    return [ready for ready in found if ready.task_type != OPERATE or ready.id in begun], begun


def _begin(uow: UnitOfWork, admitted: Sequence[Ready]) -> dict[int, OperationRow]:
    opened = operations.opened(uow.db, [ready.resource_id for ready in admitted])
    begun: dict[int, OperationRow] = {}
    for ready in admitted:
        operation = opened[ready.resource_id][0]
        kind = uow.kinds.by_pair[KindVersion(ready.kind, ready.kind_version)]
        if kind.manifest.operation(operation.verb) is None:
            _refuse(uow, ready, operation, f"{kind.pair} has no operation {operation.verb!r} any more")
            continue
        operation.state, operation.attempts = RUNNING, operation.attempts + 1
        operation.started_at = operation.started_at or uow.now_ms
        begun[ready.id] = operation
    operations.save(uow.db, list(begun.values()))
    return begun


def _refuse(uow: UnitOfWork, ready: Ready, operation: OperationRow, why: str) -> None:
    node = uow.lock_free(ready.resource_id)
    if node is not None:
        uow.lock_tasks([node.id])
        _end(uow, node, operation, FAILED, "UnknownVerb", why)
        _go_on(uow, node, uow.tasks[ready.id])


# ---- ending ----


def settle(uow: UnitOfWork, node: Node, row: TaskRow, settlement: Settlement) -> None:
    """A result came: whatever it says, the operation isn't run again."""
    if settlement.released:
        give_back(uow, node, row)
        return
    operation = _running(uow, node)
    if settlement.error or settlement.terminal:
        message = settlement.error or "the task failed"
        _end(uow, node, operation, FAILED, settlement.reason or "OperationFailed", message)
    else:
        _succeed(uow, node, operation, settlement)
    _go_on(uow, node, row)


def give_back(uow: UnitOfWork, node: Node, row: TaskRow) -> None:
    """The lease ends without a result, and without an attempt."""
    operation = _running(uow, node)
    operation.state, operation.attempts = PENDING, operation.attempts - 1
    operations.save(uow.db, [operation])
    _go_on(uow, node, row)


def lose(uow: UnitOfWork, node: Node, row: TaskRow, failure: Settlement) -> None:
    """Nobody knows what became of it: it is run again, within its kind's limit."""
    operation = _running(uow, node)
    if retry.is_last(uow.kinds.get(row.pair), operation.attempts):
        _end(uow, node, operation, FAILED, failure.reason, failure.error)
    else:
        operation.state = PENDING
        operations.save(uow.db, [operation])
    _go_on(uow, node, row, delay_ms=0 if operation.state == FAILED else uow.backoff_ms(operation.attempts))


def _running(uow: UnitOfWork, node: Node) -> OperationRow:
    return operations.opened(uow.db, [node.id])[node.id][0]


def _succeed(uow: UnitOfWork, node: Node, operation: OperationRow, settlement: Settlement) -> None:
    kind = uow.kinds.get(node.pair)
    reaction = kind.manifest.operation(operation.verb) if kind else None
    emits = reaction.emits if reaction else frozenset()
    outcome = settlement.outcome
    problem = documents.store_status(uow, node, outcome.status) if Emit.STATUS in emits else ""
    try:
        if Emit.OPERATION_OUTPUT in emits and outcome.output is not None:
            operation.output = documents.storable(outcome.output, "the output")
    except JsonError as error:
        problem = error.message
    documents.warn_of_dropped(uow, node, outcome, emits, documents.OPERATION_EMITS)
    _end(uow, node, operation, FAILED if problem else SUCCEEDED, "BadResult" if problem else "", problem)


def _end(uow: UnitOfWork, node: Node, operation: OperationRow, ended: str, reason: str = "", message: str = "") -> None:
    operation.state, operation.reason, operation.message = ended, clean(reason), clean(message)
    operation.finished_at = uow.now_ms
    operations.save(uow.db, [operation])
    what = "OperationSucceeded" if ended == SUCCEEDED else "OperationFailed"
    uow.event(node, what, reason, message or operation.verb, operation=operation.uid, verb=operation.verb)


def _end_all(uow: UnitOfWork, node: Node) -> None:
    for operation in operations.opened(uow.db, [node.id]).get(node.id, ()):
        _end(uow, node, operation, FAILED, "Deleted", _GOES)


def _go_on(uow: UnitOfWork, node: Node, row: TaskRow, *, delay_ms: int = 0) -> None:
    """The lease has ended: the resource's other tasks may run, and its next operation."""
    uow.touch(node)
    uow.lock_tasks([node.id])
    other = uow.tasks.get(task_id(node.id, RECONCILE))
    if other is not None and other.held and state.may_run(node):
        other.held = False
        uow.save_task(other)
    if state.is_deleting(node):
        _end_all(uow, node)
    if node.id in operations.opened(uow.db, [node.id]):
        row.end_lease()
        row.kind_version, row.position = node.kind_version, uow.position(delay_ms=delay_ms)
        row.held = node.frozen_until is not None
        uow.save_task(row)
    else:
        uow.remove_task(row)
        schedule.release_teardown(uow, node)
