"""Tasks, broker to worker: StageTask ⇄ request, for all six stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stdworker.errors import Terminal
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import Lease, ReactionRequest, Task
from stdworker.wire.convert import (
    STAGE_NUMBERS,
    STAGES,
    decode_document,
    decode_resource,
    encode_resource,
    encode_uid,
    fill_resource,
)
from stdworker.wire.generated import worker_pb2 as pb

TRANSITION_NUMBERS: dict[Transition, pb.Transition] = {
    Transition.CREATED: pb.TRANSITION_CREATED,
    Transition.SYNCED: pb.TRANSITION_SYNCED,
    Transition.DEGRADED: pb.TRANSITION_DEGRADED,
    Transition.FAILED: pb.TRANSITION_FAILED,
    Transition.DELETED: pb.TRANSITION_DELETED,
}
TRANSITIONS: dict[int, Transition] = {int(number): transition for transition, number in TRANSITION_NUMBERS.items()}

_TRIGGERS: dict[str, Trigger] = {trigger.value: trigger for trigger in Trigger}
_PAYLOADS = {
    Stage.COMPOSE: "compose_req",
    Stage.WORK: "work_req",
    Stage.ROLLUP: "rollup_req",
    Stage.DELETE: "delete_req",
    Stage.OPERATE: "operate_req",
    Stage.REACT: "react_req",
}


_NO_RESOURCE = Resource(uid="", kind="", name="")
_NO_CONFIG = ProviderConfig()


class Handed(Protocol):
    """What a worker is told of the stage that it is to run, of a request as of an engine's claim."""

    @property
    def stage(self) -> Stage: ...
    @property
    def trigger(self) -> Trigger: ...
    @property
    def reaction(self) -> str: ...
    @property
    def kind(self) -> KindVersion: ...
    @property
    def resource(self) -> Resource: ...
    @property
    def observed(self) -> Sequence[Resource]: ...
    @property
    def descendants(self) -> Sequence[Resource]: ...
    @property
    def operation(self) -> Operation | None: ...
    @property
    def transition(self) -> Transition | None: ...
    @property
    def dedup_token(self) -> str: ...
    @property
    def override(self) -> ProviderConfig: ...


def encode_task(lease: Lease, request: Handed, *, deadline_ms: int = 0, manifest_version: int = 0) -> pb.StageTask:
    """The frame that hands `request` out under `lease`; its default config is not part of it."""
    message = pb.StageTask(
        stage=STAGE_NUMBERS[request.stage],
        kind=request.kind.kind,
        kind_version=request.kind.version,
        resource_id=encode_uid(request.resource.uid),
        generation=request.resource.generation,
        reaction=request.reaction,
        lease_token=lease.token,
        claim_epoch=lease.epoch,
        manifest_version=manifest_version,
        provider_config=request.override.spec or b"",
        provider_bundle=request.override.bundle or b"",
        task_deadline_ms=deadline_ms,
        trigger=request.trigger,
    )
    _PAYLOAD_ENCODERS[request.stage](message, request)
    return message


def _encode_compose(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.compose_req.root, request.resource)
    message.compose_req.observed.extend(map(encode_resource, request.observed))


def _encode_work(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.work_req.resource, request.resource)
    if request.resource.status_json:
        message.work_req.status = request.resource.status_json


def _encode_rollup(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.rollup_req.root, request.resource)
    message.rollup_req.descendants.extend(map(encode_resource, request.descendants))
    message.rollup_req.status = request.resource.status_json or b""


def _encode_delete(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.delete_req.resource, request.resource)


def _encode_operate(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.operate_req.resource, request.resource)
    operation = request.operation or Operation("")
    message.operate_req.operation.CopyFrom(
        pb.Operation(
            resource_id=message.resource_id,
            verb=operation.verb,
            input=operation.input_json or b"",
            attempts=operation.attempts,
            requested_by=operation.requested_by,
        )
    )


def _encode_react(message: pb.StageTask, request: Handed) -> None:
    fill_resource(message.react_req.resource, request.resource)
    if request.transition is not None:
        message.react_req.transition = TRANSITION_NUMBERS[request.transition]
    message.react_req.dedup_token = request.dedup_token


_PAYLOAD_ENCODERS: dict[Stage, Callable[[pb.StageTask, Handed], None]] = {
    Stage.COMPOSE: _encode_compose,
    Stage.WORK: _encode_work,
    Stage.ROLLUP: _encode_rollup,
    Stage.DELETE: _encode_delete,
    Stage.OPERATE: _encode_operate,
    Stage.REACT: _encode_react,
}


def decode_task(message: pb.StageTask, default: ProviderConfig = _NO_CONFIG, received: float | None = None) -> Task:
    """The task that a broker handed out; `default` is the pair's config, `received` the monotonic instant.

    Raises Terminal, naming what is wrong, for an unknown stage, an absent reaction or a missing payload.
    """
    stage = STAGES.get(message.stage)
    if stage is None:
        raise Terminal(f"this worker knows no stage {message.stage}", reason="UnknownStage", code="unknown_stage")
    if not message.reaction:
        raise Terminal("the task names no reaction", reason="NoReaction", code="no_reaction")
    payload = _PAYLOADS[stage]
    if not message.HasField(payload):
        raise Terminal(
            f"the task of stage {stage} carries no {payload}", reason="MissingPayload", code="missing_payload"
        )
    seconds = message.task_deadline_ms / 1_000 if message.task_deadline_ms > 0 else None
    pair = KindVersion(message.kind, message.kind_version)
    request = ReactionRequest(
        stage=stage,
        trigger=_TRIGGERS.get(message.trigger) or stage.trigger,
        reaction=message.reaction,
        kind=pair,
        resource=_NO_RESOURCE,
        default=default,
        override=_override(message),
        deadline=None if seconds is None else (time.monotonic() if received is None else received) + seconds,
    )
    _PAYLOAD_DECODERS[stage](getattr(message, payload), request)
    return Task(Lease(message.lease_token, message.claim_epoch), stage, pair, request)


def _decode_compose(payload: pb.ComposeRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.root)
    request.observed = [decode_resource(child) for child in payload.observed]


def _decode_work(payload: pb.WorkRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.resource)
    _prefer_status(request.resource, payload.status)


def _decode_rollup(payload: pb.RollupRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.root)
    request.descendants = [decode_resource(descendant) for descendant in payload.descendants]
    _prefer_status(request.resource, payload.status)


def _decode_delete(payload: pb.DeleteRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.resource)


def _decode_operate(payload: pb.OperateRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.resource)
    told = payload.operation
    request.operation = Operation(told.verb, decode_document(told.input), told.attempts, told.requested_by)


def _decode_react(payload: pb.ReactRequest, request: ReactionRequest) -> None:
    request.resource = decode_resource(payload.resource)
    request.transition = TRANSITIONS.get(payload.transition)
    request.dedup_token = payload.dedup_token


_PAYLOAD_DECODERS: dict[Stage, Callable[[Any, ReactionRequest], None]] = {
    Stage.COMPOSE: _decode_compose,
    Stage.WORK: _decode_work,
    Stage.ROLLUP: _decode_rollup,
    Stage.DELETE: _decode_delete,
    Stage.OPERATE: _decode_operate,
    Stage.REACT: _decode_react,
}


def _override(message: pb.StageTask) -> ProviderConfig:
    spec, bundle = message.provider_config, message.provider_bundle
    return ProviderConfig(decode_document(spec), bundle or None) if spec or bundle else _NO_CONFIG


def _prefer_status(resource: Resource, status: bytes) -> None:
    if status:
        resource.status_json = RawJson(status)
