"""What is true of an engine's store whenever no transaction is open, whoever was killed before.

`read` takes one consistent look at a store, `violations` says in sentences what is wrong with it. Each rule is
told from the rows alone, without the code that keeps it. For tests of the engine; needs `stdworker[engine]`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from stdworker.engine.store import edges as edge_store
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import (
    DELETE,
    NODE_COLUMNS,
    OPERATE,
    OPERATION_COLUMNS,
    REACT,
    RECONCILE,
    RUNNING,
    TASK_COLUMNS,
    EdgeRow,
    Node,
    OperationRow,
    TaskRow,
)
from stdworker.engine.store.sql import selected

_NODES = f"SELECT {selected('n', NODE_COLUMNS)}, n.phase FROM resources n"
_TASKS = f"SELECT {selected('q', TASK_COLUMNS)} FROM queue q"
_EDGES = "SELECT e.dependent_id, e.dependency_id, e.owner_id, e.flows FROM edges e"
_OPENED = f"SELECT {selected('o', OPERATION_COLUMNS)} FROM operations o WHERE o.finished_at IS NULL"
_EVENTS = "SELECT min(seq), max(seq), count(*) FROM events"

_COMPOSE_DUE, _ROLLUP_DUE = 1, 2
_OPEN, _WAITING, _BLOCKED, _MISFIT = 0, 1, 2, 3


@dataclass(slots=True)
class Books:
    """One consistent look at a store."""

    nodes: dict[int, Node]
    phases: dict[int, str]
    tasks: dict[int, dict[int, TaskRow]]
    """Queue rows by resource and task type."""
    edges: list[EdgeRow]
    rechecks: set[tuple[int, int]]
    opened: list[OperationRow]
    counted: dict[tuple[str, str], int]
    events: tuple[int, int, int]
    """The first and the last place in the sequence, and how many are kept."""
    event_counter: int
    deliveries: dict[int, bool]
    """What reactors are told: the id, and whether it was given up."""
    configs: list[tuple[str, int | None, bool]]
    """Provider configs: the name, the owner, and whether somebody wants it."""
    children: dict[int, list[Node]] = field(default_factory=lambda: defaultdict(list))
    incoming: dict[int, list[EdgeRow]] = field(default_factory=lambda: defaultdict(list))
    dependents: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for node in self.nodes.values():
            if node.owner_id is not None:
                self.children[node.owner_id].append(node)
        for edge in self.edges:
            self.incoming[edge.dependent_id].append(edge)
            self.dependents[edge.dependency_id].append(edge.dependent_id)

    def task(self, node: Node, task_type: int) -> TaskRow | None:
        return self.tasks.get(node.id, {}).get(task_type)

    def is_pending(self, what: int, node: Node) -> bool:
        """Will the engine look at the resource for this reason?"""
        return (what, node.id) in self.rechecks

    def is_leased(self, node: Node) -> bool:
        return any(row.claimed_by is not None for row in self.tasks.get(node.id, {}).values())


def read(db: Connection) -> Books:
    """Read everything. The connection must see one state throughout: `snapshot`, or a store at rest."""
    nodes, phases = {}, {}
    for *columns, phase in db.fetch(_NODES):
        node = Node(*columns)
        nodes[node.id], phases[node.id] = node, phase
    tasks: dict[int, dict[int, TaskRow]] = defaultdict(dict)
    for row in (TaskRow(*columns) for columns in db.fetch(_TASKS)):
        tasks[row.resource_id][row.task_type] = row
    first, last, kept = db.fetch(_EVENTS)[0]
    return Books(
        nodes,
        phases,
        tasks,
        [EdgeRow(*row) for row in db.fetch(_EDGES)],
        {(row[0], row[1]) for row in db.fetch("SELECT what, resource_id FROM rechecks")},
        [OperationRow(*row) for row in db.fetch(_OPENED)],
        {(row[0], row[1]): row[2] for row in db.fetch("SELECT kind, phase, resources FROM phase_counts")},
        (first or 0, last or 0, kept),
        db.fetch("SELECT value FROM counters WHERE name = 'events'")[0][0],
        {row[0]: bool(row[1]) for row in db.fetch("SELECT id, dead_at IS NOT NULL FROM deliveries")},
        [(row[0], row[1], bool(row[2])) for row in db.fetch("SELECT name, owner_id, wanted FROM provider_configs")],
    )


def snapshot(db: Connection, *, is_postgres: bool) -> Books:
    """Read everything as of one instant, beside an engine that works."""
    db.run("BEGIN ISOLATION LEVEL REPEATABLE READ" if is_postgres else "BEGIN")
    try:
        return read(db)
    finally:
        db.rollback()


def violations(books: Books) -> list[str]:
    """What is wrong, each in a sentence that names the resource."""
    found = [told for rule in _OF_NODES for node in books.nodes.values() for told in rule(books, node)]
    return found + [told for rule in _OF_ALL for told in rule(books)]


# ---- one resource ----


def _generations(books: Books, node: Node) -> Iterator[str]:
    seen = (node.synced_gen, node.worked_gen, node.composed_gen, node.failure_gen)
    if max(seen) > node.generation:
        yield f"{node.ref}: synced, worked, composed, failed {seen} at generation {node.generation}"


def _phase(books: Books, node: Node) -> Iterator[str]:
    if books.phases[node.id] == "Ready" and (node.unsettled or node.unready or node.due or node.failure_gen):
        yield f"{node.ref} is Ready with {node.unsettled} unsettled, {node.unready} unready, due {node.due}"


def _counts(books: Books, node: Node) -> Iterator[str]:
    """An owner has counted exactly what its children say was counted of them, in every transaction."""
    counted = [0, 0]
    for child in books.children.get(node.id, ()):
        counted[0] += bool(child.counted_unsettled)
        counted[1] += bool(child.counted_unready)
    if [node.unsettled, node.unready] != counted:
        yield f"{node.ref} counts {node.unsettled} unsettled and {node.unready} unready, its children say {counted}"


def _counted(books: Books, node: Node) -> Iterator[str]:
    """What a child contributes is what was counted of it, unless the engine is about to look."""
    if node.owner_id is None or books.is_pending(edge_store.SOURCE, node):
        return
    counted = bool(node.counted_unsettled), bool(node.counted_unready)
    if _contribution(books, node) != counted:
        yield f"{node.ref}: contributes {_contribution(books, node)}, counted is {counted}"


def _contribution(books: Books, node: Node) -> tuple[bool, bool]:
    if node.frozen_until is not None or not node.wanted:
        return False, False
    if node.deletion_requested_at is not None:
        return True, True
    failed = node.failure_gen == node.generation
    done = node.worked_gen >= node.generation and not node.due
    settled = not node.unsettled and (failed or (node.gate != _WAITING and (done or node.gate == _BLOCKED)))
    return not settled, books.phases[node.id] != "Ready"


def _ownership(books: Books, node: Node) -> Iterator[str]:
    if node.owner_id is None:
        return
    owner = books.nodes.get(node.owner_id)
    if owner is None:
        yield f"{node.ref} outlived its owner"
    elif node.root_id != (owner.root_id or owner.id):
        yield f"{node.ref} names another root than its owner {owner.ref}"


def _queue(books: Books, node: Node) -> Iterator[str]:
    rows = books.tasks.get(node.id, {})
    if sum(row.claimed_by is not None for row in rows.values()) > 1:
        yield f"{node.ref} has two leased tasks"
    for task_type, row in rows.items():
        lease = (row.token, row.claimed_by, row.stage, row.heartbeat_at)
        if len({part is None for part in lease}) != 1:
            yield f"{node.ref}: half a lease: {lease}"
        if row.claimed_by is not None:
            if row.superseded is None and (why := _supersedes(node, task_type, row)):
                yield f"{node.ref} {why}, and its running task is not told to stop"
            continue
        if (row.kind, row.kind_version) != (node.kind, node.kind_version):
            yield f"{node.ref} is queued at version {row.kind_version}, it is at {node.kind_version}"
        is_withheld = node.gate != _OPEN or node.frozen_until is not None
        if task_type == RECONCILE and node.deletion_requested_at is not None:
            yield f"{node.ref} is being deleted and queued"
        if task_type == RECONCILE and row.held and not is_withheld and not books.is_leased(node):
            yield f"{node.ref} is held by nothing"
        if task_type == RECONCILE and not row.held and is_withheld:
            yield f"{node.ref} may run while it is {books.phases[node.id]} or gated: {node.gate_message}"
        if task_type == DELETE and node.deletion_requested_at is None:
            yield f"{node.ref} is queued for removal, nobody asked for it"


def _supersedes(node: Node, task_type: int, row: TaskRow) -> str:
    """What has come since the task was leased."""
    if task_type == DELETE:
        return "has nothing left to tear down" if node.finalizers == "[]" else ""
    if node.deletion_requested_at is not None:
        return "is being deleted"
    if node.frozen_until is not None:
        return "is frozen"
    return "has a newer generation" if task_type == RECONCILE and row.generation != node.generation else ""


def _not_lost(books: Books, node: Node) -> Iterator[str]:
    """What has something left to do is queued, or waits for something that is there."""
    if node.deletion_requested_at is not None:
        if not _removal_goes_on(books, node):
            yield f"{node.ref} is being deleted, and nothing will remove it"
    elif node.frozen_until is None and books.task(node, RECONCILE) is None and (why := _owes(books, node)):
        yield f"{node.ref} {why}, and nothing will run it"


def _owes(books: Books, node: Node) -> str:
    if node.failure_terminal and node.failure_gen == node.generation:
        return ""
    if node.failure_gen == node.generation:
        return f"failed ({node.failure_reason})"
    if node.worked_gen < node.generation and node.gate == _OPEN:
        return f"has not run generation {node.generation}"
    if node.due & _COMPOSE_DUE:
        return "must compose again"
    looked_at = any(books.is_pending(edge_store.SOURCE, child) for child in books.children.get(node.id, ()))
    return "must roll up" if node.due & _ROLLUP_DUE and not node.unsettled and not looked_at else ""


def _removal_goes_on(books: Books, node: Node) -> bool:
    waits = books.children.get(node.id) or any(
        books.nodes[id].deletion_requested_at is not None for id in books.dependents.get(node.id, ())
    )
    queued = books.task(node, DELETE) is not None
    return bool(waits) or queued or books.is_leased(node) or books.is_pending(edge_store.REMOVAL, node)


def _gate(books: Books, node: Node) -> Iterator[str]:
    """A gate is what the resource's dependencies say now, unless the engine is about to look.

    A value that has no place keeps it shut whatever they say, and that is told as a failure.
    """
    if node.deletion_requested_at is not None or books.is_pending(edge_store.GATE, node):
        return
    states = [_withholds(books, edge) for edge in books.incoming.get(node.id, ())]
    gate = _BLOCKED if _BLOCKED in states else _WAITING if _WAITING in states else _OPEN
    if node.gate == _MISFIT:
        if not (node.failure_terminal and node.failure_gen == node.generation):
            yield f"{node.ref} doesn't say that a value has no place in it"
    elif gate != node.gate:
        yield f"{node.ref} has gate {node.gate}, its dependencies say {gate}"


def _withholds(books: Books, edge: EdgeRow) -> int:
    source = books.nodes.get(edge.dependency_id)
    if source is None or source.deletion_requested_at is not None:
        return _WAITING
    synced = source.synced_gen >= source.generation and not source.unsettled and not source.due
    if synced:
        status = orjson.loads(source.status or "null")
        missing = any(_value(status, pointer) is None for _, pointer in orjson.loads(edge.flows))
        return _BLOCKED if missing else _OPEN
    stuck = source.frozen_until is not None or source.failure_gen == source.generation or source.gate == _BLOCKED
    return _BLOCKED if stuck else _WAITING


def _value(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        document = document.get(token) if isinstance(document, dict) else None
    return document


_OF_NODES: tuple[Callable[[Books, Node], Iterator[str]], ...] = (
    _generations,
    _phase,
    _counts,
    _counted,
    _ownership,
    _queue,
    _not_lost,
    _gate,
)


# ---- the whole store ----


def _no_orphan_rows(books: Books) -> Iterator[str]:
    for resource, rows in books.tasks.items():
        if resource not in books.nodes and resource not in books.deliveries:
            yield f"the queue rows {list(rows)} belong to no resource and no delivery"
    for edge in books.edges:
        if not {edge.dependent_id, edge.owner_id} <= books.nodes.keys():
            yield f"an edge starts nowhere: {edge}"
        elif edge.dependency_id not in books.nodes and not books.nodes[edge.owner_id].due & _COMPOSE_DUE:
            yield f"an edge ends nowhere, and its owner won't compose again: {edge}"


def _phase_counts(books: Books) -> Iterator[str]:
    found = Counter((node.kind, books.phases[node.id]) for node in books.nodes.values())
    told = {key: count for key, count in books.counted.items() if count}
    if found != told:
        yield f"phases are counted as {told}, they are {dict(found)}"


def _event_sequence(books: Books) -> Iterator[str]:
    first, last, kept = books.events
    if kept and (last != books.event_counter or kept != last - first + 1):
        yield f"{kept} events from {first} to {last}, the counter is at {books.event_counter}"


def _operations(books: Books) -> Iterator[str]:
    """Who waits has a place in the queue; the one that runs has the lease."""
    running = {operation.resource_id: operation for operation in books.opened if operation.state == RUNNING}
    waiting = {operation.resource_id for operation in books.opened}
    rows = {resource: rows[OPERATE] for resource, rows in books.tasks.items() if OPERATE in rows}
    if waiting != rows.keys():
        yield f"operations wait of {sorted(waiting)}, queued are {sorted(rows)}"
    leased = {resource for resource, row in rows.items() if row.claimed_by is not None}
    if leased != running.keys():
        yield f"operations run of {sorted(running)}, leased are {sorted(leased)}"


def _deliveries(books: Books) -> Iterator[str]:
    """A reactor's delivery has a place in the queue until it was taken or given up."""
    queued = {id for id, rows in books.tasks.items() if REACT in rows}
    waiting = {id for id, dead in books.deliveries.items() if not dead}
    if queued != waiting:
        yield f"deliveries wait: {sorted(waiting)}, queued are {sorted(queued)}"


def _configs(books: Books) -> Iterator[str]:
    """An emitted config has an owner; one that nobody wants is still referred to."""
    used = {node.provider_config for node in books.nodes.values()}
    for name, owner, is_wanted in books.configs:
        if owner is not None and owner not in books.nodes:
            yield f"the config {name} outlived its owner"
        if not is_wanted and name not in used:
            yield f"the config {name} is there for nothing"
    there = {name for name, _, _ in books.configs}
    for node in books.nodes.values():
        if node.provider_config is not None and node.provider_config not in there:
            yield f"{node.ref} refers to the config {node.provider_config}, which is not there"


_OF_ALL: tuple[Callable[[Books], Iterator[str]], ...] = (
    _no_orphan_rows,
    _phase_counts,
    _event_sequence,
    _operations,
    _deliveries,
    _configs,
)
