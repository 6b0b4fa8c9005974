"""The durable event sequence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.sql import insert, selected
from stdworker.model.resource import Ref

_COLUMNS = ("seq", "kind", "name", "uid", "type", "reason", "message", "actor", "detail", "created_at")
_ADD = insert("events", _COLUMNS)
_NEXT = "UPDATE counters SET value = value + :count WHERE name = 'events' RETURNING value"


class EventRow(NamedTuple):
    """An event before it has its place in the sequence; `detail` is JSON."""

    kind: str | None
    name: str | None
    uid: str | None
    type: str
    reason: str
    message: str
    actor: str
    detail: str
    created_at: int


def add(db: Connection, events: Sequence[EventRow]) -> None:
    """Append. Last in a transaction: the counter's row is held until the commit, so readers see no gap."""
    last = db.fetch(_NEXT, count=len(events))[0][0]
    db.write(_ADD, [(last - len(events) + i, *event) for i, event in enumerate(events, 1)])


def read(db: Connection, ref: Ref | None, after: int, limit: int) -> list[tuple[int, EventRow]]:
    of = "kind = :kind AND name = :name AND " if ref else ""
    statement = f"SELECT {', '.join(_COLUMNS)} FROM events WHERE {of}seq > :after ORDER BY seq LIMIT :limit"
    rows = db.fetch(statement, after=after, limit=limit, **(ref._asdict() if ref else {}))
    return [(row[0], EventRow(*row[1:])) for row in rows]


def last(db: Connection) -> int:
    """The place of the youngest event, 0 before the first."""
    number: int = db.fetch("SELECT value FROM counters WHERE name = 'events'")[0][0]
    return number


def of_type(db: Connection, type: str, refs: Collection[Ref]) -> list[EventRow]:
    """The kept events of one type about some resources."""
    statement = (
        f"SELECT {selected('e', _COLUMNS[1:])} FROM ROWS(kind text, name text) r"
        " JOIN events e ON e.kind = r.kind AND e.name = r.name WHERE e.type = :type"
    )
    return [EventRow(*row) for row in db.fetch(statement, rows=[tuple(ref) for ref in refs], type=type)]


def prune(db: Connection, keep: int, oldest_ms: int, limit: int) -> int:
    """Drop the oldest events beyond `keep`, and those older than an instant; at most `limit` at a time."""
    return db.run(
        "DELETE FROM events WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM events ORDER BY seq"
        " LIMIT :limit) AS first WHERE seq <= :last OR created_at < :oldest)",
        last=last(db) - keep,
        oldest=oldest_ms,
        limit=limit,
    )
