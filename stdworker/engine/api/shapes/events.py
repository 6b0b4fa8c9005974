"""What happened, to whom, and who asked for it."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from stdworker.engine.api.shapes.common import Instant, RefView, instant
from stdworker.engine.api.shapes.resources import ResourceView
from stdworker.engine.store.records import EventRecord


class EventView(Struct):
    """One event; `seq` rises over the whole engine."""

    seq: int
    resource: RefView | None
    type: str
    reason: str
    message: str
    actor: str
    detail: dict[str, Any]
    created_at: Instant

    @classmethod
    def of(cls, record: EventRecord) -> EventView:
        return cls(
            seq=record.seq,
            resource=RefView.of_any(record.ref),
            type=record.type,
            reason=record.reason,
            message=record.message,
            actor=record.actor,
            detail=record.detail,
            created_at=instant(record.created_at_ms),
        )


class Events(Struct):
    """Events, the oldest first."""

    events: list[EventView]


class WatchEvent(Struct):
    """A change of a resource, which is shown as it is when this is sent; null once it is gone."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    event: EventView
    uid: str | None
    resource: ResourceView | None


class WatchEnd(Struct):
    """The last of a stream: why it ends, and after which event to resume."""

    reason: Literal["draining", "too_slow", "expired"]
    message: str
    last: int


class AuditView(Struct):
    """A change that someone asked for: `actor` is who, `type` and `detail` say what.

    `uid` is a resource's; a change of something else has none, and `kind` and `name` say what it is about.
    """

    seq: int
    created_at: Instant
    actor: str
    type: str
    kind: str | None
    name: str | None
    uid: str | None
    message: str
    detail: dict[str, Any]

    @classmethod
    def of(cls, record: EventRecord) -> AuditView:
        return cls(
            seq=record.seq,
            created_at=instant(record.created_at_ms),
            actor=record.actor,
            type=record.type,
            kind=record.kind,
            name=record.name,
            uid=record.uid,
            message=record.message,
            detail=record.detail,
        )


class Audit(Struct):
    """A page of the audit."""

    audit: list[AuditView]
