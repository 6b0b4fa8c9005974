"""What a benchmark answers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value beside its budget; `ok` is None where there is no budget."""

    name: str
    value: float
    unit: str
    budget: str = ""
    ok: bool | None = None


def at_least(name: str, value: float, unit: str, least: float) -> Figure:
    return Figure(name, value, unit, f"≥ {least:,g}", value >= least)


def at_most(name: str, value: float, unit: str, most: float) -> Figure:
    return Figure(name, value, unit, f"≤ {most:,g}", value <= most)


def median(rounds: Sequence[Figure]) -> Figure:
    """The figure in the middle of those of several rounds."""
    return sorted(rounds, key=operator.attrgetter("value"))[len(rounds) // 2]
