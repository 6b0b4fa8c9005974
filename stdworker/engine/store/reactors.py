"""Reactors in the store: what they watch, and the outbox of what they are told.

A delivery is written beside its place in the queue, which has its id: both are taken from the sequence of
resources. It goes with that place, unless it is dead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple
from typing import NamedTuple

from stdworker.engine.store import catalog
from stdworker.engine.store.contract import Connection, Row
from stdworker.engine.store.rows import (
    BINDING_COLUMNS,
    DELIVERY_COLUMNS,
    REACT,
    ROWS_PER_RESOURCE,
    BindingRow,
    DeliveryRow,
)
from stdworker.engine.store.sql import selected, update, upsert
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

_BINDING = f"SELECT {selected('b', BINDING_COLUMNS)} FROM reactor_bindings b"
_SAVE_BINDING = upsert("reactor_bindings", ("name",), BINDING_COLUMNS)

_DELIVERY = selected("d", DELIVERY_COLUMNS)
_SNAPSHOT = DELIVERY_COLUMNS[DELIVERY_COLUMNS.index("uid") : DELIVERY_COLUMNS.index("owner_uid")]
_SEND = (
    "INSERT INTO deliveries (id, binding, transition, reactor, reactor_version, dedup_token, created_at,"
    f" {', '.join(_SNAPSHOT)}, owner_uid, root_uid, spec, status, attempts, reason, message)"
    " SELECT r.id, r.binding, r.transition, r.reactor, r.reactor_version, r.dedup_token, r.created_at,"
    f" {selected('n', _SNAPSHOT)}, o.uid, t.uid, n.spec, n.status, 0, '', ''"
    " FROM ROWS(id int, resource_id int, binding text, transition text, reactor text, reactor_version int,"
    " dedup_token text, created_at int) r JOIN resources n ON n.id = r.resource_id"
    " LEFT JOIN resources o ON o.id = n.owner_id LEFT JOIN resources t ON t.id = n.root_id"
)
_IS_DELIVERY = f"q.id % {ROWS_PER_RESOURCE} = {REACT}"
_WAITS = "q.kind = :kind AND q.kind_version = :version AND q.claimed_by IS NULL AND NOT q.held"
_READY = (
    f"SELECT q.id, q.epoch, q.seq, {_DELIVERY} FROM queue q JOIN deliveries d ON d.id = q.resource_id"
    f" WHERE {_WAITS} AND q.position <= :until ORDER BY q.position LIMIT :limit LOCK_SKIP(q)"
)
_OTHERS = (
    f"SELECT count(*) FROM (SELECT q.id FROM queue q WHERE {_WAITS} AND q.position <= :until"
    f" ORDER BY q.position LIMIT :limit) AS q WHERE NOT {_IS_DELIVERY}"
)
_AWAITED = (
    f"SELECT 1 WHERE EXISTS (SELECT 1 FROM queue q WHERE {_WAITS} AND {_IS_DELIVERY}) OR EXISTS (SELECT 1 FROM queue q"
    f" WHERE q.kind = :kind AND q.kind_version = :version AND q.claimed_by IS NOT NULL AND {_IS_DELIVERY})"
)
_MOVABLE = (
    "SELECT q.id FROM queue q JOIN deliveries d ON d.id = q.resource_id WHERE q.kind = :kind"
    " AND q.kind_version <> :version AND q.claimed_by IS NULL AND NOT q.held AND d.reactor_version IS NULL"
    " ORDER BY q.id LOCK(q)"
)
_MARK = update("deliveries", ("id", "dead_at", "attempts", "reason", "message"))
_LAST_GIVEN_UP = "SELECT id FROM deliveries WHERE dead_at IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET :keep"
_PRUNE = (
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE dead_at IS NOT NULL"
    f" AND (dead_at < :oldest OR id <= coalesce(({_LAST_GIVEN_UP}), 0)) ORDER BY id LIMIT :limit)"
)
_COUNTS = (
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE dead_at IS NULL LIMIT :most) AS waiting),"
    " (SELECT count(*) FROM deliveries WHERE dead_at IS NOT NULL)"
)


_UNTAKEN = (
    "SELECT w.binding, w.waiting, w.first, d.kind, d.name, d.created_at FROM"
    " (SELECT u.binding, count(*) AS waiting, min(u.id) AS first"
    " FROM (SELECT binding, id FROM deliveries WHERE dead_at IS NULL LIMIT :most) AS u GROUP BY u.binding) AS w"
    " JOIN deliveries d ON d.id = w.first"
)


class Untaken(NamedTuple):
    """How many deliveries of a binding wait or run, and what the first one is about."""

    binding: str
    deliveries: int
    first: int
    kind: str
    name: str
    created_at: int

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.name)


class ReadyDelivery(NamedTuple):
    """A delivery that can be claimed; `id` is that of its place in the queue."""

    id: int
    epoch: int
    seq: int
    delivery: DeliveryRow


# ---- bindings ----


def bindings(db: Connection, after: str = "", limit: int | None = None) -> list[BindingRow]:
    """By name, those after one; all without a limit."""
    bounded = f"{_BINDING} WHERE b.name > :after ORDER BY b.name LIMIT :limit"
    rows = db.fetch(f"{_BINDING} ORDER BY b.name") if limit is None else db.fetch(bounded, after=after, limit=limit)
    return [_binding(row) for row in rows]


def binding(db: Connection, name: str) -> BindingRow | None:
    rows = db.fetch(f"{_BINDING} WHERE b.name = :name", name=name)
    return _binding(rows[0]) if rows else None


def save_binding(db: Connection, row: BindingRow) -> None:
    db.write(_SAVE_BINDING, [astuple(row)])
    catalog.changed(db)


def remove_binding(db: Connection, name: str) -> None:
    db.run("DELETE FROM reactor_bindings WHERE name = :name", name=name)
    catalog.changed(db)


def _binding(row: Row) -> BindingRow:
    found = BindingRow(*row)
    found.enabled = bool(found.enabled)
    return found


# ---- deliveries ----


def send(db: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Write deliveries with their resources as they are stored now.

    Rows: id, resource, binding, transition, reactor, its version if named, dedup token, now.
    """
    db.run(_SEND, rows)


