"""Reactor bindings, and what their reactors did not take."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stdworker.engine.api.shapes.common import (
    Declared,
    Instant,
    KindName,
    ResourceName,
    Version,
    instant,
    instant_or_none,
    raw_text,
)
from stdworker.engine.api.shapes.explanation import ReasonView
from stdworker.engine.reconcile.waiting import Waiting
from stdworker.engine.store.rows import BindingRow, DeliveryRow
from stdworker.model.json_text import loads
from stdworker.model.kind import Phase, Transition

TransitionName = Annotated[str, Meta(extra_json_schema={"enum": [transition.value for transition in Transition]})]


class BindingBody(Declared):
    """What a reactor is to be told: a transition of a kind's resources, of those that `label_match` chooses.

    Absent keeps, null clears. Without a version it is any version of the watched kind, and the newest one of the
    reactor. `labels` are the binding's own.
    """

    name: ResourceName
    watch_kind: KindName
    transition: TransitionName
    reactor: KindName
    watch_kind_version: Version | UnsetType | None = UNSET
    reactor_version: Version | UnsetType | None = UNSET
    label_match: dict[str, str] | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    type: Literal["reactorbinding"] | UnsetType = UNSET


class WaitingView(Struct):
    """How many deliveries no reactor has taken yet, at most 100,000, and why the first one waits."""

    deliveries: int
    reason: ReasonView

    @classmethod
    def of(cls, waiting: Waiting) -> WaitingView:
        return cls(waiting.deliveries, ReasonView.of(waiting.reason))


class BindingView(Struct):
    """A reactor binding; no version is any version of the watched kind, and the newest one of the reactor."""

    name: str
    watch_kind: str
    watch_kind_version: int | None
    transition: TransitionName
    reactor: str
    reactor_version: int | None
    label_match: dict[str, str]
    enabled: bool
    labels: dict[str, str]
    created_at: Instant
    updated_at: Instant
    waiting: WaitingView | None

    @classmethod
    def of(cls, row: BindingRow, waiting: Waiting | None) -> BindingView:
        return cls(
            name=row.name,
            watch_kind=row.watch_kind,
            watch_kind_version=row.watch_kind_version,
            transition=row.transition,
            reactor=row.reactor,
            reactor_version=row.reactor_version,
            label_match=loads(row.label_match.encode()),
            enabled=row.enabled,
            labels=loads(row.labels.encode()),
            created_at=instant(row.created_at),
            updated_at=instant(row.updated_at),
            waiting=WaitingView.of(waiting) if waiting else None,
        )


class Bindings(Struct):
    """A page of reactor bindings."""

    reactor_bindings: list[BindingView]


class SnapshotView(Struct):
    """A resource as it was when it crossed a transition; it may be another one now, or be gone."""

    uid: str
    kind: str
    kind_version: int
    name: str
    generation: int
    phase: Phase
    labels: dict[str, str]
    spec: Raw
    status: Raw

    @classmethod
    def of(cls, row: DeliveryRow) -> SnapshotView:
        return cls(
            uid=row.uid,
            kind=row.kind,
            kind_version=row.kind_version,
            name=row.name,
            generation=row.generation,
            phase=Phase(row.phase),
            labels=loads(row.labels.encode()),
            spec=raw_text(row.spec),
            status=raw_text(row.status),
        )


class DeadLetterView(Struct):
    """What a reactor was to be told and did not take: why not, after how many attempts, and since when it is dead.

    A retry is told with the same `dedup_token`. `reactor_version` is null when the binding named none.
    """

    id: int
    binding: str
    transition: TransitionName
    reactor: str
    reactor_version: int | None
    dedup_token: str
    reason: str
    message: str
    attempts: int
    resource: SnapshotView
    crossed_at: Instant
    dead_since: Instant | None

    @classmethod
    def of(cls, row: DeliveryRow) -> DeadLetterView:
        return cls(
            id=row.id,
            binding=row.binding,
            transition=row.transition,
            reactor=row.reactor,
            reactor_version=row.reactor_version,
            dedup_token=row.dedup_token,
            reason=row.reason,
            message=row.message,
            attempts=row.attempts,
            resource=SnapshotView.of(row),
            crossed_at=instant(row.created_at),
            dead_since=instant_or_none(row.dead_at),
        )


class DeadLetters(Struct):
    """A page of dead letters."""

    dead_letters: list[DeadLetterView]
