"""Every JSON object of the REST API, as it is read and written; OpenAPI is made from these classes.

`msgspec.Raw` members are slices of the text that came or was stored: specs and statuses pass verbatim.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from stdworker.model.kind import VERSION_MAX, Phase, Transition

NULL = Raw(b"null")

KindName = Annotated[str, Meta(extra_json_schema={"pattern": "^[a-z0-9][a-z0-9.-]{0,62}$"})]
Version = Annotated[int, Meta(ge=1, le=VERSION_MAX)]
ResourceName = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$"})]
TransitionName = Annotated[str, Meta(extra_json_schema={"enum": [transition.value for transition in Transition]})]
Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Limit = Annotated[int, Meta(ge=0, le=2_147_483_647)]  # as in a manifest


class Declared(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every document may carry beside its own members."""

    schema_address: str | UnsetType = field(default=UNSET, name="$schema")


# ---- what is sent to the API ----


class ResourceBody(Declared):
    """A resource as someone declares it. Labels and provider_config_ref: absent keeps, null clears."""

    kind: KindName
    kind_version: Version
    name: ResourceName
    spec: Raw = field(default_factory=Raw)
    labels: dict[str, str] | UnsetType | None = UNSET
    provider_config_ref: str | UnsetType | None = UNSET
    type: Literal["resource"] | UnsetType = UNSET


class ConfigBody(Declared):
    """A provider config as someone declares it; `data` is a bundle in base64. Labels: absent keeps, null clears."""

    name: ResourceName
    kind: KindName
    kind_version: Version
    is_default: bool = False
    spec: Raw = field(default_factory=Raw)
    data: bytes | None = None
    labels: dict[str, str] | UnsetType | None = UNSET
    type: Literal["providerconfig"] | UnsetType = UNSET


class PolicyBody(Declared):
    """The live policy of a kind version. What is absent keeps its value; 0 switches a limit off."""

    max_inflight: Limit | UnsetType = UNSET
    task_deadline_seconds: Limit | UnsetType = UNSET
    resync_interval_seconds: Limit | UnsetType = UNSET
    resync_recomposes: bool | UnsetType = UNSET
    orphan_grace_seconds: Limit | UnsetType = UNSET
    max_transient_attempts: Limit | UnsetType = UNSET
    retired: bool | UnsetType = UNSET


class BindingBody(Declared):
    """What a reactor is to be told: a transition of a kind's resources, of those that `label_match` chooses.

    Without a version it is any version of the watched kind, and the newest one of the reactor. `labels` are the
    binding's own: absent keeps, null clears.
    """

    name: ResourceName
    watch_kind: KindName
    transition: TransitionName
    reactor: KindName
    watch_kind_version: Version | None = None
    reactor_version: Version | None = None
    label_match: dict[str, str] | None = None
    enabled: bool = True
    labels: dict[str, str] | UnsetType | None = UNSET
    type: Literal["reactorbinding"] | UnsetType = UNSET


class OperationBody(Declared):
    """A verb to run on a resource."""

    verb: str
    input: Raw = field(default_factory=Raw)


class RollbackBody(Declared):
    """Which spec a resource is to have again: the one that it had at this generation."""

    generation: Annotated[int, Meta(ge=1)]


# ---- what the API answers ----


class RefView(Struct):
    """A resource's identity."""

    kind: str
    name: str


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


class FailureView(Struct):
    """Why the current generation failed, and when it is tried again."""

    message: str
    reason: str
    terminal: bool
    attempts: int
    next_attempt_at: Instant | None


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


class Resources(Struct):
    """A page of resources."""

    resources: list[ResourceView]


class RootView(ResourceView):
    """A resource without owner, and how many resources its whole subtree has below it."""

    resource_count: int


class Roots(Struct):
    """A page of roots."""

    roots: list[RootView]


class ChildrenView(Struct):
    """A page of what a resource owns directly."""

    owner: RefView
    resources: list[ResourceView]


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


class FlowView(Struct):
    """A value that flows from the dependency's status into the dependent's spec; both are JSON pointers."""

    dependent_field: str
    source_field: str


class DependencyView(Struct):
    """What a resource waits for."""

    kind: str
    name: str
    phase: Phase
    is_ready: bool
    health_ok: bool
    updated_at: Instant
    value_mappings: list[FlowView]


class Dependencies(Struct):
    """A page of what a resource waits for."""

    dependencies: list[DependencyView]


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


class Events(Struct):
    """Events, the oldest first."""

    events: list[EventView]


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


class Audit(Struct):
    """A page of the audit."""

    audit: list[AuditView]


class Quarantined(Struct):
    """Whether a resource is frozen until it is released."""

    quarantined: bool


class RevisionView(Struct):
    """A spec that a resource has had from `generation` on: who wrote it, and for which version of the kind."""

    generation: int
    kind_version: int
    actor: str
    size_bytes: int
    is_live: bool
    created_at: Instant


class Revisions(Struct):
    """A page of revisions, the youngest first."""

    revisions: list[RevisionView]


class RolledBack(Struct):
    """The generation that the resource is at now."""

    generation: int


class OperationErrorView(Struct):
    """Why an operation failed."""

    message: str
    reason: str


