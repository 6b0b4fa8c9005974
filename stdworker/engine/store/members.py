"""The processes that make up the engine. Each writes its own row now and then; one that is silent is dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.sql import upsert
from stdworker.model.kind import KindVersion

LOST_MS = 15_000  # without a report, which comes every five seconds

_SAVE = upsert("members", ("id",), ("id", "reported_at", "report"))
_INFLIGHT = (
    "SELECT claimed_by, worker, kind, kind_version, count(*) FROM queue WHERE claimed_by IS NOT NULL"
    " GROUP BY claimed_by, worker, kind, kind_version"
)

_Leased = dict[tuple[str, str], dict[KindVersion, int]]


@dataclass(frozen=True, slots=True)
class ServedRecord:
    """A kind version that a worker serves: whether it takes tasks now, why not, and how many at a time."""

    pair: KindVersion
    ready: bool
    reason: str
    inflight_max: int
    in_flight: int = 0


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker's stream as its broker sees it. Ages are those at the time of the report.

    `silent`: it is handed nothing until it is heard again. What a base worker doesn't say is "" or 0.
    """

    name: str
    version: str
    hostname: str
    pid: int
    connected_age_ms: int
    heard_age_ms: int
    silent: bool
    inflight_max: int
    kinds: list[ServedRecord]
    in_flight: int = 0


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """An engine process and the workers that it holds, as it reported them.

    Beyond a bound workers are only counted (`unlisted_workers`). Processes of several versions read each
    other's reports: what is added later needs a default.
    """

    id: str
    version: str
    hostname: str
    pid: int
    draining: bool
    started_at_ms: int
    workers: list[WorkerRecord]
    unlisted_workers: int = 0
    reported_at_ms: int = 0
    role: str = ""
    """all, control or broker; empty in the report of a version that had no roles."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(MemberRecord).decode


def save(db: Connection, member: MemberRecord, now_ms: int) -> None:
    db.write(_SAVE, [(member.id, now_ms, _encode(member).decode())])


def remove(db: Connection, id: str) -> None:
    db.run("DELETE FROM members WHERE id = :id", id=id)


def prune(db: Connection, oldest_ms: int) -> None:
    """Drop those that have said nothing since."""
    silent = "SELECT m.id FROM members m WHERE m.reported_at < :oldest LOCK_SKIP(m)"
    db.run(f"DELETE FROM members WHERE id IN ({silent})", oldest=oldest_ms)


def read(db: Connection) -> list[MemberRecord]:
    """All members, with the numbers of tasks that their workers hold right now."""
    rows = db.fetch("SELECT m.report, m.reported_at FROM members m ORDER BY m.id")
    leased = _leased(db) if rows else {}
    return [_counted(replace(_decode(report), reported_at_ms=at), leased) for report, at in rows]


def _leased(db: Connection) -> _Leased:
    leased: _Leased = {}
    for broker, worker, kind, version, count in db.fetch(_INFLIGHT):
        leased.setdefault((broker, worker), {})[KindVersion(kind, version)] = count
    return leased


def _counted(member: MemberRecord, leased: _Leased) -> MemberRecord:
    return replace(
        member, workers=[_worker(worker, leased.get((member.id, worker.name), {})) for worker in member.workers]
    )


def _worker(worker: WorkerRecord, leased: dict[KindVersion, int]) -> WorkerRecord:
    kinds = [replace(served, in_flight=leased.get(served.pair, 0)) for served in worker.kinds]
    return replace(worker, kinds=kinds, in_flight=sum(leased.values()))
