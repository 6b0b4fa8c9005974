"""The processes of the engine, and their workers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from stdworker.engine.api.shapes.common import Instant, instant
from stdworker.engine.store.members import LOST_MS, MemberRecord, ServedRecord, WorkerRecord


class VersionView(Struct):
    """What answers."""

    version: str
    api_version: str
    python_version: str
    store: str


class ServedView(Struct):
    """A kind version that a worker serves; `reason` says why it takes no tasks now."""

    kind: str
    kind_version: int
    ready: bool
    reason: str
    in_flight: int
    max_inflight: int

    @classmethod
    def of(cls, record: ServedRecord) -> ServedView:
        return cls(
            kind=record.pair.kind,
            kind_version=record.pair.version,
            ready=record.ready,
            reason=record.reason,
            in_flight=record.in_flight,
            max_inflight=record.inflight_max,
        )


class WorkerView(Struct):
    """A connected worker; `heartbeat_age` is in seconds. A silent one is handed nothing until it is heard again."""

    name: str
    version: str
    hostname: str
    pid: int
    connected_since: Instant
    heartbeat_age: float
    silent: bool
    in_flight: int
    max_inflight: int
    kinds: list[ServedView]

    @classmethod
    def of(cls, record: WorkerRecord, reported_at_ms: int, age_ms: int) -> WorkerView:
        return cls(
            name=record.name,
            version=record.version,
            hostname=record.hostname,
            pid=record.pid,
            connected_since=instant(reported_at_ms - record.connected_age_ms),
            heartbeat_age=(age_ms + record.heard_age_ms) / 1000,
            silent=record.silent,
            in_flight=record.in_flight,
            max_inflight=record.inflight_max,
            kinds=[ServedView.of(served) for served in record.kinds],
        )


class MemberView(Struct):
    """A process of the engine and the workers that it holds; one that said nothing for a while is lost.

    `role` is all, control or broker, and empty while a version runs that has no roles. The workers of a process
    that holds very many are not all listed; `unlisted_workers` counts the others.
    """

    member_id: str
    version: str
    hostname: str
    pid: int
    role: str
    status: Literal["up", "draining", "lost"]
    started_at: Instant
    last_heartbeat: Instant
    heartbeat_age: float
    in_flight: int
    workers: list[WorkerView]
    unlisted_workers: int

    @classmethod
    def of(cls, record: MemberRecord, now_ms: int) -> MemberView:
        age_ms = max(now_ms - record.reported_at_ms, 0)
        lost = age_ms >= LOST_MS
        return cls(
            member_id=record.id,
            version=record.version,
            hostname=record.hostname,
            pid=record.pid,
            role=record.role,
            status="lost" if lost else "draining" if record.draining else "up",
            started_at=instant(record.started_at_ms),
            last_heartbeat=instant(record.reported_at_ms),
            heartbeat_age=age_ms / 1000,
            in_flight=sum(worker.in_flight for worker in record.workers),
            workers=[WorkerView.of(worker, record.reported_at_ms, age_ms) for worker in record.workers],
            unlisted_workers=record.unlisted_workers,
        )


class Members(Struct):
    """All processes of the engine."""

    members: list[MemberView]
