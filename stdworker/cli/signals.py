"""What SIGTERM and SIGINT mean: a command that serves drains first and stops at the second, one that runs ends."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger("stdworker")


def drain_then_abort(drain: Callable[[], object], abort: Callable[[], object]) -> list[int]:
    """Handle both signals on the running loop; the list holds the numbers that were received, in order."""
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) == 1:
            drain()
            return
        log.warning("second signal: stopping at once")
        abort()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    return received


async def until_interrupted(work: Coroutine[Any, Any, int]) -> int:
    """The exit status that `work` ends with; at SIGINT or SIGTERM it is cancelled, then 128 + signal."""
    received: list[int] = []
    running = asyncio.create_task(work)

    def interrupt(number: int) -> None:
        received.append(number)
        running.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    await asyncio.wait({running})
    return 128 + received[0] if running.cancelled() else running.result()
