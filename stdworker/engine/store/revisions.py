"""Specs that a resource had before the one that it has, each with the generation from which it was there.

The live one is in the resource itself, so that a resource that never changes costs nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import REVISION_COLUMNS, RevisionRow
from stdworker.engine.store.sql import insert, selected

_REVISION = selected("r", REVISION_COLUMNS)
_SAVE = insert("revisions", REVISION_COLUMNS)
_PRUNE = (
    "DELETE FROM revisions WHERE (resource_id, generation) IN (SELECT resource_id, generation FROM"
    " (SELECT r.resource_id, r.generation,"
    " row_number() OVER (PARTITION BY r.resource_id ORDER BY r.generation DESC) AS place"
    " FROM revisions r WHERE r.resource_id IN (SELECT * FROM IDS(ids))) AS ranked WHERE place > :keep)"
)
_BEFORE = (
    f"SELECT {_REVISION} FROM revisions r WHERE r.resource_id = :id AND r.generation < :before"
    " ORDER BY r.generation DESC LIMIT :limit"
)

_values = attrgetter(*REVISION_COLUMNS)


def save(db: Connection, rows: Sequence[RevisionRow]) -> None:
    db.write(_SAVE, [_values(row) for row in rows])


def prune(db: Connection, resource_ids: Collection[int], keep: int) -> None:
    """Forget all but the youngest of each resource."""
    db.run(_PRUNE, ids=sorted(resource_ids), keep=keep)


def before(db: Connection, resource_id: int, generation: int, limit: int) -> list[RevisionRow]:
    """Those that were there before a generation, the youngest first."""
    return [RevisionRow(*row) for row in db.fetch(_BEFORE, id=resource_id, before=generation, limit=limit)]
