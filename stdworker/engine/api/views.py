"""Records of the store as the API shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar

from msgspec import Raw

from stdworker.engine.api import shapes
from stdworker.engine.store.members import LOST_MS
from stdworker.engine.store.records import (
    ConditionRecord,
    ConfigRecord,
    Edge,
    EffectiveConfig,
    EventRecord,
    Explanation,
    KindRecord,
    MemberRecord,
    Reason,
    ResourceRecord,
    ServedRecord,
    WorkerRecord,
    WorkRecord,
)
from stdworker.engine.store.rows import FAILED, BindingRow, DeliveryRow, OperationRow, RevisionRow
from stdworker.model.json_text import RawJson, dumps, loads, members
from stdworker.model.kind import Phase
from stdworker.model.resource import Ref
from stdworker.model.secrets import mask

_View = TypeVar("_View", bound=shapes.ResourceView)


def instant(milliseconds: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _instant(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else instant(milliseconds)


def _raw(document: bytes | None) -> Raw:
    return shapes.NULL if document is None else Raw(document)


def _text(document: str | None) -> Raw:
    return shapes.NULL if document is None else Raw(document.encode())


def _ref(ref: Ref | None) -> shapes.RefView | None:
    return None if ref is None else shapes.RefView(ref.kind, ref.name)


def resource(record: ResourceRecord, now_ms: int) -> shapes.ResourceView:
    return shapes.ResourceView(**_resource_members(record, now_ms))


def root(record: ResourceRecord, resource_count: int, now_ms: int) -> shapes.RootView:
    return shapes.RootView(**_resource_members(record, now_ms), resource_count=resource_count)


def _resource_members(record: ResourceRecord, now_ms: int) -> dict[str, Any]:
    return {
        "uid": record.uid,
        "kind": record.kind,
        "kind_version": record.kind_version,
        "name": record.name,
        "owner": _ref(record.owner),
        "root": _ref(record.root),
        "spec": _raw(record.spec),
        "status": _raw(record.status),
        "labels": record.labels,
        "generation": record.generation,
        "synced_gen": record.synced_gen,
        "is_ready": record.is_ready,
        "health_ok": record.health_ok,
        "phase": record.phase,
        "conditions": [_condition(condition) for condition in record.conditions],
        "finalizers": record.finalizers,
        "failure": _failure(record),
        "provider_config": shapes.NameView(record.provider_config) if record.provider_config else None,
        "work": _work(record.work, now_ms) if record.work else None,
        "created_at": instant(record.created_at_ms),
        "updated_at": instant(record.updated_at_ms),
    }


def _condition(record: ConditionRecord) -> shapes.ConditionView:
    return shapes.ConditionView(
        type=record.type,
        status=record.status,  # type: ignore[arg-type]
        reason=record.reason,
        message=record.message,
        observed_generation=record.observed_generation,
        last_transition_at=_instant(record.last_transition_at_ms or None),
    )


def _failure(record: ResourceRecord) -> shapes.FailureView | None:
    if not record.failure_message and not record.failure_attempts:
        return None
    return shapes.FailureView(
        message=record.failure_message,
        reason=record.failure_reason,
        terminal=record.failure_terminal,
        attempts=record.failure_attempts,
        next_attempt_at=_instant(record.next_attempt_at_ms),
    )


def _work(record: WorkRecord, now_ms: int) -> shapes.WorkView:
    said = record.progress is not None or record.progress_message
    age_ms = None if record.heartbeat_at_ms is None else max(now_ms - record.heartbeat_at_ms, 0)
    return shapes.WorkView(
        task_type=record.task_type,
        claimed_by=record.claimed_by,
        worker=record.worker,
        attempts=record.attempts,
        available_at=instant(record.available_at_ms),
        heartbeat_age=None if age_ms is None else age_ms / 1000,
        progress=shapes.ProgressView(record.progress, record.progress_message) if said else None,
    )


def member(record: MemberRecord, now_ms: int) -> shapes.MemberView:
    age_ms = max(now_ms - record.reported_at_ms, 0)
    lost = age_ms >= LOST_MS
    return shapes.MemberView(
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
        workers=[_worker(worker, record.reported_at_ms, age_ms) for worker in record.workers],
        unlisted_workers=record.unlisted_workers,
    )


def _worker(record: WorkerRecord, reported_at_ms: int, age_ms: int) -> shapes.WorkerView:
    return shapes.WorkerView(
        name=record.name,
        version=record.version,
        hostname=record.hostname,
        pid=record.pid,
        connected_since=instant(reported_at_ms - record.connected_age_ms),
        heartbeat_age=(age_ms + record.heard_age_ms) / 1000,
        silent=record.silent,
        in_flight=record.in_flight,
        max_inflight=record.inflight_max,
        kinds=[_served(served) for served in record.kinds],
    )


def _served(record: ServedRecord) -> shapes.ServedView:
    return shapes.ServedView(
        kind=record.pair.kind,
        kind_version=record.pair.version,
        ready=record.ready,
        reason=record.reason,
        in_flight=record.in_flight,
        max_inflight=record.inflight_max,
    )


def culprit(record: ResourceRecord) -> str:
    """Why a resource is not Ready, in a sentence; "" when it is or when nothing is known yet."""
    if record.is_ready:
        return ""
    if record.phase is Phase.FAILED and record.failure_message:
        return record.failure_message
    told = [c for c in record.conditions if c.status == "False" and c.message]
    if told:
        return max(told, key=lambda c: c.type == "Ready").message
    return _told(record.work) if record.work else ""


def _told(record: WorkRecord) -> str:
    """How far a running task is, as `50% copying`."""
    fraction = "" if record.progress is None else f"{record.progress:.0%}"
    return " ".join(filter(None, (fraction, record.progress_message)))


def node(record: ResourceRecord) -> shapes.NodeView:
    return shapes.NodeView(**_node_members(record))


def near_node(record: ResourceRecord, distance: int) -> shapes.NearNodeView:
    return shapes.NearNodeView(**_node_members(record), distance=distance)


def _node_members(record: ResourceRecord) -> dict[str, Any]:
    return {
        "ref": str(record.ref),
        "kind": record.kind,
        "name": record.name,
        "owner": str(record.owner) if record.owner else None,
        "phase": record.phase,
        "is_ready": record.is_ready,
        "message": culprit(record),
    }


def edge(edge: Edge) -> shapes.EdgeView:
    return shapes.EdgeView(str(edge.dependent), str(edge.dependency))


def explanation(told: Explanation) -> shapes.ExplanationView:
    record = told.resource
    return shapes.ExplanationView(
        kind=record.kind,
        name=record.name,
        kind_version=record.kind_version,
        generation=record.generation,
        synced_gen=record.synced_gen,
        phase=record.phase,
        is_ready=record.is_ready,
        reasons=[_reason(reason) for reason in told.reasons],
        config=_effective(told.config),
    )


def _reason(reason: Reason) -> shapes.ReasonView:
    return shapes.ReasonView(
        code=reason.code,
        message=reason.message,
        hint=reason.hint,
        about=_ref(reason.about),
        since=_instant(reason.since_ms),
        until=_instant(reason.until_ms),
    )


def _effective(config: EffectiveConfig) -> shapes.EffectiveConfigView:
    leaves = [
        shapes.LeafView(
            path=leaf.path,
            value=Raw(leaf.value),
            layer=leaf.layer,
            replaced=[shapes.ReplacedView(layer, Raw(value)) for layer, value in leaf.replaced],
        )
        for leaf in config.leaves
    ]
    return shapes.EffectiveConfigView(config.names, leaves, _raw(config.spec), config.bundle)


def dependency(edge: Edge, record: ResourceRecord) -> shapes.DependencyView:
    return shapes.DependencyView(
        kind=edge.dependency.kind,
        name=edge.dependency.name,
        phase=record.phase,
        is_ready=record.is_ready,
        health_ok=record.health_ok,
        updated_at=instant(record.updated_at_ms),
        value_mappings=[shapes.FlowView(dependent, source) for dependent, source in edge.flows],
    )


def event(record: EventRecord) -> shapes.EventView:
    return shapes.EventView(
        seq=record.seq,
        resource=_ref(record.ref),
        type=record.type,
        reason=record.reason,
        message=record.message,
        actor=record.actor,
        detail=record.detail,
        created_at=instant(record.created_at_ms),
    )


def audit(record: EventRecord) -> shapes.AuditView:
    return shapes.AuditView(
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


def revision(row: RevisionRow, *, is_live: bool) -> shapes.RevisionView:
    return shapes.RevisionView(
        generation=row.generation,
        kind_version=row.kind_version,
        actor=row.written_by,
        size_bytes=len(row.spec or "{}"),
        is_live=is_live,
        created_at=instant(row.written_at),
    )


def operation(row: OperationRow) -> shapes.OperationView:
    return shapes.OperationView(
        uid=row.uid,
        verb=row.verb,
        state=row.state,  # type: ignore[arg-type]
        input=_text(row.input),
        output=_text(row.output),
        error=shapes.OperationErrorView(row.message, row.reason) if row.state == FAILED else None,
        attempts=row.attempts,
        requested_by=row.requested_by,
        created_at=instant(row.created_at),
        started_at=_instant(row.started_at),
        finished_at=_instant(row.finished_at),
    )


def binding(row: BindingRow) -> shapes.BindingView:
    return shapes.BindingView(
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
    )


def dead_letter(row: DeliveryRow) -> shapes.DeadLetterView:
    return shapes.DeadLetterView(
        id=row.id,
        binding=row.binding,
        transition=row.transition,
        reactor=row.reactor,
        reactor_version=row.reactor_version,
        dedup_token=row.dedup_token,
        reason=row.reason,
        message=row.message,
        attempts=row.attempts,
        resource=_snapshot(row),
        crossed_at=instant(row.created_at),
        dead_since=_instant(row.dead_at),
    )


def _snapshot(row: DeliveryRow) -> shapes.SnapshotView:
    return shapes.SnapshotView(
        uid=row.uid,
        kind=row.kind,
        kind_version=row.kind_version,
        name=row.name,
        generation=row.generation,
        phase=Phase(row.phase),
        labels=loads(row.labels.encode()),
        spec=_text(row.spec),
        status=_text(row.status),
    )


def manifest(record: KindRecord) -> dict[str, Raw]:
    """The manifest as it was published, with its labels and the number that is another for other content."""
    document = dict(members(record.manifest) or {})
    document["manifest_version"] = dumps(record.manifest_version)
    if record.labels:
        document["labels"] = dumps(record.labels)
    return {key: Raw(value) for key, value in document.items()}


def policy(record: KindRecord) -> shapes.PolicyView:
    p = record.policy
    return shapes.PolicyView(**{name: getattr(p, name) for name in shapes.PolicyView.__struct_fields__})


def config(record: ConfigRecord, *, reveal: bool) -> shapes.ConfigView:
    spec = record.spec if reveal or record.spec is None else mask(RawJson(record.spec))
    return shapes.ConfigView(
        name=record.name,
        kind=record.pair.kind,
        kind_version=record.pair.version,
        is_default=record.is_default,
        spec=_raw(spec),
        data=record.bundle,
        labels=record.labels,
        owner=_ref(record.owner),
        created_at=instant(record.created_at_ms),
        updated_at=instant(record.updated_at_ms),
    )


def config_summary(record: ConfigRecord) -> shapes.ConfigSummary:
    return shapes.ConfigSummary(
        name=record.name,
        kind=record.pair.kind,
        kind_version=record.pair.version,
        is_default=record.is_default,
        data_bytes=len(record.bundle or b""),
        labels=record.labels,
        owner=_ref(record.owner),
        created_at=instant(record.created_at_ms),
        updated_at=instant(record.updated_at_ms),
    )
