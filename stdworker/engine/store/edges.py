"""Dependencies between children, and rechecks: what must be looked at again after a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import EdgeRow
from stdworker.engine.store.sql import insert, selected, typed, upsert

GATE, SOURCE, REMOVAL = 0, 1, 2
"""Why a resource is looked at, in this order: what it waits for changed · it changed · it may be removable."""

_COLUMNS = tuple(field.name for field in fields(EdgeRow))
_EDGE = selected("e", _COLUMNS)
_SAVE = upsert("edges", ("dependent_id", "dependency_id"), _COLUMNS)
_RECHECK = insert("rechecks", ("what", "resource_id"), "ON CONFLICT DO NOTHING")
_FAN_OUT = (
    f"INSERT INTO rechecks (what, resource_id) SELECT DISTINCT {GATE}, e.dependent_id FROM edges e"
    " WHERE e.dependency_id IN (SELECT * FROM IDS(ids)) ON CONFLICT DO NOTHING"
)
_TAKE = (
    "DELETE FROM rechecks WHERE (what, resource_id) IN"
    " (SELECT what, resource_id FROM rechecks ORDER BY what, resource_id LIMIT :limit) RETURNING what, resource_id"
)


def owned(db: Connection, owner_id: int) -> list[EdgeRow]:
    return _edges(db, "e.owner_id = :id", id=owner_id)


def of_dependents(db: Connection, ids: Collection[int]) -> list[EdgeRow]:
    return _edges(db, "e.dependent_id IN (SELECT * FROM IDS(ids))", ids=sorted(ids)) if ids else []


def of_dependent(db: Connection, id: int, after: int, limit: int) -> list[EdgeRow]:
    """The edges from one resource, from the dependency after `after` on."""
    where = "e.dependent_id = :id AND e.dependency_id > :after"
    statement = f"SELECT {_EDGE} FROM edges e WHERE {where} ORDER BY e.dependency_id LIMIT :limit"
    return [EdgeRow(*row) for row in db.fetch(statement, id=id, after=after, limit=limit)]


def save(db: Connection, edges: Sequence[EdgeRow]) -> None:
    db.write(_SAVE, [astuple(edge) for edge in edges])


def remove(db: Connection, keys: Iterable[tuple[int, int]]) -> None:
    columns = typed("edges", ("dependent_id", "dependency_id"))
    db.run(
        f"DELETE FROM edges WHERE (dependent_id, dependency_id) IN (SELECT * FROM ROWS({columns}) AS r)",
        rows=sorted(keys),
    )


def recheck(db: Connection, rows: Iterable[tuple[int, int]]) -> None:
    """Ask for (what, resource) to be looked at after this transaction."""
    db.write(_RECHECK, sorted(rows))


def recheck_dependents(db: Connection, ids: Collection[int]) -> None:
    """Ask for everything that depends on these to be looked at."""
    db.run(_FAN_OUT, ids=sorted(ids))


def take_rechecks(db: Connection, limit: int) -> list[tuple[int, int]]:
    """Take the next (what, resource) pairs; with this transaction they are done."""
    return sorted((row[0], row[1]) for row in db.fetch(_TAKE, limit=limit))


def _edges(db: Connection, where: str, **parameters: Any) -> list[EdgeRow]:
    statement = f"SELECT {_EDGE} FROM edges e WHERE {where} ORDER BY e.dependent_id, e.dependency_id"
    return [EdgeRow(*row) for row in db.fetch(statement, **parameters)]
