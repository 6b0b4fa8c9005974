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
    "INSERT INTO rechecks (what, resource_id) SELECT what, resource_id FROM ("
    "SELECT r.what, r.resource_id FROM ROWS(what int, resource_id int) r"
    f" UNION SELECT {GATE}, e.dependent_id FROM edges e WHERE e.dependency_id IN (SELECT * FROM IDS(ids))"
    ") AS asked ORDER BY what, resource_id ON CONFLICT DO NOTHING"
)
_DEPENDENTS_AMONG = (
    "SELECT DISTINCT e.dependent_id FROM edges e WHERE e.dependency_id IN (SELECT * FROM IDS(ids))"
    " AND e.dependent_id IN (SELECT * FROM IDS(among))"
)
_NEXT = "SELECT c.what, c.resource_id FROM rechecks c ORDER BY c.what, c.resource_id LIMIT :limit"
_PAIRS = typed("rechecks", ("what", "resource_id"))
# As a join it would go through all pairs for each row: Postgres takes this table for empty, which it often is.
_DONE = (
    "DELETE FROM rechecks WHERE (what, resource_id) <= (:what, :id)"
    f" AND CASE WHEN (what, resource_id) IN (SELECT * FROM ROWS({_PAIRS}) AS r) THEN true ELSE false END"
)
ABOVE = (
    "SELECT n.owner_id FROM resources n WHERE n.id IN (SELECT * FROM IDS(ids)) AND n.owner_id IS NOT NULL"
    " UNION SELECT e.dependency_id FROM edges e WHERE e.dependent_id IN (SELECT * FROM IDS(ids))"
)
"""The owners of some resources, and what they depend on."""

BELOW = (
    "SELECT n.id FROM resources n WHERE n.owner_id IN (SELECT * FROM IDS(ids))"
    " UNION SELECT e.dependent_id FROM edges e WHERE e.dependency_id IN (SELECT * FROM IDS(ids))"
)
"""What some resources own, and what depends on them."""


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


def recheck(db: Connection, rows: Iterable[tuple[int, int]], dependents_of: Collection[int] = ()) -> None:
    """Ask for (what, resource) to be looked at after this transaction, and for all that depends on some resources.

    In one order: whoever asks for the same at the same time waits there.
    """
    if dependents_of:
        db.run(_FAN_OUT, sorted(rows), ids=sorted(dependents_of))
    else:
        db.write(_RECHECK, sorted(rows))


def take_rechecks(db: Connection, limit: int) -> list[tuple[int, int]]:
    """The next (what, resource) pairs; `end_rechecks` says that they are done."""
    return [(row[0], row[1]) for row in db.fetch(_NEXT, limit=limit)]


def end_rechecks(db: Connection, rows: Collection[tuple[int, int]], but_dependents_of: Collection[int] = ()) -> None:
    """Forget pairs, except those of dependents that were asked for again.

    As late as can be: who asks for one of them waits for this transaction from now on, which waits for nobody.
    """
    gates = [id for what, id in rows if what == GATE] if but_dependents_of else []
    again = db.fetch(_DEPENDENTS_AMONG, ids=sorted(but_dependents_of), among=sorted(gates)) if gates else []
    pairs = sorted({*rows} - {(GATE, row[0]) for row in again})
    if not pairs:
        return
    db.run(_DONE, rows=pairs, what=pairs[-1][0], id=pairs[-1][1])


def around(db: Connection, ids: Collection[int]) -> list[int]:
    """The owners of some resources, and what they depend on."""
    return [row[0] for row in db.fetch(ABOVE, ids=sorted(ids))]


def _edges(db: Connection, where: str, **parameters: Any) -> list[EdgeRow]:
    statement = f"SELECT {_EDGE} FROM edges e WHERE {where} ORDER BY e.dependent_id, e.dependency_id"
    return [EdgeRow(*row) for row in db.fetch(statement, **parameters)]
