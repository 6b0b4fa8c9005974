"""What SIGTERM and SIGINT mean to a command that serves: the first drains, the second stops at once."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable

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
