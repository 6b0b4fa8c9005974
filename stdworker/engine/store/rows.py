"""Rows of the store as the decisions see them: plain, mutable, and saved as a whole."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

RECONCILE, DELETE, OPERATE, REACT = 0, 1, 2, 3
"""Task types; a resource has at most one queue row of each but the last, which is a delivery's."""

TASK_TYPE_NAMES = ("reconcile", "delete", "operate")
"""Of a resource's own tasks."""

ROWS_PER_RESOURCE = 4


@dataclass(slots=True, eq=False)
class Node:
    """One resource.

    The members up to `created_at` never change, those up to `conditions` are its state, the others its documents,
    which are there only when it was loaded `whole`. Of the state most successes change only what comes before
    `generation`.
    """

    id: int
    uid: str
    kind: str
    name: str
    owner_id: int | None
    root_id: int | None
    created_at: int
    kind_version: int
    provider_config: str | None
    worked_gen: int = 0
    synced_gen: int = 0
    synced_changed_at: int = 0
    ready_changed_at: int = 0
    transition_seq: int = 0
    updated_at: int = 0
    generation: int = 1
    composed_gen: int = 0
    failure_gen: int = 0
    failure_terminal: bool = False
    failure_attempts: int = 0
    failure_reason: str = ""
    failure_message: str = ""
    health_ok: bool = True
    due: int = 0
    unsettled: int = 0
    unready: int = 0
    counted_unsettled: bool = False
    counted_unready: bool = False
    gate: int = 0
    gate_message: str = ""
    wanted: bool = True
    deletion_requested_at: int | None = None
    frozen_until: int | None = None
    resync_at: int | None = None
    recompose: bool = False
    finalizers: str = "[]"
    conditions: str = "[]"
    status: str | None = None
    labels: str = "{}"
    spec: str | None = None
    composed_spec: str | None = None
    flowed: str | None = None
    spec_gen: int = 1
    spec_by: str = ""
    spec_at: int = 0
    whole: bool = False
    stable: tuple[Any, ...] = ()
    """What the store holds of `NODE_STABLE`; nothing is known of a resource that is new."""

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.name)

    @property
    def pair(self) -> KindVersion:
        return KindVersion(self.kind, self.kind_version)


@dataclass(slots=True, eq=False)
class TaskRow:
    """A resource's place in the queue, leased or not; of a delivery, `resource_id` is its own id."""

    id: int
    resource_id: int
    kind: str
    kind_version: int
    position: int
    held: bool = False
    reasons: int = 0
    again: int = 0
    seq: int = 0
    claimed_seq: int = 0
    done: int = 0
    emitted: str = "[]"
    stage: str | None = None
    generation: int = 0
    epoch: int = 0
    token: str | None = None
    claimed_by: str | None = None
    worker: str | None = None
    claimed_at: int | None = None
    heartbeat_at: int | None = None
    superseded: str | None = None
    void_told: bool = False
    attempts: int = 0
    progress: float | None = None
    progress_message: str = ""

    @property
    def task_type(self) -> int:
        return type_of(self.id)

    def end_lease(self) -> None:
        """The row can be claimed again."""
        self.token = self.claimed_by = self.worker = self.stage = self.superseded = None
        self.claimed_at = self.heartbeat_at = None
        self.progress, self.progress_message, self.void_told = None, "", False

    @property
    def pair(self) -> KindVersion:
        return KindVersion(self.kind, self.kind_version)


@dataclass(slots=True)
class EdgeRow:
    """A dependency between two children of one composite; `flows` is JSON: [[dependent_field, source_field], …]."""

    dependent_id: int
    dependency_id: int
    owner_id: int
    flows: str = "[]"


@dataclass(slots=True)
class ConfigRow:
    """A provider config; one that is no longer `wanted` goes with the last resource that refers to it."""

    name: str
    kind: str
    kind_version: int
    is_default: bool
    spec: str | None
    bundle: bytes | None
    owner_id: int | None
    revision: int
    created_at: int
    updated_at: int
    labels: str = "{}"
    wanted: bool = True

    @property
    def pair(self) -> KindVersion:
        return KindVersion(self.kind, self.kind_version)


@dataclass(slots=True)
class KindRow:
    """A published kind version; manifest, policy and labels are JSON text."""

    kind: str
    kind_version: int
    manifest: str
    manifest_version: int
    policy: str
    updated_at: int
    labels: str = "{}"


@dataclass(slots=True)
class BindingRow:
    """Which reactor is told of which transition of which kind; no version is any, or the newest."""

    name: str
    watch_kind: str
    watch_kind_version: int | None
    transition: str
    reactor: str
    reactor_version: int | None
    label_match: str
    enabled: bool
    created_at: int
    updated_at: int
    labels: str = "{}"


@dataclass(slots=True)
class DeliveryRow:
    """One crossing for one binding, with the resource as it was then; dead once `dead_at` says since when.

    `reactor_version` is what the binding named.
    """

    id: int
    binding: str
    transition: str
    reactor: str
    reactor_version: int | None
    dedup_token: str
    created_at: int
    uid: str
    kind: str
    name: str
    kind_version: int
    generation: int
    synced_gen: int
    phase: str
    labels: str
    owner_uid: str | None
    root_uid: str | None
    spec: str | None
    status: str | None
    dead_at: int | None = None
    attempts: int = 0
    reason: str = ""
    message: str = ""


PENDING, RUNNING, SUCCEEDED, FAILED = "pending", "running", "succeeded", "failed"
"""States of an operation; it ends in one of the last two."""


@dataclass(slots=True)
class OperationRow:
    """A verb that someone asked to run on a resource; `number` counts those of the resource."""

    uid: str
    resource_id: int
    number: int
    verb: str
    input: str | None
    requested_by: str
    created_at: int
    state: str = PENDING
    output: str | None = None
    reason: str = ""
    message: str = ""
    attempts: int = 0
    started_at: int | None = None
    finished_at: int | None = None


@dataclass(slots=True)
class RevisionRow:
    """A spec that a resource had from `generation` on, until the next one."""

    resource_id: int
    generation: int
    kind_version: int
    spec: str | None
    written_by: str
    written_at: int


NODE_COLUMNS = tuple(field.name for field in fields(Node) if field.name not in ("whole", "stable"))
NODE_STATE = NODE_COLUMNS[: NODE_COLUMNS.index("status")]
NODE_VOLATILE = NODE_STATE[NODE_STATE.index("worked_gen") : NODE_STATE.index("generation")]
NODE_STABLE = NODE_STATE[NODE_STATE.index("generation") :]
TASK_COLUMNS = tuple(field.name for field in fields(TaskRow))
OPERATION_COLUMNS = tuple(field.name for field in fields(OperationRow))
BINDING_COLUMNS = tuple(field.name for field in fields(BindingRow))
DELIVERY_COLUMNS = tuple(field.name for field in fields(DeliveryRow))
REVISION_COLUMNS = tuple(field.name for field in fields(RevisionRow))
CONFIG_COLUMNS = tuple(field.name for field in fields(ConfigRow))
KIND_COLUMNS = tuple(field.name for field in fields(KindRow))


def task_ids(resource_id: int) -> range:
    """The queue rows of its own that a resource may have."""
    first = resource_id * ROWS_PER_RESOURCE
    return range(first, first + len(TASK_TYPE_NAMES))


def task_id(resource_id: int, task_type: int) -> int:
    return resource_id * ROWS_PER_RESOURCE + task_type


def type_of(task_id: int) -> int:
    return task_id % ROWS_PER_RESOURCE


def resource_of(task_id: int) -> int:
    return task_id // ROWS_PER_RESOURCE
