"""Threads for providers that block."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from queue import SimpleQueue

THREADS_MAX = 1_024


class Threads:
    """A pool that grows to what runs at once, at most `count_max`; beyond that work waits its turn.

    Its threads are daemons: a provider that never returns can't keep the process alive. How many calls run
    at once is limited by the caller; the bound here is for calls that were given up and still hold a thread.
    """

    def __init__(self, count_max: int = THREADS_MAX) -> None:
        self.count_max = count_max
        self._queue: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._numbers = itertools.count(1)
        self._count = 0

    def submit(self, call: Callable[[], object]) -> None:
        """Run `call`, which must not raise, in a thread. To be called from one thread only."""
        self._queue.put(call)
        if self._idle.acquire(blocking=False) or self._count >= self.count_max:
            return
        self._count += 1
        threading.Thread(target=self._run, name=f"provider-{next(self._numbers)}", daemon=True).start()

    def close(self) -> None:
        """Let the threads end when their call returns; nobody waits for them."""
        for _ in range(self._count):
            self._queue.put(None)

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            call()
            del call  # an idle thread must not keep the last task's documents alive
            self._idle.release()
