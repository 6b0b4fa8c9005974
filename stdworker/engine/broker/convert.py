"""Result frames become settlements. The nouns' conversions are `stdworker.wire`'s."""

from __future__ import annotations

from stdworker.engine.store.claims import Settlement
from stdworker.errors import JsonError
from stdworker.model.json_text import RawJson, check
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome
from stdworker.model.task import Lease
from stdworker.wire.convert import STAGES, plain_text
from stdworker.wire.convert_result import decode_outcome
from stdworker.wire.generated import worker_pb2 as pb


def decode_complete(message: pb.StageComplete, expected: Stage | None) -> Settlement:
    """What a result frame settles.

    `expected` is the stage that the lease was handed out for, None when this broker doesn't know the lease. A
    result that can't be stored (no known stage, documents that are not JSON) settles as a terminal failure that
    says so: it would be the same the next time.
    """
    lease = Lease(message.lease_token, message.claim_epoch)
    stage = STAGES.get(message.stage)
    if stage is None:
        return _unusable(lease, expected or Stage.WORK, f"the worker's result is of stage {message.stage}")
    try:
        outcome = _checked(decode_outcome(message))
    except JsonError as error:
        return _unusable(lease, stage, f"the worker's result holds what is not JSON: {error}")
    return Settlement(
        lease=lease,
        stage=stage,
        outcome=outcome,
        error=plain_text(message.error_message) or ("released" if message.released else ""),
        reason=plain_text(message.error_reason),
        terminal=message.terminal,
        released=message.released,
        retry_after_ms=max(0, message.retry_after_ms),
    )


def _unusable(lease: Lease, stage: Stage, text: str) -> Settlement:
    return Settlement(lease=lease, stage=stage, error=text, reason="BadResult", terminal=True)


def _checked(outcome: Outcome) -> Outcome:
    """Refuse, with JsonError, documents that the store must not hold."""
    if outcome.status is not None:
        _check(outcome.status, "status")
    if outcome.output is not None:
        _check(outcome.output, "output")
    for child in outcome.children:
        if child.spec is not None:
            _check(child.spec, f"spec of {child.ref}")
    for config in outcome.configs:
        if config.spec is not None:
            _check(config.spec, f"config {config.name}")
    return outcome


def _check(document: RawJson, what: str) -> None:
    try:
        check(document)
    except JsonError as error:
        raise JsonError(f"{what}: {error}", code=error.code) from None


def decode_leases(message: pb.WorkHeartbeat) -> list[Lease]:
    """The leases of a heartbeat; a missing epoch is 0, which fits no lease."""
    epochs = [*message.claim_epoch, *[0] * len(message.lease_token)]
    return [Lease(token, epoch) for token, epoch in zip(message.lease_token, epochs, strict=False)]
