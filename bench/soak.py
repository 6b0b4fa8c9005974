"""Hours of work in a minute: after a million requests the bridge holds what it held in the beginning."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.bridge import ANSWER, Bridge, repeat
from bench.figure import Figure

NAME = "soak"
BUDGET = "a million requests to persistent programs, thousands of one-shot ones: memory, descriptors, processes flat"

GROWTH_MIB_MAX = 4.0
IN_FLIGHT = 32
ONESHOT_PARALLEL = 16
ROUNDS = 10  # the first one warms up
SIZES = {"small": (500, 20), "full": (1_000_000, 5_000)}  # requests, one-shot programs

PERSISTENT = {"mode": "stream", "command": sys.executable, "args": ["-S", "-c", ANSWER], "concurrency": IN_FLIGHT}
ONESHOT = {"command": "sh", "args": ["-c", 'read -r line; echo noise >&2; echo \'{"status":{"ok":true}}\'']}


async def run(size: str) -> list[Figure]:
    requests, spawns = SIZES[size]
    return [
        *await _soak("persistent", PERSISTENT, requests, IN_FLIGHT),
        *await _soak("one-shot", ONESHOT, spawns, ONESHOT_PARALLEL),
    ]


async def _soak(name: str, config: dict[str, object], count: int, parallel: int) -> list[Figure]:
    async with Bridge(config) as work:
        await repeat(work, count // ROUNDS, parallel)
        before = _held()
        for _ in range(ROUNDS - 1):
            await repeat(work, count // ROUNDS, parallel)
        mib, descriptors, processes = (now - then for now, then in zip(_held(), before, strict=True))
    limit = f"≤ {GROWTH_MIB_MAX:g}"
    return [
        Figure(f"{name}: growth over {count:,} requests", mib, "MiB", limit, mib <= GROWTH_MIB_MAX),
        Figure(f"{name}: descriptors left open", descriptors, "", "≤ 0", descriptors <= 0),
        Figure(f"{name}: processes left behind", processes, "", "≤ 0", processes <= 0),
    ]


def _held() -> tuple[float, float, float]:
    """MiB of memory, open descriptors, child processes (zombies too)."""
    here = Path("/proc/self")
    resident = next(line for line in (here / "status").read_text().splitlines() if line.startswith("VmRSS"))
    children = [child for thread in (here / "task").iterdir() for child in (thread / "children").read_text().split()]
    return int(resident.split()[1]) / 1024, len(list((here / "fd").iterdir())), len(children)
