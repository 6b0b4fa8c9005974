"""What readers ask: resources with their owners and tasks, filtered and paged."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stdworker.engine.store import catalog, edges
from stdworker.engine.store.contract import Connection, Row
from stdworker.engine.store.records import ResourceFilter
from stdworker.engine.store.rows import (
    DELETE,
    NODE_COLUMNS,
    RECONCILE,
    ROWS_PER_RESOURCE,
    TASK_COLUMNS,
    Node,
    TaskRow,
)
from stdworker.engine.store.sql import selected
from stdworker.engine.store.tasks import SHOWN, Ready
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.resource import Ref

PAIRS_MAX = 64  # that one list looks at one by one

_TASK_OF = (
    f"q.id = n.id * {ROWS_PER_RESOURCE} + CASE WHEN n.deletion_requested_at IS NULL THEN {RECONCILE} ELSE {DELETE} END"
)
_FROM = (
    f"FROM resources n LEFT JOIN queue q ON {_TASK_OF}"
    " LEFT JOIN resources o ON o.id = n.owner_id LEFT JOIN resources t ON t.id = n.root_id"
)
_SEEN = f"SELECT {selected('n', NODE_COLUMNS)}, {selected('q', TASK_COLUMNS)}, o.kind, o.name, t.kind, t.name {_FROM}"
_WITH_OWNER = "FROM resources n LEFT JOIN resources o ON o.id = n.owner_id"
_OBSERVED = (
    f"SELECT 0, n.id, 0, 0, 0, 0, 0, {SHOWN}, NULL, NULL FROM resources n"
    " LEFT JOIN resources o ON o.id = n.owner_id LEFT JOIN resources t ON t.id = n.root_id"
)
_CULPRITS = (
    "SELECT n.id, n.kind, n.name, n.unready, n.failure_gen = n.generation, n.failure_message, n.health_ok,"
    " n.gate_message, n.conditions, n.phase FROM resources n WHERE n.owner_id IN (SELECT * FROM IDS(ids))"
    " AND n.counted_unready ORDER BY n.kind, n.name LIMIT :limit"
)


class Seen(NamedTuple):
    """A resource as a reader sees it."""

    node: Node
    task: TaskRow | None
    owner: Ref | None
    root: Ref | None


class Culprit(NamedTuple):
    """A child that keeps its owner from being Ready; `unready` counts the children that do so to it."""

    id: int
    kind: str
    name: str
    unready: int
    failed: bool
    failure_message: str
    health_ok: bool
    gate_message: str
    conditions: str
    phase: str


def get(db: Connection, ref: Ref) -> Seen | None:
    found = db.fetch(f"{_SEEN} WHERE n.kind = :kind AND n.name = :name", **ref._asdict())
    return _seen(found[0]) if found else None


def get_many(db: Connection, ids: Collection[int]) -> list[Seen]:
    return [
        _seen(row) for row in db.fetch(f"{_SEEN} WHERE n.id IN (SELECT * FROM IDS(ids)) ORDER BY n.id", ids=sorted(ids))
    ]


def get_uids(db: Connection, uids: Collection[str]) -> list[Seen]:
    return [_seen(row) for row in db.fetch(f"{_SEEN} WHERE n.uid IN (SELECT * FROM NAMES(uids))", uids=list(uids))]


def find(db: Connection, where: ResourceFilter, limit: int, before: int | None) -> list[Seen]:
    """Newest first; `before` is the id where the last page ended."""
    pairs = _few_pairs(db, where)
    terms, parameters = _conditions(where if pairs is None else replace(where, kinds=(), pairs=()))
    if before is not None:
        terms.append("n.id < :before")
        parameters["before"] = before
    if pairs is None:
        page = _page(terms)
    else:
        parts = []
        for i, pair in enumerate(pairs):
            parts.append(f"SELECT * FROM ({_page([f'n.kind = :k{i}', f'n.kind_version = :w{i}', *terms])}) AS page{i}")
            parameters.update({f"k{i}": pair.kind, f"w{i}": pair.version})
        page = f"{' UNION ALL '.join(parts)} ORDER BY 1 DESC LIMIT :limit"
    statement = f"{_SEEN} WHERE n.id IN ({page}) ORDER BY n.id DESC"
    return [_seen(row) for row in db.fetch(statement, limit=limit, **parameters)] if pairs != [] else []


def _page(terms: Sequence[str]) -> str:
    """Ids alone: it may have to sort all that it finds."""
    only = f"WHERE {' AND '.join(terms)} " if terms else ""
    return f"SELECT n.id {_WITH_OWNER} {only}ORDER BY n.id DESC LIMIT :limit"


def _few_pairs(db: Connection, where: ResourceFilter) -> list[KindVersion] | None:
    """The kind versions to look at one by one, each newest first out of its index.

    None where another way is shorter: few resources are not Ready, of an owner, or have a label.
    """
    by_kind = where.kinds or where.pairs
    if not by_kind or where.owners or where.labels or (where.phases and Phase.READY not in where.phases):
        return None
    pairs = set(where.pairs) or catalog.versions(db, where.kinds)
    found = sorted(pair for pair in pairs if not where.kinds or pair.kind in where.kinds)
    return found if len(found) <= PAIRS_MAX else None


def culprits(db: Connection, owner_ids: Collection[int], limit: int) -> list[Culprit]:
    return [Culprit(*row) for row in db.fetch(_CULPRITS, ids=sorted(owner_ids), limit=limit)]


def observed(db: Connection, owner_id: int, *, deep: bool) -> list[Ready]:
    """What a composite owns, directly or at any depth, with the columns that handlers are shown."""
    among = "SELECT id FROM below WHERE id <> :owner" if deep else "SELECT id FROM resources WHERE owner_id = :owner"
    below = (
        "WITH RECURSIVE below(id) AS (SELECT CAST(:owner AS BIGINT) UNION ALL"
        " SELECT c.id FROM resources c JOIN below b ON c.owner_id = b.id) "
    )
    statement = f"{below if deep else ''}{_OBSERVED} WHERE n.id IN ({among}) ORDER BY n.id"
    return [Ready(*row) for row in db.fetch(statement, owner=owner_id)]


def refs(db: Connection, ids: Collection[int]) -> dict[int, Ref]:
    statement = "SELECT n.id, n.kind, n.name FROM resources n WHERE n.id IN (SELECT * FROM IDS(ids))"
    return {row[0]: Ref(row[1], row[2]) for row in db.fetch(statement, ids=sorted(ids))}


def descendant_counts(db: Connection, uids: Collection[str]) -> dict[str, int]:
    """How many resources each whole subtree has below its top; costs an index step for each of them."""
    statement = (
        "WITH RECURSIVE below(uid, id) AS (SELECT n.uid, n.id FROM resources n"
        " WHERE n.uid IN (SELECT * FROM NAMES(uids)) UNION ALL"
        " SELECT b.uid, c.id FROM resources c JOIN below b ON c.owner_id = b.id)"
        " SELECT uid, COUNT(*) - 1 FROM below GROUP BY uid"
    )
    return {row[0]: row[1] for row in db.fetch(statement, uids=list(uids))}


def children_of(db: Connection, id: int, limit: int) -> list[Ref]:
    statement = "SELECT c.kind, c.name FROM resources c WHERE c.owner_id = :id ORDER BY c.id LIMIT :limit"
    return [Ref(*row) for row in db.fetch(statement, id=id, limit=limit)]


def deleting_dependents_of(db: Connection, id: int, limit: int) -> list[Ref]:
    statement = (
        "SELECT d.kind, d.name FROM edges e JOIN resources d ON d.id = e.dependent_id WHERE e.dependency_id = :id"
        " AND d.deletion_requested_at IS NOT NULL ORDER BY d.id LIMIT :limit"
    )
    return [Ref(*row) for row in db.fetch(statement, id=id, limit=limit)]


def phases_below(db: Connection, id: int) -> list[tuple[str, str, int]]:
    """How many resources of each kind are in each phase below one, at any depth."""
    statement = (
        "WITH RECURSIVE below(id) AS (SELECT c.id FROM resources c WHERE c.owner_id = :id UNION ALL"
        " SELECT c.id FROM resources c JOIN below b ON c.owner_id = b.id)"
        " SELECT n.kind, n.phase, count(*) FROM below b JOIN resources n ON n.id = b.id"
        " GROUP BY n.kind, n.phase ORDER BY n.kind, n.phase"
    )
    return [(row[0], row[1], row[2]) for row in db.fetch(statement, id=id)]


def above(db: Connection, ids: Collection[int], limit: int) -> list[int]:
    """Owners of some resources and what these depend on."""
    return _first(db, edges.ABOVE, ids, limit)


def owned(db: Connection, ids: Collection[int], limit: int) -> list[int]:
    """What some resources own. In the order of a sum: in that of its index a planner looks through all resources."""
    statement = (
        "SELECT n.id FROM resources n WHERE n.owner_id IN (SELECT * FROM IDS(ids)) ORDER BY n.id + 0 LIMIT :limit"
    )
    return [row[0] for row in db.fetch(statement, ids=sorted(ids), limit=limit)]


def below(db: Connection, ids: Collection[int], limit: int) -> list[int]:
    """What some resources own, and what depends on them."""
    return _first(db, edges.BELOW, ids, limit)


def _first(db: Connection, statement: str, ids: Collection[int], limit: int) -> list[int]:
    return [row[0] for row in db.fetch(f"{statement} ORDER BY 1 LIMIT :limit", ids=sorted(ids), limit=limit)]


def edges_among(db: Connection, uids: Collection[str], limit: int) -> tuple[list[tuple[Ref, Ref, str]], bool]:
    """The edges between some resources: dependent, dependency and flows; and whether there are more than were read."""
    statement = (
        "SELECT d.kind, d.name, s.kind, s.name, e.flows, s.uid FROM resources d JOIN edges e ON e.dependent_id = d.id"
        " JOIN resources s ON s.id = e.dependency_id WHERE d.uid IN (SELECT * FROM NAMES(uids))"
        " ORDER BY e.dependent_id, e.dependency_id LIMIT :limit"
    )
    inside = set(uids)
    rows = db.fetch(statement, uids=sorted(inside), limit=limit + 1)
    found = [(Ref(*row[:2]), Ref(*row[2:4]), row[4]) for row in rows[:limit] if row[5] in inside]
    return found, len(rows) > limit


def _conditions(where: ResourceFilter) -> tuple[list[str], dict[str, Any]]:
    terms: list[str] = []
    parameters: dict[str, Any] = {}

    def among(column: str, values: Sequence[str]) -> None:
        """Each value is a parameter of its own: of a subquery a planner can't say how many rows it leaves."""
        names = [f"v{len(parameters) + i}" for i in range(len(values))]
        terms.append(f"{column} IN ({', '.join(f':{name}' for name in names)})")
        parameters.update(zip(names, values, strict=True))

    def any_of(columns: tuple[str, str], pairs: Sequence[tuple[str, Any]]) -> None:
        either = []
        for pair in pairs:
            names = [f"v{len(parameters)}", f"v{len(parameters) + 1}"]
            parameters.update(zip(names, pair, strict=True))
            either.append(f"({columns[0]} = :{names[0]} AND {columns[1]} = :{names[1]})")
        terms.append(f"({' OR '.join(either)})")

    if where.kinds:
        among("n.kind", where.kinds)
    if where.pairs:
        any_of(("n.kind", "n.kind_version"), where.pairs)
    if where.owners:
        any_of(("o.kind", "o.name"), where.owners)
    if where.phases:
        among("n.phase", where.phases)
        if Phase.READY not in where.phases:
            terms.append("n.phase <> 'Ready'")  # lets the planner use the index of what is not Ready
    if where.roots_only:
        terms.append("n.owner_id IS NULL")
    if where.name:
        parameters["name"] = "%" + where.name.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
        terms.append("lower(n.name) LIKE :name ESCAPE '!'")
    for i, (key, value) in enumerate(where.labels.items()):
        parameters.update({f"key{i}": key, f"value{i}": value})
        terms.append(
            f"n.id IN (SELECT l.resource_id FROM resource_labels l WHERE l.key = :key{i} AND l.value = :value{i})"
        )
    return terms, parameters


def _seen(row: Row) -> Seen:
    nodes, tasks = len(NODE_COLUMNS), len(NODE_COLUMNS) + len(TASK_COLUMNS)
    node = Node(*row[:nodes])
    node.whole = True
    task = TaskRow(*row[nodes:tasks]) if row[nodes] is not None else None
    owner = Ref(row[tasks], row[tasks + 1]) if row[tasks] is not None else None
    root = Ref(row[tasks + 2], row[tasks + 3]) if row[tasks + 2] is not None else None
    return Seen(node, task, owner, root)
