"""The places of a pool: who is at work in them, who stands by, who follows when one goes."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from stdworker.bridge.peer import Peer, Source
from stdworker.bridge.program import Program
from stdworker.bridge.result import STDERR
from stdworker.bridge.supervision import PROBE_SECONDS, Mistakes, Redials, Supervision
from stdworker.errors import ConfigError, Released, StdworkerError, TaskFailure
from stdworker.process.command import Signature

FILE_CHECK_SECONDS = 1.0  # the program file is looked at no more often

log = logging.getLogger("stdworker.bridge")


class Customer(Protocol):
    """Who uses the peers: the pool."""

    def freed(self) -> None:
        """There may be room for another request."""

    def unavailable(self, failure: StdworkerError) -> None:
        """Nobody is there, and nobody is about to be."""

    def ready_changed(self) -> None:
        """`not_ready_reason` may be another."""


class Places:
    """Keeps `processes` peers at work and `spares` more that are warm, and starts their successors."""

    def __init__(self, program: Program, source: Source, customer: Customer) -> None:
        self.working: list[Peer] = []
        self.spares: list[Peer] = []
        self.restarts = 0
        self._program = program
        self._source = source
        self._customer = customer
        self._loop = asyncio.get_running_loop()
        self._supervision = Supervision(program.runtime.random)
        self._redials = Redials(program.runtime.random)
        self._mistakes = Mistakes()
        self._leaving: set[Peer] = set()
        self._starts: set[asyncio.Task[None]] = set()
        self._delayed: set[asyncio.TimerHandle] = set()
        self._replacing = False
        self._closing = False
        self._emptied = asyncio.Event()
        self._diagnosis = "" if source.owned else f"not connected to {program.launch.socket} yet"
        self._logged = ""
        self._checked_at = 0.0

    @property
    def breaker_open(self) -> bool:
        return self._supervision.open

    @property
    def deserted(self) -> bool:
        """Nobody is at work, nobody is being started, and a request has no reason to wait for the next start."""
        may_wait = self._source.owned and not self._supervision.open
        return not (self.working or self._starts or may_wait)

    @property
    def not_ready_reason(self) -> str:
        """Why the program should get no tasks now; "" when it should."""
        if self._supervision.open:
            return f"the program keeps dying; {self._diagnosis}"
        if not self.working:
            return self._mistakes.reason if self._source.owned else self._diagnosis
        if not any(peer.ready.ready for peer in self.working):
            return f"the program says: {self.working[0].ready.reason or 'not ready'}"
        return ""

    def start(self) -> None:
        """Let every place have a peer, or one that is about to come."""
        while self._missing > 0:
            task = self._program.runtime.background(self._start())
            self._starts.add(task)
            task.add_done_callback(self._start_ended)

    def look_for_change(self) -> None:
        """When the program file is another, replace the peers one by one: each successor starts first."""
        now = time.monotonic()
        if now - self._checked_at < FILE_CHECK_SECONDS:
            return
        self._checked_at = now
        try:
            current = self._source.signature()
        except StdworkerError:
            return
        self._replacing = self._outdated(current) is not None
        self.start()

    async def close(self, reason: TaskFailure) -> None:
        """Ask every peer to end, fail what they hold with `reason`, and wait until they did."""
        self._closing = True
        for timer in self._delayed:
            timer.cancel()
        for start in self._starts:
            start.cancel()
        for peer in [*self.working, *self.spares, *self._leaving]:
            peer.shut(reason)
        while self.working or self.spares or self._leaving or self._starts:
            self._emptied.clear()
            await self._emptied.wait()

    # ---- what peers report ----

    def freed(self) -> None:
        self._customer.freed()

    def answered(self) -> None:
        was_open = self._supervision.open
        self._supervision.succeeded()
        self._redials.succeeded()
        if was_open:
            self._recovered()

    def ready_changed(self) -> None:
        self._customer.ready_changed()

    def retired(self, peer: Peer) -> None:
        self._remove(peer)
        self._leaving.add(peer)
        self.start()

    def ended(self, peer: Peer, lost: set[str]) -> None:
        if peer in self._leaving:
            self._leaving.discard(peer)
        else:
            self._remove(peer)
            self.restarts += 1
            self._program.runtime.counters.restarts += 1
            self._fell(peer.diagnosis, peer.uptime_seconds, lost)
        self._emptied.set()

    def _remove(self, peer: Peer) -> None:
        """A spare takes the place that becomes free."""
        (self.working if peer in self.working else self.spares).remove(peer)
        if self.spares and not self._closing and len(self.working) < self._program.launch.processes:
            self.working.append(self.spares.pop(0))
            self._customer.freed()

    # ---- starting ----

    @property
    def _missing(self) -> int:
        """One at a time while nobody stays up, or (not owned) nobody is known to be there."""
        launch = self._program.launch
        one = self._supervision.open or not (self._source.owned or self.working)
        wanted = 1 if one else launch.processes + launch.spares + self._replacing
        there = len(self.working) + len(self.spares)
        return 0 if self._closing else wanted - there - len(self._starts) - len(self._delayed)

    async def _start(self) -> None:
        began = time.monotonic()
        task = asyncio.current_task()
        assert task is not None
        try:
            peer = await self._source.start(self)
        except ConfigError as error:
            self._starts.discard(task)
            self._mistaken(error)
        except TaskFailure as failure:
            self._starts.discard(task)
            self._unavailable(failure)
            self._fell(failure.message, time.monotonic() - began, set())
        else:
            self._starts.discard(task)
            self._started(peer)

    def _start_ended(self, task: asyncio.Task[None]) -> None:
        self._starts.discard(task)
        self._emptied.set()

    def _started(self, peer: Peer) -> None:
        full = len(self.working) >= self._program.launch.processes
        (self.spares if full else self.working).append(peer)
        if self._closing:
            peer.retire()
            return
        if not self._source.owned:
            self._connected()
        elif self._supervision.open:
            self._probe_later(peer)
        if self._mistakes.mended():
            self._customer.ready_changed()
        self._replace_outdated(peer.signature)
        self._customer.freed()

    def _connected(self) -> None:
        """One connection shows that somebody is there: now for the others."""
        if self._diagnosis:
            log.info("%s: connected to %s", self._program.kind, self._program.launch.socket)
            self._diagnosis = self._logged = ""
            self._customer.ready_changed()
        self.start()

    def _mistaken(self, error: ConfigError) -> None:
        self._replacing = False
        self._unavailable(error)
        if self._mistakes.made(error):
            self._customer.ready_changed()

    def _unavailable(self, failure: StdworkerError) -> None:
        if not self.working and not self._starts:
            self._customer.unavailable(failure)

    # ---- a program file that changes ----

    def _outdated(self, current: Signature) -> Peer | None:
        return next((peer for peer in [*self.spares, *self.working] if peer.signature != current), None)

    def _replace_outdated(self, current: Signature) -> None:
        """`current` is that of a peer which has just started."""
        self._replacing = False
        outdated = self._outdated(current)
        if outdated is not None:
            log.info("%s: the program file changed; a process is replaced", self._program.kind)
            outdated.retire()
            self._replacing = self._outdated(current) is not None
            self.start()

    # ---- what follows a death ----

    def _fell(self, diagnosis: str, uptime_seconds: float, lost: set[str]) -> None:
        """A peer is gone, or could not be had."""
        self._diagnosis = diagnosis
        self._replacing = False
        if self._closing:
            return
        delay = self._died(uptime_seconds, lost) if self._source.owned else self._disconnected(uptime_seconds)
        if not self._supervision.open or not (self.working or self._delayed):
            self._start_in(delay)

    def _died(self, uptime_seconds: float, lost: set[str]) -> float:
        was_open = self._supervision.open
        delay = self._supervision.died(time.monotonic(), uptime_seconds, lost)
        if not was_open or self._diagnosis != self._logged:
            told = self._diagnosis.partition(STDERR)[0]  # the rest is in the log already
            soon = f"in {delay:.1f} s" if delay else "at once"
            log.warning("%s: %s; next start %s", self._program.kind, told, soon)
            self._logged = self._diagnosis
        if self._supervision.open and not was_open:
            self._open_breaker()
        return delay

    def _disconnected(self, uptime_seconds: float) -> float:
        if self._diagnosis != self._logged:
            log.warning("%s: %s", self._program.kind, self._diagnosis)
            self._logged = self._diagnosis
        self._customer.ready_changed()
        return self._redials.failed(time.monotonic(), uptime_seconds)

    def _open_breaker(self) -> None:
        log.error("%s: %s", self._program.kind, self.not_ready_reason)
        for timer in self._delayed:
            timer.cancel()
        self._delayed.clear()
        for peer in self.working[:1]:
            self._probe_later(peer)
        self._customer.unavailable(Released(self.not_ready_reason, reason="NotReady", code="kind_not_ready"))
        self._customer.ready_changed()

    def _start_in(self, delay_seconds: float) -> None:
        if not delay_seconds:
            self.start()
            return

        def start() -> None:
            self._delayed.discard(timer)
            self.start()

        timer = self._loop.call_later(delay_seconds, start)
        self._delayed.add(timer)

    # ---- probing ----

    def _probe_later(self, peer: Peer) -> None:
        self._loop.call_later(PROBE_SECONDS, self._probe, peer)

    def _probe(self, peer: Peer) -> None:
        if peer in self.working and self._supervision.open:
            self._supervision.stayed_up()
            self._recovered()

    def _recovered(self) -> None:
        log.info("%s: the program stays up again", self._program.kind)
        self._customer.ready_changed()
        self.start()
