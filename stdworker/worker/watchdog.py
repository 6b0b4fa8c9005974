"""Watches that the event loop turns, from a thread, and names what holds it up."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType

from stdworker.worker.metrics import Metrics

TICK_SECONDS = 0.5
BLOCKED_SECONDS = 1.0  # worth a word
STUCK_SECONDS = 30.0  # the probe fails

log = logging.getLogger("stdworker.worker")


class Watchdog:
    """A loop that stands still delays heartbeats, and a late heartbeat makes a task run twice."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._ended = threading.Event()
        self._turned = time.monotonic()
        self._loop_thread = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def silent_seconds(self) -> float:
        """How long the loop has not turned; readable from any thread."""
        return max(0.0, time.monotonic() - self._turned - TICK_SECONDS)

    @property
    def blocked(self) -> bool:
        return self.silent_seconds > BLOCKED_SECONDS

    @property
    def culprit(self) -> str:
        """What the loop's thread does now."""
        return culprit(sys._current_frames().get(self._loop_thread))

    @property
    def stuck(self) -> bool:
        return self.silent_seconds > STUCK_SECONDS

    def start(self) -> None:
        """Watch the running loop. To be called on it."""
        self._loop_thread = threading.get_ident()
        self._turn()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()

    def _turn(self) -> None:
        self._metrics.loop_lag_seconds = self.silent_seconds
        self._turned = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._turn)

    def _watch(self) -> None:
        told = False
        while not self._ended.wait(TICK_SECONDS):
            blocked = self.blocked
            if blocked and not told:
                self._metrics.loop_blocked += 1
                log.warning(
                    "the event loop stands still, heartbeats wait, because of %s: "
                    "make `work` a plain function, it then runs in a thread",
                    self.culprit,
                )
            told = blocked


def culprit(frame: FrameType | None) -> str:
    """Where a thread is: the call that entered a provider, if one did, and the innermost one."""
    stack = traceback.extract_stack(frame)
    innermost = _place(stack[-1])
    entries = [i for i, f in enumerate(stack[:-1], start=1) if f.filename.endswith("/stdworker/host/dispatch.py")]
    if not entries or _place(stack[entries[-1]]) == innermost:
        return innermost
    return f"{_place(stack[entries[-1]])} (now at {innermost})"


def _place(frame: traceback.FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno} in {frame.name}"
