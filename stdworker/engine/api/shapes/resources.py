"""Resources: as they are declared, and all that is known of them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType, field

from stdworker.engine.api.shapes.common import (
    Declared,
    Deleted,
    Instant,
    KindName,
    RefView,
    ResourceName,
    Version,
    instant,
    instant_or_none,
    raw,
)
from stdworker.engine.store.declarations import Doomed
from stdworker.engine.store.records import ConditionRecord, ResourceRecord, WorkRecord
from stdworker.model.kind import Phase


class ResourceBody(Declared):
    """A resource as someone declares it. Absent keeps, null clears."""

    kind: KindName
    kind_version: Version
    name: ResourceName
    spec: Raw = field(default_factory=Raw)
    labels: dict[str, str] | UnsetType | None = UNSET
    provider_config_ref: str | UnsetType | None = UNSET
    type: Literal["resource"] | UnsetType = UNSET


class NameView(Struct):
    """The name of a provider config."""

    name: str


class ConditionView(Struct):
    """One statement about a resource."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    observed_generation: int
    last_transition_at: Instant | None

    @classmethod
    def of(cls, record: ConditionRecord) -> ConditionView:
        return cls(
            type=record.type,
            status=record.status,  # type: ignore[arg-type]
            reason=record.reason,
            message=record.message,
            observed_generation=record.observed_generation,
            last_transition_at=instant_or_none(record.last_transition_at_ms or None),
        )


class FailureView(Struct):
    """Why the current generation failed, and when it is tried again."""

    message: str
    reason: str
    terminal: bool
    attempts: int
    next_attempt_at: Instant | None

    @classmethod
    def of(cls, record: ResourceRecord) -> FailureView | None:
        if not record.failure_message and not record.failure_attempts:
            return None
        return cls(
            message=record.failure_message,
            reason=record.failure_reason,
            terminal=record.failure_terminal,
            attempts=record.failure_attempts,
            next_attempt_at=instant_or_none(record.next_attempt_at_ms),
        )


class ProgressView(Struct):
    """What a running task said last; `fraction` is between 0 and 1."""

    fraction: float | None
    message: str


class WorkView(Struct):
    """The task that the resource waits for or that runs; `heartbeat_age` is in seconds."""

    task_type: str
    claimed_by: str | None
    worker: str | None
    attempts: int
    available_at: Instant
    heartbeat_age: float | None
    progress: ProgressView | None

    @classmethod
    def of(cls, record: WorkRecord, now_ms: int) -> WorkView:
        said = record.progress is not None or record.progress_message
        age_ms = None if record.heartbeat_at_ms is None else max(now_ms - record.heartbeat_at_ms, 0)
        return cls(
            task_type=record.task_type,
            claimed_by=record.claimed_by,
            worker=record.worker,
            attempts=record.attempts,
            available_at=instant(record.available_at_ms),
            heartbeat_age=None if age_ms is None else age_ms / 1000,
            progress=ProgressView(record.progress, record.progress_message) if said else None,
        )


class ResourceView(Struct):
    """All that is known of one resource."""

    uid: str
    kind: str
    kind_version: int
    name: str
    owner: RefView | None
    root: RefView | None
    spec: Raw
    status: Raw
    labels: dict[str, str]
    generation: int
    synced_gen: int
    is_ready: bool
    health_ok: bool
    phase: Phase
    conditions: list[ConditionView]
    finalizers: list[str]
    failure: FailureView | None
    provider_config: NameView | None
    work: WorkView | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, record: ResourceRecord, now_ms: int) -> ResourceView:
        return cls(**_members(record, now_ms))


class Resources(Struct):
    """A page of resources."""

    resources: list[ResourceView]


class RootView(ResourceView):
    """A resource without owner, and how many resources its whole subtree has below it."""

    resource_count: int

    @classmethod
    def of_root(cls, record: ResourceRecord, resource_count: int, now_ms: int) -> RootView:
        return cls(**_members(record, now_ms), resource_count=resource_count)


class Roots(Struct):
    """A page of roots."""

    roots: list[RootView]


class DeletedResource(Deleted, kw_only=True):
    """What goes with the resource: how many are below it, and how many others depend on it or on one of those.

    The first few of the latter are named.
    """

    below: int
    dependents: int
    first_dependents: list[RefView]

    @classmethod
    def of(cls, doomed: Doomed, *, deleted: bool) -> DeletedResource:
        first = [RefView.of(ref) for ref in doomed.first]
        return cls(deleted=deleted, below=doomed.below, dependents=doomed.dependents, first_dependents=first)


class Change(Struct, omit_defaults=True):
    """What an apply would change: an absent `before` is added, an absent `after` is removed."""

    path: str
    before: Raw | None = None
    after: Raw | None = None


class DryRun(Struct):
    """What an apply would do."""

    result: Literal["created", "configured", "unchanged"]
    changes: list[Change]
    resource: ResourceView


class Summary(Struct):
    """How many resources are in each phase."""

    totals: dict[str, int]
    by_kind: dict[str, dict[str, int]]


class Quarantined(Struct):
    """Whether a resource is frozen until it is released."""

    quarantined: bool


def _members(record: ResourceRecord, now_ms: int) -> dict[str, Any]:
    return {
        "uid": record.uid,
        "kind": record.kind,
        "kind_version": record.kind_version,
        "name": record.name,
        "owner": RefView.of_any(record.owner),
        "root": RefView.of_any(record.root),
        "spec": raw(record.spec),
        "status": raw(record.status),
        "labels": record.labels,
        "generation": record.generation,
        "synced_gen": record.synced_gen,
        "is_ready": record.is_ready,
        "health_ok": record.health_ok,
        "phase": record.phase,
        "conditions": [ConditionView.of(condition) for condition in record.conditions],
        "finalizers": record.finalizers,
        "failure": FailureView.of(record),
        "provider_config": NameView(record.provider_config) if record.provider_config else None,
        "work": WorkView.of(record.work, now_ms) if record.work else None,
        "created_at": instant(record.created_at_ms),
        "updated_at": instant(record.updated_at_ms),
    }