def ready(db: Connection, pair: KindVersion, limit: int, until: int) -> list[ReadyDelivery]:
    """The first deliveries to a reactor that may run now, held; what others hold is skipped."""
    rows = db.fetch(_READY, **pair._asdict(), limit=limit, until=until)
    return [ReadyDelivery(row[0], row[1], row[2], DeliveryRow(*row[3:])) for row in rows]


def others_first(db: Connection, pair: KindVersion, limit: int, until: int) -> int:
    """How many of the first tasks of a pair are no deliveries."""
    return int(db.fetch(_OTHERS, **pair._asdict(), limit=limit, until=until)[0][0])


def is_awaited(db: Connection, pair: KindVersion) -> bool:
    """Is any delivery queued for, or leased to, workers of the pair?"""
    return bool(db.fetch(_AWAITED, **pair._asdict()))


def move(db: Connection, pair: KindVersion) -> None:
    """Have waiting deliveries that are for the newest version of the kind wait for workers of this one."""
    ids = [row[0] for row in db.fetch(_MOVABLE, **pair._asdict())]
    if ids:
        moved = "UPDATE queue SET kind_version = :version WHERE id IN (SELECT * FROM IDS(ids))"
        db.run(moved, ids=ids, version=pair.version)


def get(db: Connection, id: int) -> DeliveryRow:
    """A delivery that has a place in the queue, or is dead."""
    return DeliveryRow(*db.fetch(f"SELECT {_DELIVERY} FROM deliveries d WHERE d.id = :id", id=id)[0])


def dead_letter(db: Connection, id: int, *, lock: bool = False) -> DeliveryRow | None:
    """A delivery if it is dead; with `lock` it is held until the transaction ends."""
    statement = f"SELECT {_DELIVERY} FROM deliveries d WHERE d.id = :id AND d.dead_at IS NOT NULL"
    rows = db.fetch(statement + " LOCK(d)" if lock else statement, id=id)
    return DeliveryRow(*rows[0]) if rows else None


def forget(db: Connection, ids: Collection[int]) -> None:
    """Deliveries left the queue: those that are not dead have arrived."""
    db.run("DELETE FROM deliveries WHERE id IN (SELECT * FROM IDS(ids)) AND dead_at IS NULL", ids=sorted(ids))


def mark(db: Connection, id: int, dead_at: int | None, attempts: int, reason: str, message: str) -> None:
    """Give a delivery up at an instant; None: take it up again."""
    db.write(_MARK, [(id, dead_at, attempts, reason, message)])


def dead(db: Connection, before: int, limit: int) -> list[DeliveryRow]:
    """Dead letters below an id, the newest crossing first."""
    statement = (
        f"SELECT {_DELIVERY} FROM deliveries d WHERE d.dead_at IS NOT NULL AND d.id < :before"
        " ORDER BY d.id DESC LIMIT :limit"
    )
    return [DeliveryRow(*row) for row in db.fetch(statement, before=before, limit=limit)]


def untaken(db: Connection, most: int) -> list[Untaken]:
    """By binding, what no reactor has taken, counted to a bound."""
    return [Untaken(*row) for row in db.fetch(_UNTAKEN, most=most)]


def counts(db: Connection, most: int) -> dict[str, int]:
    """How many deliveries wait or run, counted to a bound, and how many are dead."""
    return dict(zip(("waiting", "dead"), db.fetch(_COUNTS, most=most)[0], strict=True))


def prune(db: Connection, keep: int, oldest_ms: int, limit: int) -> int:
    """Drop dead letters beyond the newest `keep`, and those dead since before an instant; at most `limit`."""
    return db.run(_PRUNE, keep=keep, oldest=oldest_ms, limit=limit)
