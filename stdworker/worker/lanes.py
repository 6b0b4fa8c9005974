"""Tasks of one pair wait in its lane until the pair has room; a full lane never holds up another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from stdworker.errors import Released, Terminal
from stdworker.host.dispatch import Dispatcher
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease, Result, Task
from stdworker.wire.convert_task import decode_task
from stdworker.worker.configs import ConfigSlot
from stdworker.worker.ledger import Held
from stdworker.worker.metrics import Metrics

log = logging.getLogger("stdworker.worker")


class TaskObserver(Protocol):
    """Who is told when a task starts and ends; must return at once."""

    def task_started(self, task: Task) -> None: ...

    def task_finished(self, task: Task, result: Result) -> None: ...


class Ceiling:
    """The number of tasks that run at once over all lanes; None is no limit. `idle` is set while none does."""

    def __init__(self, limit: int | None) -> None:
        self.idle = asyncio.Event()
        self.idle.set()
        self._limit = limit
        self._running = 0
        self._blocked: dict[Lane, None] = {}

    def take(self, lane: Lane) -> bool:
        if self._limit is not None and self._running >= self._limit:
            self._blocked[lane] = None
            return False
        self._running += 1
        self.idle.clear()
        return True

    def free(self) -> None:
        self._running -= 1
        if not self._running:
            self.idle.set()
        if self._blocked:
            lane = next(iter(self._blocked))  # the lane that has waited longest
            del self._blocked[lane]
            lane.pump()


class Lane:
    """The tasks of one pair: at most `limit` run, none while its config is changing or while it isn't ready."""

    def __init__(
        self,
        pair: KindVersion,
        dispatcher: Dispatcher,
        slot: ConfigSlot,
        ceiling: Ceiling,
        metrics: Metrics,
        report: Callable[[Held, Result], None],
        progress: Callable[[Lease, float | None, str], None],
        observer: TaskObserver | None,
    ) -> None:
        self.limit = 1
        self.ready = False
        self.running = 0
        self._dispatcher = dispatcher
        self._slot = slot
        self._ceiling = ceiling
        self._metrics = metrics.of(pair)
        self._report = report
        self._progress = progress
        self._observer = observer
        self._queue: deque[Held] = deque()

    @property
    def waiting(self) -> int:
        """How many tasks have not started."""
        return len(self._queue)

    def submit(self, held: Held) -> None:
        self._queue.append(held)
        self.pump()

    def pump(self) -> None:
        """Start what may start now."""
        queue = self._queue
        while queue and self.running < self.limit and self._slot.settled and self._ceiling.take(self):
            self.running += 1
            if not self._start(queue.popleft()):
                self.running -= 1
                self._ceiling.free()

    def release_queued(self, release: Callable[[Held], None]) -> None:
        """Give back everything that has not started."""
        while self._queue:
            release(self._queue.popleft())

    def withdraw(self, held: Held, reason: str) -> None:
        """Give back one task that was cancelled before it started."""
        self._queue.remove(held)
        self._report(held, Result(failure=Released(f"cancelled: {reason}", reason="Cancelled")))

    def _start(self, held: Held) -> bool:
        assert held.message is not None
        if not self.ready:
            self._report(held, Result(failure=Released("the kind is not ready on this worker", reason="NotReady")))
            return False
        try:
            task = decode_task(held.message, self._slot.config, held.received)
        except Terminal as failure:
            self._report(held, Result(failure=failure))
            return False
        held.message = None
        started = held.started = time.monotonic()
        self._metrics.started(started - held.received)
        self._observe_start(task)
        task.request.report_progress = partial(self._progress, held.lease)
        held.run = self._dispatcher.start(task.request, partial(self._ended, held, task, started))
        return True

    def _ended(self, held: Held, task: Task, started: float, result: Result) -> None:
        self.running -= 1
        self._metrics.ended(result, time.monotonic() - started)
        self._observe_end(task, result)
        self._report(held, result)
        self._ceiling.free()
        self.pump()

    def _observe_start(self, task: Task) -> None:
        if self._observer is not None:
            try:
                self._observer.task_started(task)
            except Exception:
                log.exception("a hook failed at the start of a task")

    def _observe_end(self, task: Task, result: Result) -> None:
        if self._observer is not None:
            try:
                self._observer.task_finished(task, result)
            except Exception:
                log.exception("a hook failed at the end of a task")
