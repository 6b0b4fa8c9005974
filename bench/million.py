"""The same as `growth`, up to a million resources: minutes, so it runs only when it is named."""

from __future__ import annotations

from bench import growth
from bench.figure import Figure

NAME = "million"
BUDGET = growth.BUDGET
ONLY_NAMED = True

TOTALS = {"small": (1_000, 3_000), "full": (10_000, 1_000_000)}


async def run(size: str) -> list[Figure]:
    return await growth.measure(TOTALS[size], size)
