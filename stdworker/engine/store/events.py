"""The durable event sequence. What someone asked for is its audit, which is kept on its own account."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import NamedTuple

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.records import AuditFilter
from stdworker.engine.store.sql import insert, selected
from stdworker.model.resource import Ref

_COLUMNS = ("seq", "kind", "name", "uid", "type", "reason", "message", "actor", "detail", "created_at", "audited")
_ADD = insert("events", _COLUMNS)
_PRUNED = "events_pruned"  # the counter of up to where only the audit is kept
_AUDIT_CONDITIONS = {
    "actor": "actor = :actor",
    "type": "type = :type",
    "kind": "kind = :kind",
    "name": "name = :name",
    "since_ms": "created_at >= :since_ms",
    "until_ms": "created_at < :until_ms",
}
_NEXT = "UPDATE counters SET value = value + :count WHERE name = 'events' RETURNING value"


class EventRow(NamedTuple):
    """An event before it has its place in the sequence; `detail` is JSON.

    Without a uid it is about no resource: `kind` and `name` are then of the kind or the config that it is about.
    """

    kind: str | None
    name: str | None
    uid: str | None
    type: str
    reason: str
    message: str
    actor: str
    detail: str
    created_at: int
    audited: bool = False


def add(db: Connection, events: Sequence[EventRow]) -> None:
    """Append. Last in a transaction: the counter's row is held until the commit, so readers see no gap."""
    last = db.fetch(_NEXT, count=len(events))[0][0]
    db.write(_ADD, [(last - len(events) + i, *event) for i, event in enumerate(events, 1)])


def read(db: Connection, ref: Ref | None, after: int, limit: int) -> list[tuple[int, EventRow]]:
    of = "kind = :kind AND name = :name AND uid IS NOT NULL AND " if ref else ""
    statement = f"SELECT {', '.join(_COLUMNS)} FROM events WHERE {of}seq > :after ORDER BY seq LIMIT :limit"
    rows = db.fetch(statement, after=after, limit=limit, **(ref._asdict() if ref else {}))
    return [(row[0], EventRow(*row[1:])) for row in rows]


def last(db: Connection) -> int:
    """The place of the youngest event, 0 before the first."""
    number: int = db.fetch("SELECT value FROM counters WHERE name = 'events'")[0][0]
    return number


def of_type(db: Connection, type: str, refs: Collection[Ref]) -> list[EventRow]:
    """The kept events of one type about some resources, the oldest first."""
    statement = (
        f"SELECT {selected('e', _COLUMNS[1:])} FROM ROWS(kind text, name text) r"
        " JOIN events e ON e.kind = r.kind AND e.name = r.name WHERE e.type = :type ORDER BY e.seq"
    )
    return [EventRow(*row) for row in db.fetch(statement, rows=[tuple(ref) for ref in refs], type=type)]


def audit(db: Connection, where: AuditFilter, before: int, limit: int) -> list[tuple[int, EventRow]]:
    """What people asked for, the youngest first, from before a place in the sequence."""
    given = {name: value for name, value in asdict(where).items() if value is not None}
    conditions = "".join(f" AND {_AUDIT_CONDITIONS[name]}" for name in given)
    statement = (
        f"SELECT {', '.join(_COLUMNS)} FROM events WHERE audited AND seq < :before{conditions}"
        " ORDER BY seq DESC LIMIT :limit"
    )
    return [(row[0], EventRow(*row[1:])) for row in db.fetch(statement, before=before, limit=limit, **given)]


def prune(db: Connection, keep: int, oldest_ms: int, limit: int) -> int:
    """Drop the oldest events beyond `keep`, and those older than an instant; looks at `limit` at most.

    The audit is counted by itself, so that however much the engine does, what people did is still to be seen.
    Answers how many places it went on, `limit` or more when it is to be called again.
    """
    begun: int = db.fetch(f"SELECT value FROM counters WHERE name = '{_PRUNED}'")[0][0]
    statement = (
        "SELECT max(seq) FROM (SELECT seq, created_at FROM events WHERE seq > :begun ORDER BY seq LIMIT :limit)"
        " AS first WHERE seq <= :last OR created_at < :oldest"
    )
    end = db.fetch(statement, begun=begun, last=last(db) - keep, oldest=oldest_ms, limit=limit)[0][0] or begun
    if end > begun:
        db.run("DELETE FROM events WHERE seq > :begun AND seq <= :end AND NOT audited", begun=begun, end=end)
        db.run(f"UPDATE counters SET value = :end WHERE name = '{_PRUNED}'", end=end)
    gone_on = end - begun
    return gone_on if gone_on >= limit else max(gone_on, _prune_audit(db, keep, oldest_ms, limit))


def _prune_audit(db: Connection, keep: int, oldest_ms: int, limit: int) -> int:
    beyond = db.fetch("SELECT seq FROM events WHERE audited ORDER BY seq DESC LIMIT 1 OFFSET :keep", keep=keep)
    return db.run(
        "DELETE FROM events WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM events WHERE audited"
        " ORDER BY seq LIMIT :limit) AS first WHERE seq <= :last OR created_at < :oldest)",
        last=beyond[0][0] if beyond else 0,
        oldest=oldest_ms,
        limit=limit,
    )
