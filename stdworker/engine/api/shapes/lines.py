"""What became of each line of a body that has many."""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct

from stdworker.engine.api.shapes.problems import Problem


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
