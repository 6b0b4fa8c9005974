"""The queue in the store: what waits, what is leased, and to whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import REACT, ROWS_PER_RESOURCE, TASK_COLUMNS, TaskRow, type_of
from stdworker.engine.store.sql import selected, update, upsert
from stdworker.model.kind import KindVersion

_CLAIM = (
    *("id", "claimed_by", "worker", "token", "epoch", "stage", "generation", "claimed_seq"),
    *("heartbeat_at", "claimed_at"),
)
_TASK = selected("q", TASK_COLUMNS)

_LOCK = f"SELECT PACKED({_TASK}) FROM queue q WHERE q.id IN (SELECT * FROM IDS(ids)) ORDER BY q.id LOCK(q)"
_LOCK_NOW = _LOCK.replace("LOCK(", "LOCK_NOW(")
_READ = f"SELECT {_TASK} FROM queue q WHERE q.id IN (SELECT * FROM IDS(ids))"
_AHEAD = (
    "SELECT count(*) FROM (SELECT 1 FROM queue WHERE kind = :kind AND kind_version = :version AND claimed_by IS NULL"
    " AND NOT held AND position < :position LIMIT :limit) AS ahead"
)
SHOWN = (
    "n.uid, n.kind, n.name, n.kind_version, n.generation, n.synced_gen, n.worked_gen, n.composed_gen, n.due,"
    " n.unsettled, n.phase, n.spec, n.status, n.labels, n.finalizers, n.deletion_requested_at, n.frozen_until,"
    " o.uid, t.uid"
)
"""What a handler is shown of a resource `n`, its owner `o` and its root `t`: the columns of `Ready` from `uid` on."""

_READY_COLUMNS = f"q.id, q.resource_id, q.reasons, q.seq, q.done, q.epoch, q.attempts, {SHOWN}, c.spec, c.bundle"
_READY = (
    "SELECT * FROM (SELECT {columns} FROM queue q JOIN resources n ON n.id = q.resource_id"
    " LEFT JOIN resources o ON o.id = n.owner_id LEFT JOIN resources t ON t.id = n.root_id"
    " LEFT JOIN provider_configs c ON c.name = n.provider_config"
    " WHERE q.kind = :kind{i} AND q.kind_version = :version{i} AND q.claimed_by IS NULL AND NOT q.held"
    " AND q.position <= :until ORDER BY q.position LIMIT :limit{i} LOCK_SKIP(q)) AS pair{i}"
)
# With an OFFSET it stays a look into the index for each pair: as a join Postgres reads a queue that has just grown.
_HAVE_READY = (
    "SELECT r.kind, r.version FROM ROWS(kind text, version int) r WHERE EXISTS (SELECT 1 FROM queue q"
    " WHERE q.kind = r.kind AND q.kind_version = r.version AND q.claimed_by IS NULL AND NOT q.held"
    " AND q.position <= :until LIMIT 1 OFFSET 0)"
)
_NEXT = (
    "SELECT min(position) FROM (SELECT (SELECT q.position FROM queue q WHERE q.kind = r.kind"
    " AND q.kind_version = r.version AND q.claimed_by IS NULL AND NOT q.held AND q.position > :after"
    " ORDER BY q.position LIMIT 1) AS position FROM ROWS(kind text, version int) r) AS first"
)
_LATER = (
    "SELECT q.id FROM queue q WHERE q.kind = :kind AND q.kind_version = :version AND q.claimed_by IS NULL"
    " AND NOT q.held AND q.position > :after ORDER BY q.position LIMIT :limit"
)
_INFLIGHT = (
    "SELECT count(*) FROM queue WHERE kind = :kind AND kind_version = :version AND claimed_by IS NOT NULL"
    f" AND id % {ROWS_PER_RESOURCE} <> {REACT}"
)
_SAVE = upsert("queue", ("id",), TASK_COLUMNS)
_SAVE_CLAIM = update("queue", _CLAIM)
_BEAT = (
    "UPDATE queue SET claimed_by = :broker, worker = :worker, heartbeat_at = :now,"
    " void_told = void_told AND claimed_by = :broker AND worker = :worker WHERE id IN (SELECT * FROM IDS(ids))"
)
_HELD = (
    "SELECT q.id, q.kind, q.kind_version, q.token, q.epoch, q.claimed_by, q.worker, q.superseded FROM queue q"
    " WHERE q.id IN (SELECT * FROM IDS(ids)) ORDER BY q.id LOCK(q)"
)
_THERE = "SELECT q.id FROM queue q WHERE q.id IN (SELECT * FROM IDS(ids))"
_UNCLAIMED = f"{_THERE} AND q.claimed_by IS NULL ORDER BY q.id LOCK_SKIP(q)"
_PUT_AT = "UPDATE queue SET position = :position WHERE id IN (SELECT * FROM IDS(ids))"
_HOLD = "UPDATE queue SET held = true WHERE id IN (SELECT * FROM IDS(ids))"
_PROGRESS = update("queue", ("id", "progress", "progress_message"))
_VOID = (
    "UPDATE queue SET void_told = true WHERE id IN (SELECT q.id FROM queue q WHERE q.claimed_by = :broker"
    " AND q.superseded IS NOT NULL AND NOT q.void_told ORDER BY q.id LOCK(q)) RETURNING token, epoch, superseded"
)
_LEASES = "SELECT id, token, epoch, heartbeat_at FROM queue WHERE claimed_by IS NOT NULL"

_all_values = attrgetter(*TASK_COLUMNS)


class Ready(NamedTuple):
    """A task that can be claimed, with all that its worker is told."""

    id: int
    resource_id: int
    reasons: int
    seq: int
    done: int
    epoch: int
    attempts: int
    uid: str
    kind: str
    name: str
    kind_version: int
    generation: int
    synced_gen: int
    worked_gen: int
    composed_gen: int
    due: int
    unsettled: int
    phase: str
    spec: str | None
    status: str | None
    labels: str
    finalizers: str
    deletion_requested_at: int | None
    frozen_until: int | None
    owner_uid: str | None
    root_uid: str | None
    config_spec: str | None
    config_bundle: bytes | None

    @property
    def task_type(self) -> int:
        return type_of(self.id)


class HeldRow(NamedTuple):
    """What decides whether a lease is valid."""

    id: int
    kind: str
    kind_version: int
    token: str | None
    epoch: int
    claimed_by: str | None
    worker: str | None
    superseded: str | None


class LeaseRow(NamedTuple):
    """A lease as the reaper watches it."""

    id: int
    token: str
    epoch: int
    heartbeat_at: int


def lock(db: Connection, ids: Collection[int], *, wait: bool = True) -> list[TaskRow]:
    """Those of the rows that are there, held; without `wait` it raises Contended when others hold one."""
    return [TaskRow(*row) for row in db.fetch(_LOCK if wait else _LOCK_NOW, ids=sorted(ids))] if ids else []


def read(db: Connection, ids: Collection[int]) -> list[TaskRow]:
    """Those of the rows that are there, as they are now."""
    return [TaskRow(*row) for row in db.fetch(_READ, ids=sorted(ids))]


def count_ahead(db: Connection, row: TaskRow, limit: int) -> int:
    """How many tasks of the row's pair come before it, counted up to a limit."""
    return int(db.fetch(_AHEAD, **row.pair._asdict(), position=row.position, limit=limit)[0][0])


