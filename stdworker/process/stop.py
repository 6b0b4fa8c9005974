"""Ending a process: ask, wait, insist. Every step is cut short by success, and the last one can't be refused."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stdworker.process.spawn import Process

REAP_SECONDS = 5.0  # after SIGKILL; only a process stuck inside the kernel needs longer


class Step(NamedTuple):
    """One request to end, and how long it may take to work."""

    ask: Callable[[], None]
    patience_seconds: float


def terminate(process: Process, grace_seconds: float) -> Step:
    """SIGTERM to the whole group."""
    return Step(lambda: process.signal_group(signal.SIGTERM), grace_seconds)


async def stop(process: Process, steps: Sequence[Step], *, killed_by: str | None = None) -> bool:
    """Take the steps until the leader has ended, then SIGKILL to the group and close.

    Answers False when even that had no effect in `REAP_SECONDS`: then the process is stuck in the kernel.
    """
    if killed_by is not None and process.alive:
        process.killed_by = killed_by
    for step in steps:
        if not process.alive:
            break
        step.ask()
        await _exited(process, step.patience_seconds)
    process.signal_group(signal.SIGKILL)
    ended = await _exited(process, REAP_SECONDS)
    process.close()
    return ended


async def _exited(process: Process, seconds: float) -> bool:
    if process.alive:
        await asyncio.wait({process.exited}, timeout=seconds)
    return not process.alive
