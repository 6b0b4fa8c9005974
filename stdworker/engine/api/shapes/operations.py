"""Operations of resources."""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct, field

from stdworker.engine.api.shapes.common import Declared, Instant, instant, instant_or_none, raw_text
from stdworker.engine.store.rows import FAILED, OperationRow


class OperationBody(Declared):
    """A verb to run on a resource."""

    verb: str
    input: Raw = field(default_factory=Raw)


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

    @classmethod
    def of(cls, row: OperationRow) -> OperationView:
        return cls(
            uid=row.uid,
            verb=row.verb,
            state=row.state,  # type: ignore[arg-type]
            input=raw_text(row.input),
            output=raw_text(row.output),
            error=OperationErrorView(row.message, row.reason) if row.state == FAILED else None,
            attempts=row.attempts,
            requested_by=row.requested_by,
            created_at=instant(row.created_at),
            started_at=instant_or_none(row.started_at),
            finished_at=instant_or_none(row.finished_at),
        )


class Operations(Struct):
    """A page of operations."""

    operations: list[OperationView]
