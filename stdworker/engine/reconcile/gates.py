"""What dependencies give and withhold: values that flow into a spec, and whether a resource may run.

The effective spec of a child is what its composer said plus the values that flowed into it so far. A value
that vanishes stays in the spec and closes the gate for the next run (decision 3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import orjson

from stdworker.engine.reconcile import schedule, state
from stdworker.engine.reconcile.texts import clean
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import edges
from stdworker.engine.store.rows import EdgeRow, Node
from stdworker.errors import JsonError
from stdworker.model.json_text import RawJson, check, equal, join_members, loads, members
from stdworker.model.pointer import find, replace

NAMED_MAX = 5


def flows_of(text: str) -> list[tuple[str, str]]:
    """The (dependent_field, source_field) pairs of an edge."""
    return [(field, source) for field, source in orjson.loads(text)] if text != "[]" else []


def effective_spec(composed: str, flowed: str | None) -> str:
    """The composed spec with what has flowed. Raises JsonError where a value has no place."""
    spec = RawJson(composed.encode())
    for pointer, value in (members(flowed.encode()) or {}).items() if flowed else ():
        spec = replace(spec, pointer, value)
    return spec.decode()


def evaluate(uow: UnitOfWork, dependent_ids: Iterable[int]) -> list[Node]:
    """Look again at what some children wait for; the nodes that exist, changed or not."""
    dependents = uow.lock(list(dependent_ids), whole=True)
    incoming: dict[int, list[EdgeRow]] = defaultdict(list)
    for edge in edges.of_dependents(uow.db, [node.id for node in dependents]):
        incoming[edge.dependent_id].append(edge)
    uow.lock({edge.dependency_id for found in incoming.values() for edge in found}, whole=True)
    for node in dependents:
        if not state.is_deleting(node):
            _evaluate(uow, node, incoming[node.id])
    return dependents


def _evaluate(uow: UnitOfWork, node: Node, incoming: list[EdgeRow]) -> None:
    stuck, moving, flowed = _look_up(uow, incoming)
    gate = state.BLOCKED if stuck else state.WAITING if moving else state.OPEN
    try:
        _flow(uow, node, flowed)
    except JsonError as error:
        _misfit(uow, node, "BadFlow", f"a value can't flow into the spec: {error}")
        return
    is_owed = node.worked_gen < node.generation
    if flowed and gate == state.OPEN and (is_owed or node.gate == state.MISFIT) and (found := _violations(uow, node)):
        told = f"with the values that flowed in, the spec breaks its schema: {found}"
        _misfit(uow, node, "InvalidSpec", told)
        return
    if node.gate == state.MISFIT and state.is_stopped(node):
        if gate == state.WAITING:
            return  # it is judged when its dependencies have settled
        state.succeed(node)
        uow.touch(node)
    message = clean("; ".join((stuck or moving)[:NAMED_MAX]))
    if (node.gate, node.gate_message) != (gate, message):
        node.gate, node.gate_message = gate, message
        uow.touch(node)
        uow.request(node, 0)
    if gate == state.OPEN and is_owed:
        uow.request(node, schedule.SPEC)


def _look_up(uow: UnitOfWork, incoming: list[EdgeRow]) -> tuple[list[str], list[str], dict[str, RawJson]]:
    """What is stuck, what still moves, and the values that are there."""
    stuck: list[str] = []
    moving: list[str] = []
    flowed: dict[str, RawJson] = {}
    for edge in incoming:
        source = uow.nodes.get(edge.dependency_id)
        if source is None:
            moving.append("a dependency was removed; it waits for its owner to make it again")
            continue
        synced = state.is_synced(source) and not state.is_deleting(source)
        if not synced:
            reason = _why_stuck(source)
            (stuck if reason else moving).append(f"{source.ref} {why_unsynced(source)}")
        status = source.status.encode() if source.status is not None else b"null"
        for field, pointer in flows_of(edge.flows):
            value = find(status, pointer)
            if value is not None and value != b"null":
                flowed[field] = value
            elif synced:
                stuck.append(f"{source.ref} has no value at {pointer}")
    return stuck, moving, flowed


def why_unsynced(source: Node) -> str:
    """What keeps a dependency from being synced, to stand after its name."""
    return "is being deleted" if state.is_deleting(source) else _why_stuck(source) or "is reconciling"


def _why_stuck(source: Node) -> str:
    if state.is_deleting(source):
        return ""  # it goes, or comes again: both move
    if source.frozen_until is not None:
        return "is frozen"
    if state.is_failed(source):
        return "has failed"
    return "is blocked" if source.gate == state.BLOCKED else ""


def _flow(uow: UnitOfWork, node: Node, values: dict[str, RawJson]) -> None:
    if not values:
        return
    known = members((node.flowed or "{}").encode()) or {}
    flowed = join_members(known | values).decode()
    if flowed == node.flowed:
        return
    spec = effective_spec(node.composed_spec or "{}", flowed)
    check(spec.encode())
    node.flowed = flowed
    uow.rewrite(node)
    if not equal(spec.encode(), (node.spec or "{}").encode()):
        uow.respecify(node, spec, node.kind_version)
        uow.request(node, 0)  # what runs is of an older generation, whether the gate moves or not


def _violations(uow: UnitOfWork, node: Node) -> str:
    """Where the effective spec breaks its schema, now that every value is there."""
    kind = uow.kinds.get(node.pair)
    schema = kind.spec_schema if kind else None
    found = schema.violations(loads((node.spec or "{}").encode())) if schema and schema.validator else []
    return "; ".join(f"{path or '/'}: {what}" for path, what in found)


def _misfit(uow: UnitOfWork, node: Node, reason: str, message: str) -> None:
    told = clean(message)
    if node.gate == state.MISFIT and node.gate_message == told and state.is_stopped(node):
        return
    node.gate, node.gate_message = state.MISFIT, told
    _stop(uow, node, reason, told)


def _stop(uow: UnitOfWork, node: Node, reason: str, message: str) -> None:
    """The dependent fails for good at this generation, without having run: what was asked for is held back."""
    state.fail(node, reason, message, terminal=True)
    uow.touch(node)
    uow.event(node, "TaskFailed", reason, message, terminal=True)
    uow.request(node, 0)


def look_again(uow: UnitOfWork, node: Node) -> None:
    """Someone asked for a run: what didn't fit may do so by now, and is judged before it runs."""
    if node.gate == state.MISFIT:
        uow.recheck(edges.GATE, node.id)


def prune_flowed(node: Node, fields: set[str]) -> None:
    """Forget values whose flow is no more."""
    known = members((node.flowed or "{}").encode()) or {}
    kept = {field: value for field, value in known.items() if field in fields}
    node.flowed = join_members(kept).decode() if kept else None
