"""What a benchmark answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value beside its budget; `ok` is None where there is no budget."""

    name: str
    value: float
    unit: str
    budget: str = ""
    ok: bool | None = None
