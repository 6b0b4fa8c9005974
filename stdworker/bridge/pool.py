"""The processes of one persistent program: who takes the next request, and what follows when one dies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from stdworker.bridge.flight import Lost
from stdworker.bridge.program import Program
from stdworker.bridge.result import BridgeResult
from stdworker.bridge.stream import StreamProcess
from stdworker.bridge.supervision import PROBE_SECONDS, Supervision
from stdworker.bridge.view import PoolView
from stdworker.bridge.waiters import Waiters
from stdworker.errors import ConfigError, Released, Retry, TaskFailure
from stdworker.model.json_text import RawJson
from stdworker.model.task import ReactionRequest
from stdworker.process.command import Signature, signature

FILE_CHECK_SECONDS = 1.0  # the program file is looked at no more often

log = logging.getLogger("stdworker.bridge")


class StreamPool:
    """Keeps `processes` of a program running and shares the requests out among them."""

    def __init__(self, program: Program, ready_changed: Callable[[], None]) -> None:
        self.program = program
        self.ready_changed = ready_changed
        self.restarts = 0
        self.used_at = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._supervision = Supervision(program.runtime.random)
        self._processes: list[StreamProcess] = []
        self._leaving: set[StreamProcess] = set()
        self._starting = 0
        self._delayed: set[asyncio.TimerHandle] = set()
        self._waiters = Waiters(self._pick)
        self._running = 0
        self._closing = False
        self._emptied = asyncio.Event()
        self._diagnosis = ""
        self._checked_at = 0.0

    @property
    def busy(self) -> bool:
        return self._running > 0

    @property
    def not_ready_reason(self) -> str:
        """Why the kind should get no tasks now; "" when it should."""
        if self._supervision.open:
            return f"the program keeps dying; {self._diagnosis}"
        if self._processes and not any(process.ready.ready for process in self._processes):
            return f"the program says: {self._processes[0].ready.reason or 'not ready'}"
        return ""

    async def run(self, request: ReactionRequest, program: Program) -> BridgeResult:
        """Run one request under its own settings. Raises ConfigError or a TaskFailure when no process can take it."""
        self._running += 1
        self.used_at = time.monotonic()
        try:
            for alone in (False, True):
                process = await self._acquire(request, alone)
                result = await process.ask(request, program)
                if not isinstance(result, Lost):
                    return result
            raise Retry("the program's answers can't be told apart", reason="BadResponse", code="lost")
        finally:
            self._running -= 1
            self.used_at = time.monotonic()

    def start(self) -> None:
        """Let every place of the pool have a process, or one that is about to start."""
        while self._missing > 0:
            self._start_one()

    def tell_config(self, settings: RawJson | None) -> None:
        for process in self._processes:
            process.tell_config(settings)

    def view(self, *, default: bool) -> PoolView:
        return PoolView(
            default=default,
            wanted=self.program.launch.processes,
            running=len(self._processes),
            spares=0,
            restarts=self.restarts,
            in_flight=sum(process.load for process in self._processes),
            waiting=len(self._waiters),
            breaker_open=self._supervision.open,
            processes=tuple(process.view() for process in self._processes),
        )

    async def close(self) -> None:
        """Give waiting and running requests back, ask every process to end, and wait until they did."""
        self._closing = True
        self._waiters.fail(_stopped())
        for timer in self._delayed:
            timer.cancel()
        for process in [*self._processes, *self._leaving]:
            process.shut(_stopped())
        while self._processes or self._leaving or self._starting:
            self._emptied.clear()
            await self._emptied.wait()

    # ---- room for requests ----

    async def _acquire(self, request: ReactionRequest, alone: bool) -> StreamProcess:
        """Room in a process; one that retired between the grant and now is given back."""
        while True:
            process = await self._room(request, alone)
            if not process.retired:
                return process
            process.unreserve()

    async def _room(self, request: ReactionRequest, alone: bool) -> StreamProcess:
        if self._closing:
            raise _stopped()
        self._check_file()
        self.start()
        if not self._waiters:
            process = self._pick(alone)
            if process is not None:
                process.reserve(alone=alone)
                return process
        if self._supervision.open and not self._processes and not self._starting:
            raise Released(self.not_ready_reason, reason="NotReady", code="kind_not_ready")
        return await self._waiters.wait(alone, request.deadline)

    def _pick(self, alone: bool) -> StreamProcess | None:
        """The free process with the least to do."""
        chosen: StreamProcess | None = None
        for process in self._processes:
            if process.free and (chosen is None or process.load < chosen.load):
                chosen = process
        return None if chosen is None or (alone and chosen.load) else chosen

    # ---- what processes report ----

    def freed(self) -> None:
        self._waiters.serve()

    def answered(self) -> None:
        was_open = self._supervision.open
        self._supervision.succeeded()
        if was_open:
            self._recovered()

    def retired(self, process: StreamProcess) -> None:
        self._processes.remove(process)
        self._leaving.add(process)
        if not self._closing:
            self.start()

    def ended(self, process: StreamProcess, lost: set[str]) -> None:
        if process in self._leaving:
            self._leaving.discard(process)
        else:
            self._processes.remove(process)
            self._died(process, lost)
        self._emptied.set()

    # ---- starting and restarting ----

    @property
    def _missing(self) -> int:
        """With the breaker open there is one probe at a time, and it has its timer."""
        wanted = 1 if self._supervision.open else self.program.launch.processes
        return 0 if self._closing else wanted - len(self._processes) - self._starting - len(self._delayed)

    def _start_one(self) -> None:
        self._starting += 1
        self.program.runtime.background(self._start())

    async def _start(self) -> None:
        try:
            command = self.program.command()
            seen = signature(command)
            process = await self.program.start({})
        except ConfigError as error:
            self._waiters.fail(error)
            return
        except TaskFailure as failure:
            self._waiters.fail(failure)
            self._restart_in(self._supervision.died(time.monotonic(), 0.0, frozenset()))
            return
        finally:
            self._starting -= 1
            self._emptied.set()
        self._started(StreamProcess(self.program, process, self, seen))

    def _started(self, process: StreamProcess) -> None:
        self._processes.append(process)
        if self._closing:
            process.retire()
            return
        if self._supervision.open:
            self._probe_later(process)
        self._retire_outdated(process.signature)
        self.freed()

    def _probe_later(self, process: StreamProcess) -> None:
        self._loop.call_later(PROBE_SECONDS, self._probe, process)

    def _probe(self, process: StreamProcess) -> None:
        if process in self._processes and self._supervision.open:
            self._supervision.stayed_up()
            self._recovered()

    def _recovered(self) -> None:
        log.info("%s: the program stays up again", self.program.kind)
        self.ready_changed()
        self.start()

    def _died(self, process: StreamProcess, lost: set[str]) -> None:
        now = time.monotonic()
        self._diagnosis = process.diagnosis
        self.program.runtime.counters.restarts += 1
        self.restarts += 1
        was_open = self._supervision.open
        delay = self._supervision.died(now, now - process.started_at, lost)
        if self._closing:
            return
        log.warning("%s: %s; next start in %.1f s", self.program.kind, process.diagnosis, delay)
        if self._supervision.open:
            if not was_open:
                self._open_breaker()
            if self._processes or self._delayed:
                return
        self._restart_in(delay)

    def _open_breaker(self) -> None:
        log.error("%s: %s", self.program.kind, self.not_ready_reason)
        self.ready_changed()
        for timer in self._delayed:
            timer.cancel()
        self._delayed.clear()
        for process in self._processes[:1]:
            self._probe_later(process)
        self._waiters.fail(Released(self.not_ready_reason, reason="NotReady", code="kind_not_ready"))

    def _restart_in(self, delay_seconds: float) -> None:
        if not delay_seconds:
            self.start()
            return

        def restart() -> None:
            self._delayed.discard(timer)
            self.start()

        timer = self._loop.call_later(delay_seconds, restart)
        self._delayed.add(timer)

    # ---- a program file that changes ----

    def _check_file(self) -> None:
        now = time.monotonic()
        if now - self._checked_at < FILE_CHECK_SECONDS:
            return
        self._checked_at = now
        try:
            current = signature(self.program.command())
        except ConfigError:
            return
        self._retire_outdated(current)

    def _retire_outdated(self, current: Signature) -> None:
        """One at a time: when its successor has started, the next one follows."""
        outdated = next((process for process in self._processes if process.signature != current), None)
        if outdated is not None:
            log.info("%s: the program file changed; a process is replaced", self.program.kind)
            outdated.retire()


def _stopped() -> Released:
    return Released("the program is being stopped", reason="ShuttingDown", code="shutting_down")
