"""Operations in the store: what was asked of a resource, in its order, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import OPERATION_COLUMNS, OperationRow
from stdworker.engine.store.sql import selected, upsert
from stdworker.model.resource import Ref

_OPERATION = selected("o", OPERATION_COLUMNS)
_OPEN = "state IN ('pending', 'running')"
_SAVE = upsert("operations", ("uid",), OPERATION_COLUMNS)
_OPENED = (
    f"SELECT {_OPERATION} FROM operations o WHERE o.resource_id IN (SELECT * FROM IDS(ids)) AND o.{_OPEN}"
    " ORDER BY o.resource_id, o.number"
)
_OF = (
    f"SELECT {_OPERATION} FROM operations o JOIN resources n ON n.id = o.resource_id"
    " WHERE n.kind = :kind AND n.name = :name"
)

_values = attrgetter(*OPERATION_COLUMNS)


def save(db: Connection, rows: Sequence[OperationRow]) -> None:
    db.write(_SAVE, [_values(row) for row in rows])


def opened(db: Connection, resource_ids: Collection[int]) -> dict[int, list[OperationRow]]:
    """The operations of each resource that have not ended, the first one first."""
    found: dict[int, list[OperationRow]] = {}
    for row in db.fetch(_OPENED, ids=sorted(resource_ids)):
        operation = OperationRow(*row)
        found.setdefault(operation.resource_id, []).append(operation)
    return found


def last_number(db: Connection, resource_id: int) -> int:
    """Of the resource's newest operation; 0 when it has none."""
    statement = "SELECT coalesce(max(number), 0) FROM operations WHERE resource_id = :id"
    return int(db.fetch(statement, id=resource_id)[0][0])


def prune(db: Connection, resource_id: int, last: int) -> None:
    """Forget the resource's operations up to a number, except those that have not ended."""
    statement = f"DELETE FROM operations WHERE resource_id = :id AND number <= :last AND NOT {_OPEN}"
    db.run(statement, id=resource_id, last=last)


def of(db: Connection, ref: Ref, before: int, limit: int) -> list[OperationRow]:
    """A resource's operations below a number, the newest first."""
    statement = _OF + " AND o.number < :before ORDER BY o.number DESC LIMIT :limit"
    return [OperationRow(*row) for row in db.fetch(statement, **ref._asdict(), before=before, limit=limit)]


def get(db: Connection, ref: Ref, uid: str) -> OperationRow | None:
    rows = db.fetch(_OF + " AND o.uid = :uid", **ref._asdict(), uid=uid)
    return OperationRow(*rows[0]) if rows else None
