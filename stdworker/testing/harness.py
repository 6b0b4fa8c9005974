"""Running one provider without a broker, through the code that a worker runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from stdworker.host import dispatch
from stdworker.host.threads import Threads
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import Lease, Provider, ReactionRequest
from stdworker.wire.convert import STAGE_NUMBERS
from stdworker.wire.convert_result import decode_result, encode_result
from stdworker.wire.convert_task import decode_task, encode_task
from stdworker.wire.generated import worker_pb2 as pb

_TRIGGERS = {
    Stage.ROLLUP: Trigger.CHILDREN_SETTLED,
    Stage.DELETE: Trigger.DELETE_REQUESTED,
    Stage.OPERATE: Trigger.OPERATION,
    Stage.REACT: Trigger.REACTOR,
}


def make_request(
    kind: KindVersion,
    *,
    stage: Stage | str = Stage.WORK,
    name: str = "test",
    spec: Any = None,
    status: Any = None,
    labels: Mapping[str, str] | None = None,
    generation: int = 1,
    reaction: str = "",
    trigger: Trigger | str | None = None,
    config: Any = None,
    override: Any = None,
    bundle: bytes | None = None,
    observed: Sequence[Resource] = (),
    descendants: Sequence[Resource] = (),
    operation: Operation | None = None,
    transition: Transition | None = None,
    dedup_token: str = "",
    finalizers: Sequence[str] = (),
) -> ReactionRequest:
    """A request as a worker would make it. Documents are Python values or `RawJson`; what the stage implies
    (reaction, trigger) need not be said."""
    stage = Stage(stage)
    resource = Resource(
        uid=str(uuid4()),
        kind=kind.kind,
        name=name,
        kind_version=kind.version,
        generation=generation,
        spec_json=None if spec is None else dumps(spec),
        status_json=None if status is None else dumps(status),
        labels=dict(labels or {}),
        finalizers=tuple(finalizers),
    )
    return ReactionRequest(
        stage=stage,
        trigger=Trigger(trigger) if trigger else _TRIGGERS.get(stage, Trigger.SPEC_CHANGE),
        reaction=reaction or stage.value,
        kind=kind,
        resource=resource,
        observed=observed,
        descendants=descendants,
        operation=operation,
        transition=transition,
        dedup_token=dedup_token,
        default=ProviderConfig(None if config is None else dumps(config), bundle),
        override=ProviderConfig(None if override is None else dumps(override)),
    )


def run_provider(
    provider: Provider, request: ReactionRequest | None = None, *, timeout: float | None = None, **parts: Any
) -> Outcome:
    """Run one task of a provider: decode → `on_config` → `work` → encode, as in a worker.

    `request`, or the parts of one as `make_request` takes them. `timeout` is the task's deadline in seconds.
    Raises Terminal, Retry or Released when the task failed. Where a loop runs already, await
    `run_provider_async`.
    """
    return asyncio.run(run_provider_async(provider, request, timeout=timeout, **parts))


async def run_provider_async(
    provider: Provider, request: ReactionRequest | None = None, *, timeout: float | None = None, **parts: Any
) -> Outcome:
    """See `run_provider`."""
    request = request or make_request(provider.kind, **parts)
    frame = encode_task(Lease("test", 1), request, deadline_ms=round((timeout or 0) * 1_000))
    task = decode_task(pb.StageTask.FromString(frame.SerializeToString()), request.default)
    task.request.report_progress = request.report_progress
    threads = Threads()
    try:
        await dispatch.call(threads, provider.on_config, request.default)
    finally:
        threads.close()
    result = await dispatch.run(provider, task.request)
    sent = encode_result(task.lease, STAGE_NUMBERS[task.stage], result).SerializeToString()
    back = decode_result(pb.StageComplete.FromString(sent))[2]
    if back.failure is not None:
        raise back.failure
    assert back.outcome is not None
    return back.outcome