def count_leased(db: Connection, pair: KindVersion) -> int:
    return int(db.fetch(_INFLIGHT, **pair._asdict())[0][0])


def ready(db: Connection, limits: Sequence[tuple[KindVersion, int]], until: int) -> list[Ready]:
    """The first tasks of each pair that may run now, held; what others hold is skipped."""
    parts: list[str] = []
    parameters: dict[str, Any] = {}
    for i, (pair, limit) in enumerate(limits):
        parts.append(_READY.format(i=i, columns=_READY_COLUMNS))
        parameters.update({f"kind{i}": pair.kind, f"version{i}": pair.version, f"limit{i}": limit})
    rows = db.fetch(" UNION ALL ".join(parts), until=until, **parameters)
    return [Ready(*row) for row in rows]


def have_ready(db: Connection, pairs: Collection[KindVersion], until: int) -> list[KindVersion]:
    """Those of the pairs with a task that may run now."""
    return (
        [KindVersion(*row) for row in db.fetch(_HAVE_READY, rows=[tuple(pair) for pair in sorted(pairs)], until=until)]
        if pairs
        else []
    )


def next_position(db: Connection, pairs: Collection[KindVersion], after: int) -> int | None:
    """The first position after one at which a task of the pairs may run."""
    position: int | None = db.fetch(_NEXT, rows=[tuple(pair) for pair in pairs], after=after)[0][0] if pairs else None
    return position


