"""Resources as handlers see them."""

from __future__ import annotations

import orjson

from stdworker.engine.store import lists
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.documents import from_text
from stdworker.engine.store.rows import DeliveryRow, OperationRow
from stdworker.engine.store.tasks import Ready
from stdworker.model.kind import Phase
from stdworker.model.resource import Operation, Resource


def resource(row: Ready) -> Resource:
    """A resource as its handler sees it when its task is handed out."""
    seen = _seen(row)
    seen.finalizers = () if row.finalizers == "[]" else tuple(orjson.loads(row.finalizers))
    seen.deletion_requested_at_ms, seen.frozen_until_ms = row.deletion_requested_at, row.frozen_until
    seen.quarantined = row.phase == Phase.QUARANTINED
    return seen


def at_crossing(row: DeliveryRow) -> Resource:
    """A resource as its reactor sees it: as it was when it crossed."""
    return _seen(row)


def _seen(row: Ready | DeliveryRow) -> Resource:
    return Resource(
        row.uid,
        row.kind,
        row.name,
        row.kind_version,
        row.generation,
        row.synced_gen,
        from_text(row.spec),
        from_text(row.status),
        {} if row.labels == "{}" else orjson.loads(row.labels),
        row.owner_uid,
        row.root_uid,
        row.phase == Phase.READY,
        row.phase,
    )


def operation(row: OperationRow) -> Operation:
    """An operation as its handler sees it."""
    return Operation(row.verb, from_text(row.input), row.attempts, row.requested_by)


def children(db: Connection, resource_id: int) -> list[Resource]:
    """What a composite owns now, in the order in which it was made."""
    return [resource(row) for row in lists.observed(db, resource_id, deep=False)]


def descendants(db: Connection, resource_id: int) -> list[Resource]:
    """The whole subtree below a composite."""
    return [resource(row) for row in lists.observed(db, resource_id, deep=True)]
