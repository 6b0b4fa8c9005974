"""What goes into the store and comes out of it. Documents are verbatim text, instants are milliseconds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Phase, Stage, Transition, Trigger
from stdworker.model.layers import Leaf
from stdworker.model.outcome import Condition, Outcome
from stdworker.model.resource import Operation, Ref, Resource
from stdworker.model.task import Lease

T = TypeVar("T")


class Unset(Enum):
    """A member that a request leaves out, which is not the same as null: absent is unchanged, null clears."""

    UNSET = "unset"


UNSET = Unset.UNSET

Labels = dict[str, str] | Unset | None
"""Labels as someone gives them: UNSET keeps those that are there, None takes them away."""

_NO_CONFIG = ProviderConfig()

REVISION_DIGITS = 32


# ---- what workers are handed, and what comes back ----


@dataclass(slots=True)
class Want:
    """How many tasks of one pair a worker stream can take now."""

    pair: KindVersion
    credit: int
    worker: str


@dataclass(slots=True)
class Claim:
    """One leased stage, with all that its worker must know."""

    lease: Lease
    worker: str
    stage: Stage
    trigger: Trigger
    reaction: str
    pair: KindVersion
    resource: Resource
    manifest_version: int = 0
    deadline_ms: int = 0
    config_revision: int = 0
    override: ProviderConfig = _NO_CONFIG
    observed: Sequence[Resource] = ()
    descendants: Sequence[Resource] = ()
    operation: Operation | None = None
    transition: Transition | None = None
    dedup_token: str = ""


@dataclass(slots=True)
class Settlement:
    """A worker's result for one lease. With `error` the task failed."""

    lease: Lease
    stage: Stage
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    reason: str = ""
    terminal: bool = False
    released: bool = False
    retry_after_ms: int = 0


class Leased(NamedTuple):
    """What a lease is for, to a broker that didn't hand it out."""

    pair: KindVersion
    stage: Stage
    deadline_ms: int


@dataclass(slots=True)
class VoidedLease:
    """A lease that a newer generation or a deletion made void while its task runs."""

    lease: Lease
    broker: str
    reason: str


@dataclass(slots=True)
class DefaultConfig:
    """The default config of a pair; `revision` rises with each edit, deletion included."""

    pair: KindVersion
    config: ProviderConfig
    revision: int


# ---- what the API is handed, and what it shows ----


@dataclass(slots=True)
class ApplyDocument:
    """A resource as someone declares it."""

    kind: str
    kind_version: int
    name: str
    spec: RawJson | None = None
    labels: Labels = UNSET
    provider_config_ref: str | Unset | None = UNSET
    only_if: Sequence[str] | None = None
    """Revisions of which the stored resource must have one; none given is any, as long as it is there."""
    only_new: bool = False


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
class Applied:
    """What an apply did: `result` is created, configured or unchanged."""

    result: str
    resource: ResourceRecord


class Declared(NamedTuple):
    """What an apply did, without the resource."""

    result: str
    generation: int


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


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a resource is not Ready, or a reactor not told: a stable code, a sentence, and what to do.

    `about` is another resource, or the one that the reactor is to be told of.
    `since_ms` is when it began, `until_ms` when the engine goes on by itself.
    """

    code: str
    message: str
    hint: str = ""
    about: Ref | None = None
    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many deliveries of a reactor binding wait or run, counted to a bound, and why the first one does."""

    deliveries: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """What the provider configs of a resource say together, secrets hidden.

    `names` has the config of each layer; `bundle` is the layer that the bundle comes from.
    """

    names: dict[str, str]
    leaves: Sequence[Leaf]
    spec: RawJson | None
    bundle: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A resource, why it is not Ready (nothing if it is), and its config."""

    resource: ResourceRecord
    reasons: list[Reason]
    config: EffectiveConfig


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


@dataclass(slots=True)
class KindDeclaration:
    """A kind version as someone declares it; `force` lets it break what is published."""

    manifest: Mapping[str, Any]
    labels: Labels = UNSET
    force: bool = False
    only_if: Sequence[str] | None = None
    """Revisions of which the published one must have one; none given is any, as long as it is there."""


@dataclass(slots=True)
class ConfigDeclaration:
    """A provider config as someone declares it."""

    name: str
    pair: KindVersion
    is_default: bool = False
    spec: RawJson | None = None
    bundle: bytes | None = None
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """Revisions of which the stored config must have one; none given is any, as long as it is there."""


@dataclass(slots=True)
class BindingDeclaration:
    """A reactor binding as someone declares it. No version is any of the kind watched, or the newest reactor."""

    name: str
    watch_kind: str
    transition: str
    reactor: str
    watch_kind_version: int | None = None
    reactor_version: int | None = None
    label_match: dict[str, str] = field(default_factory=dict)
    enabled: bool = True
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """As of a config."""


Declaration = KindDeclaration | ConfigDeclaration | BindingDeclaration | ApplyDocument


class Planned(NamedTuple):
    """What an apply would do, with the declaration before and after it; None before something is there."""

    result: str
    before: RawJson | None
    after: RawJson