class OperationView(Struct):
    """A verb that someone asked to run; `attempts` counts how often it began, more than once if a worker was lost."""

    uid: str
    verb: str
    state: Literal["pending", "running", "succeeded", "failed"]
    input: Raw
    output: Raw
    error: OperationErrorView | None
    attempts: int
    requested_by: str
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None


class Operations(Struct):
    """A page of operations."""

    operations: list[OperationView]


class NodeView(Struct):
    """One resource of a graph; `message` says why it is not Ready."""

    ref: str
    kind: str
    name: str
    owner: str | None
    phase: Phase
    is_ready: bool
    message: str


class EdgeView(Struct):
    """`from` depends on `to`, both written kind/name."""

    source: str = field(name="from")
    target: str = field(name="to")


class Graph(Struct):
    """A resource, its whole subtree, and what depends on what in it."""

    owner: RefView
    nodes: list[NodeView]
    edges: list[EdgeView]
    truncated: bool


class NearNodeView(NodeView):
    """One resource near another: `distance` counts the steps, up to owners and dependencies below zero."""

    distance: int


class Subgraph(Struct):
    """What stands around a resource, the nearest first, and what depends on what in it."""

    resource: RefView
    nodes: list[NearNodeView]
    edges: list[EdgeView]
    truncated: bool


class ReasonView(Struct):
    """Why a resource is not Ready: `code` is stable, `about` another resource that it is about.

    `since` is when it began, `until` when the engine goes on by itself.
    """

    code: str
    message: str
    hint: str
    about: RefView | None
    since: Instant | None
    until: Instant | None


class ReplacedView(Struct):
    """What a layer said that a higher one replaces."""

    layer: str
    value: Raw


class LeafView(Struct):
    """A value of a config, at a JSON pointer, with the layer that set it."""

    path: str
    value: Raw
    layer: str
    replaced: list[ReplacedView]


class EffectiveConfigView(Struct):
    """The default and the own provider config of a resource, merged. Secrets in it are `***`.

    `names` has the provider config of each layer, `bundle` is the layer that the bundle is taken from.
    """

    names: dict[str, str]
    leaves: list[LeafView]
    spec: Raw
    bundle: str | None


class ExplanationView(Struct):
    """Why a resource is not Ready, what weighs most first, and the config that its program gets."""

    kind: str
    name: str
    kind_version: int
    generation: int
    synced_gen: int
    phase: Phase
    is_ready: bool
    reasons: list[ReasonView]
    config: EffectiveConfigView


class KindView(Struct):
    """A kind and its published versions."""

    kind: str
    versions: list[int]
    description: str


class Kinds(Struct):
    """All kinds."""

    kinds: list[KindView]


class Manifests(Struct):
    """The manifests of all kinds and versions, each with its manifest_version."""

    manifests: list[dict[str, Raw]]


class KindSchema(Struct):
    """The JSON Schemas of a kind version."""

    kind: str
    kind_version: int
    spec_schema: Raw
    status_schema: Raw
    config_schema: Raw


class PolicyView(Struct):
    """The live policy of a kind version; 0 means that a limit is off."""

    max_inflight: int
    task_deadline_seconds: int
    resync_interval_seconds: int
    resync_recomposes: bool
    orphan_grace_seconds: int
    max_transient_attempts: int
    retired: bool


class ConfigView(Struct):
    """A provider config. Secrets in it are `***`; `data` is base64."""

    name: str
    kind: str
    kind_version: int
    is_default: bool
    spec: Raw
    data: bytes | None
    labels: dict[str, str]
    owner: RefView | None
    created_at: Instant
    updated_at: Instant


class ConfigSummary(Struct):
    """A provider config in a list: without its spec, with the size of its bundle."""

    name: str
    kind: str
    kind_version: int
    is_default: bool
    data_bytes: int
    labels: dict[str, str]
    owner: RefView | None
    created_at: Instant
    updated_at: Instant


class Configs(Struct):
    """A page of provider configs."""

    providerconfigs: list[ConfigSummary]


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


class DeadLetters(Struct):
    """A page of dead letters."""

    dead_letters: list[DeadLetterView]


class Deleted(Struct):
    """The deletion is done or has begun."""

    deleted: bool = True


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


class Members(Struct):
    """All processes of the engine."""

    members: list[MemberView]


class ErrorView(Struct):
    """One violation; `location` is where: body, query, path or header, then a JSON pointer."""

    message: str
    location: str
    value: Any = None


class Problem(Struct):
    """An error after RFC 9457; the last part of `type` is a stable code."""

    title: str
    status: int
    detail: str
    errors: list[ErrorView]
    type: str
    instance: str


class BatchLine(Struct, omit_defaults=True):
    """What became of one line of a batch."""

    line: int
    result: Literal["created", "configured", "unchanged", "failed"]
    kind: str = ""
    name: str = ""
    generation: int = 0
    problem: Problem | None = None


class PlanLine(Struct, omit_defaults=True):
    """What applying one line of a plan would do: the declaration as it is, if it is there, and as it would be."""

    line: int
    result: Literal["created", "configured", "unchanged", "failed"]
    before: Raw | None = None
    after: Raw | None = None
    problem: Problem | None = None


encode = msgspec.json.Encoder().encode
