"""Results, worker to broker: outcome or failure ⇄ StageComplete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from stdworker.errors import Released, Retry, TaskFailure, Terminal
from stdworker.model.json_text import dumps
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome
from stdworker.model.task import Lease, Result
from stdworker.wire.convert import (
    STAGES,
    decode_child,
    decode_condition,
    decode_config_spec,
    decode_document,
    decode_edge,
    encode_child,
    encode_condition,
    encode_config_spec,
    encode_document,
    encode_edge,
    plain_text,
)
from stdworker.wire.generated import worker_pb2 as pb

FAILURE_CHARACTERS_MAX = 262_144  # of a failure's message: the tail of stderr fits, an endless one doesn't

T = TypeVar("T")
M = TypeVar("M")

_NOTHING = Outcome()


def encode_result(lease: Lease, stage: int, result: Result) -> pb.StageComplete:
    """The frame that settles a lease; `stage` is the number as received, known or not.

    An outcome or a failure that can't be sent (not JSON, children of a reaction that doesn't compose) settles as a
    terminal failure that names the place.
    """
    message = _echo(lease, stage)
    try:
        if result.failure is not None:
            _fill_failure(message, result.failure)
        else:
            _fill_outcome(message, result.outcome or _NOTHING)
    except Exception as error:  # a provider's own objects may raise anything when they are read
        what = "outcome" if result.failure is None else "failure"
        message = _echo(lease, stage)
        _fill_failure(message, Terminal(f"the {what} can't be sent: {error}", reason="BadOutcome"))
    return message


def _echo(lease: Lease, stage: int) -> pb.StageComplete:
    return pb.StageComplete(lease_token=lease.token, stage=stage, claim_epoch=lease.epoch)  # type: ignore[arg-type]


def decode_result(message: pb.StageComplete) -> tuple[Lease, Stage | None, Result]:
    """What a worker reported: the lease, the stage (None when unknown), outcome or failure.

    A status sent beside a failure is its `status`.
    """
    lease = Lease(message.lease_token, message.claim_epoch)
    stage = STAGES.get(message.stage)
    if message.error_message or message.released:
        return lease, stage, Result(failure=_decode_failure(message))
    return lease, stage, Result(outcome=decode_outcome(message))


def decode_outcome(message: pb.StageComplete) -> Outcome:
    """What a successful stage handed back; a compose result's status and conditions come from inside it."""
    if message.stage == pb.STAGE_COMPOSE and message.HasField("compose"):
        return _decode_composed(message.compose)
    return Outcome(
        status=decode_document(message.status),
        conditions=[decode_condition(condition) for condition in message.conditions],
        output=decode_document(message.output),
    )


def _decode_composed(composed: pb.ComposeResult) -> Outcome:
    return Outcome(
        status=decode_document(composed.status),
        conditions=[decode_condition(condition) for condition in composed.conditions],
        children=[decode_child(child) for child in composed.desired],
        edges=[decode_edge(edge) for edge in composed.edges],
        configs=[decode_config_spec(config) for config in composed.configs],
        recompose=composed.recompose,
        allow_empty=composed.allow_empty,
    )


def _decode_failure(message: pb.StageComplete) -> TaskFailure:
    text, reason, status = message.error_message, message.error_reason, decode_document(message.status)
    if message.released:
        return Released(text, reason=reason, status=status)
    if message.terminal:
        return Terminal(text, reason=reason, status=status)
    after = message.retry_after_ms / 1_000 if message.retry_after_ms > 0 else None
    return Retry(text, after=after, reason=reason, status=status)


def _fill_failure(message: pb.StageComplete, failure: TaskFailure) -> None:
    message.error_message = _shortened(plain_text(str(failure))) or type(failure).__name__
    message.error_reason = plain_text(failure.reason)
    message.terminal = failure.terminal
    message.released = failure.released
    if isinstance(failure, Retry) and failure.after is not None:
        message.retry_after_ms = max(1, round(failure.after * 1_000))
    if failure.status is not None:
        try:
            message.status = dumps(failure.status)
        except Exception as error:
            message.error_message += f" (its status can't be sent: {plain_text(str(error))})"


def _fill_outcome(message: pb.StageComplete, outcome: Outcome) -> None:
    if message.stage == pb.STAGE_COMPOSE:
        _fill_composed(message.compose, outcome)
        return
    if outcome.children or outcome.edges or outcome.configs:
        raise ValueError("children, edges and configs come from a compose reaction only")
    if message.stage == pb.STAGE_OPERATE:
        message.output = encode_document(outcome.output, "the output")
    message.status = encode_document(outcome.status, "the status")
    if outcome.conditions:
        message.conditions.extend(_encoded("conditions", encode_condition, outcome.conditions))


def _fill_composed(composed: pb.ComposeResult, outcome: Outcome) -> None:
    composed.SetInParent()  # a composite that wants no child says so
    composed.desired.extend(_encoded("children", encode_child, outcome.children))
    composed.edges.extend(_encoded("edges", encode_edge, outcome.edges))
    composed.configs.extend(_encoded("configs", encode_config_spec, outcome.configs))
    composed.status = encode_document(outcome.status, "the status")
    composed.conditions.extend(_encoded("conditions", encode_condition, outcome.conditions))
    composed.recompose, composed.allow_empty = outcome.recompose, outcome.allow_empty


def _encoded(member: str, encode: Callable[[T], M], items: Iterable[T]) -> Iterator[M]:
    """Each item encoded. Raises ValueError that names the one which can't be."""
    for index, item in enumerate(items):
        try:
            yield encode(item)
        except UnicodeEncodeError:
            raise ValueError(f"/{member}/{index}: a lone surrogate is not text") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"/{member}/{index}: {error}") from None


def _shortened(text: str) -> str:
    if len(text) <= FAILURE_CHARACTERS_MAX:
        return text
    return f"{text[:FAILURE_CHARACTERS_MAX]}… ({len(text)} characters)"
