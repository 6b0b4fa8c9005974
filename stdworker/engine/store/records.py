"""What comes out of the store. Documents are verbatim text, instants are milliseconds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.outcome import Condition
from stdworker.model.resource import Ref

T = TypeVar("T")

REVISION_DIGITS = 32


@dataclass(slots=True)
class ConditionRecord(Condition):
    """A stored or synthesized condition."""

    observed_generation: int = 0
    last_transition_at_ms: int = 0


@dataclass(slots=True)
class WorkRecord:
    """The task that a resource is queued or leased for."""

    task_type: str
    claimed_by: str | None
    worker: str | None
    attempts: int
    available_at_ms: int
    heartbeat_at_ms: int | None
    progress: float | None = None
    progress_message: str = ""


@dataclass(slots=True)
class ResourceRecord:
    """All that is known of one resource."""

    uid: str
    kind: str
    kind_version: int
    name: str
    owner: Ref | None
    root: Ref | None
    spec: RawJson | None
    status: RawJson | None
    labels: dict[str, str]
    provider_config: str | None
    generation: int
    synced_gen: int
    health_ok: bool
    phase: Phase
    is_ready: bool
    finalizers: list[str]
    failure_message: str
    failure_reason: str
    failure_terminal: bool
    failure_attempts: int
    next_attempt_at_ms: int | None
    conditions: list[ConditionRecord]
    created_at_ms: int
    updated_at_ms: int
    work: WorkRecord | None = None

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.name)

    @property
    def revision(self) -> str:
        """Another one after each change, but for those of `work` and of what it waits for."""
        return revision(self.uid, self.updated_at_ms)


def revision(identity: str, updated_at_ms: int) -> str:
    """What tells two states of one thing apart; `updated_at_ms` rises with each change."""
    return f"{identity}.{updated_at_ms}"


@dataclass(slots=True)
class ResourceFilter:
    """Which resources a list shows; empty members don't filter, the others hold together."""

    kinds: Sequence[str] = ()
    pairs: Sequence[KindVersion] = ()
    phases: Sequence[Phase] = ()
    owners: Sequence[Ref] = ()
    roots_only: bool = False
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AuditFilter:
    """Which events of the audit a list shows; None doesn't filter. `since_ms` is included, `until_ms` is not."""

    actor: str | None = None
    type: str | None = None
    kind: str | None = None
    name: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(slots=True)
class Edge:
    """`dependent` depends on `dependency`; `flows` are (dependent_field, source_field) pairs."""

    dependent: Ref
    dependency: Ref
    flows: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class EventRecord:
    """One line of the durable event sequence.

    `ref` is the resource that it is about, if it is about one; else `kind` and `name` say what.
    """

    seq: int
    ref: Ref | None
    kind: str | None
    name: str | None
    uid: str | None
    type: str
    reason: str
    message: str
    actor: str
    detail: dict[str, Any]
    created_at_ms: int


@dataclass(slots=True)
class KindPolicy:
    """The live policy of a kind version; 0 switches a limit off."""

    max_inflight: int = 0
    task_deadline_seconds: int = 0
    resync_interval_seconds: int = 0
    resync_recomposes: bool = False
    orphan_grace_seconds: int = 0
    max_transient_attempts: int = 0
    retired: bool = False


@dataclass(slots=True)
class KindRecord:
    """A published kind version."""

    pair: KindVersion
    manifest: RawJson
    manifest_version: int
    policy: KindPolicy
    updated_at_ms: int
    labels: dict[str, str]

    @property
    def revision(self) -> str:
        """Another one for another manifest or other labels; the live policy is none of its business."""
        return hashlib.sha256(self.manifest + dumps(sorted(self.labels.items()))).hexdigest()[:REVISION_DIGITS]


@dataclass(slots=True)
class ConfigRecord:
    """A provider config."""

    name: str
    pair: KindVersion
    is_default: bool
    spec: RawJson | None
    bundle: bytes | None
    owner: Ref | None
    created_at_ms: int
    updated_at_ms: int
    labels: dict[str, str]

    @property
    def revision(self) -> str:
        """Another one after each change."""
        return revision(self.name, self.updated_at_ms)


@dataclass(slots=True)
class Page:
    """A page of records and the cursor of the next one, None at the end."""

    items: Sequence[Any]
    cursor: str | None = None

    @classmethod
    def cut(cls, found: Sequence[T], limit: int, place: Callable[[T], object]) -> Page:
        """Of rows that were read with one beyond the limit; `place` of the last that is shown is the cursor."""
        shown = found[:limit]
        return cls(shown, str(place(shown[-1])) if len(found) > limit else None)