def later(db: Connection, pair: KindVersion, after: int, limit: int) -> list[int]:
    """The first tasks of a pair that may run only after a position."""
    return [row[0] for row in db.fetch(_LATER, **pair._asdict(), after=after, limit=limit)]


def inflight(db: Connection, pair: KindVersion) -> int:
    """How many tasks of the pair, deliveries aside, are leased; holds the pair, so that the count stays exact."""
    db.fetch("SELECT 1 FROM kinds k WHERE k.kind = :kind AND k.kind_version = :version LOCK(k)", **pair._asdict())
    return count_leased(db, pair)


def held(db: Connection, ids: Collection[int]) -> list[HeldRow]:
    return [HeldRow(*row) for row in db.fetch(_HELD, ids=sorted(ids))] if ids else []


def claim(db: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Lease rows: id, broker, worker, token, epoch, stage, generation, seq, now."""
    db.write(_SAVE_CLAIM, [(*row, row[-1]) for row in rows])


def free(db: Connection, ids: Collection[int]) -> tuple[list[int], list[int]]:
    """Those of the rows that wait, held until the transaction ends, and those that are leased or that others hold."""
    there = {row[0] for row in db.fetch(_THERE, ids=sorted(ids))}
    waiting = {row[0] for row in db.fetch(_UNCLAIMED, ids=sorted(ids))}
    return sorted(waiting), sorted(there - waiting)


def put_at(db: Connection, ids: Collection[int], position: int) -> None:
    """Let these rows run from that position on."""
    db.run(_PUT_AT, ids=sorted(ids), position=position)


def hold(db: Connection, ids: Collection[int]) -> None:
    """Let nobody claim these rows until it is undone."""
    db.run(_HOLD, ids=sorted(ids))


def save(db: Connection, rows: Sequence[TaskRow]) -> None:
    db.write(_SAVE, [_all_values(row) for row in rows])


def remove(db: Connection, ids: Collection[int]) -> None:
    db.run("DELETE FROM queue WHERE id IN (SELECT * FROM IDS(ids))", ids=sorted(ids))


def beat(db: Connection, ids: Collection[int], *, broker: str, worker: str, now: int) -> None:
    """Attest leases: they are this broker's now. That one is void is told again when it moves to another stream."""
    db.run(_BEAT, ids=sorted(ids), broker=broker, worker=worker, now=now)


def progress(db: Connection, rows: Sequence[tuple[int, float | None, str]]) -> None:
    db.write(_PROGRESS, rows)


def take_void(db: Connection, broker: str) -> list[tuple[str, int, str]]:
    """Token, epoch and reason of each running task whose result no longer counts; each once."""
    return [(row[0], row[1], row[2]) for row in db.fetch(_VOID, broker=broker)]


def leases(db: Connection) -> list[LeaseRow]:
    return [LeaseRow(*row) for row in db.fetch(_LEASES)]
