"""What SIGTERM, SIGINT and SIGHUP mean: a command that serves drains first and stops at the second, one that runs ends.

SIGHUP says that the terminal is gone, and often comes twice, or beside a SIGTERM: it is never a second signal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger("stdworker")


def ending_signals() -> list[signal.Signals]:
    """The signals that ask for our end; below nohup SIGHUP is none of them."""
    is_kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT] if is_kept else [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def drain_then_abort(drain: Callable[[], object], abort: Callable[[], object]) -> list[int]:
    """Handle them on the running loop; the list holds the numbers that were received, in order."""
    received: list[int] = []

    def on_signal(number: int) -> None:
        if received and number == signal.SIGHUP:
            return
        received.append(number)
        if len(received) == 1:
            drain()
            return
        log.warning("second signal: stopping at once")
        abort()

    for number in ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    return received


def end_within(seconds: float, status: int) -> None:
    """End this process then at the latest, whatever it waits for: nothing that it holds outlives it."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    timer.start()


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
