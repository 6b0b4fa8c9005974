"""What the engine does by the clock. A tick does its work and says in how many seconds it is due again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from stdworker.engine.reconcile import due, hasten, upkeep, verbs
from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.reconcile.clock import Clock
from stdworker.engine.reconcile.reading import Readers
from stdworker.engine.reconcile.watch import Hint, Watches
from stdworker.engine.store import tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.tasks import LeaseRow
from stdworker.errors import StdworkerError, StoreUnavailable

log = logging.getLogger(__name__)

DUE_SECONDS = 0.25
FOLLOW_SECONDS = 5.0
HASTEN_SECONDS = 10.0
PROBE_SECONDS = 1.0
PRUNE_SECONDS = 60.0
CHECKPOINT_SECONDS = 0.5
PRUNE_EVENTS_MAX = 2_000  # some milliseconds, for which everybody else waits
SWEEPS_PER_WINDOW = 5


class Reaper:
    """Watches leases fall silent.

    Silence is what this object saw with its own monotonic clock: its start, and every gap in its sweeps,
    grants all leases a full window (decision 15).
    """

    def __init__(self, liveness_seconds: float) -> None:
        self._liveness_seconds = liveness_seconds
        self._seen: dict[tuple[int, str], tuple[int, float]] = {}
        self._last: float | None = None

    @property
    def sweep_seconds(self) -> float:
        """From one sweep to the next."""
        return self._liveness_seconds / SWEEPS_PER_WINDOW

    def start_over(self) -> None:
        """Signs of life could not be stored."""
        self._seen.clear()

    def silent(self, leases: list[LeaseRow], now: float) -> list[LeaseRow]:
        """Those of the present leases that were not renewed for the whole window."""
        if self._last is not None and now - self._last > 2 * self.sweep_seconds:
            self.start_over()
        self._last = now
        seen: dict[tuple[int, str], tuple[int, float]] = {}
        lost = []
        for lease in leases:
            beat, since = self._seen.get((lease.id, lease.token), (lease.heartbeat_at, now))
            if beat != lease.heartbeat_at:
                since = now
            seen[lease.id, lease.token] = (lease.heartbeat_at, since)
            if now - since >= self._liveness_seconds:
                lost.append(lease)
        self._seen = seen
        return lost


class Ticks:
    """The loops of one engine, each of its ticks at its own pace, until they are stopped."""

    def __init__(self, batcher: Batcher, readers: Readers, watches: Watches, clock: Clock) -> None:
        self._batcher = batcher
        self._readers = readers
        self._watches = watches
        self._clock = clock
        self._reaper = Reaper(batcher.options.liveness_seconds)
        self._stop = asyncio.Event()
        self._checkpointed = -1
        self._looked = -1
        self._again_ms = 0

    async def run(self) -> None:
        """Repeat every tick until `stop`, or cancelled."""
        async with asyncio.TaskGroup() as group:
            for tick in (self.follow, self.look, self.hasten, self.probe, self.reap, self.prune, self.checkpoint):
                group.create_task(self._repeat(tick))

    def stop(self) -> None:
        """End after the ticks under way."""
        self._stop.set()

    async def follow(self) -> float:
        """Whatever an engine that ended, or another one, left to be looked at."""
        await upkeep.follow_up(self._batcher)
        return FOLLOW_SECONDS

    async def look(self) -> float:
        """What has come due: retries are hinted, resyncs and expired orphans have their transactions.

        Where nobody else writes, the store isn't asked again before the next instant or commit.
        """
        commits, now_ms = self._batcher.commits, self._clock.now_ms()
        if commits == self._looked and now_ms < self._again_ms and not self._batcher.database.shared:
            return DUE_SECONDS
        found = await self._readers.read(due.look, now_ms)
        self._looked, self._again_ms = commits, found.again_ms
        if "work" in self._watches.heard:
            self._watches.publish({Hint("work", pair) for pair in found.pairs})
        if found.resync:
            await self.resync()
        if found.expired:
            await self.expire()
        return DUE_SECONDS

    async def hasten(self) -> float:
        """What a clock that was ahead of ours has put off: this one's before it was set right, or another engine's."""
        now_ms, cap_seconds = self._clock.now_ms(), self._batcher.options.retry_cap_seconds
        if await self._readers.read(hasten.is_due, now_ms, cap_seconds):
            hastened = await self._batcher.call(verbs.HASTEN, None)
            log.warning("%d tasks were queued by a clock that is ahead of this one, and run now", hastened)
            if hastened >= hasten.PIECE_TASKS:
                return 0.0
        return HASTEN_SECONDS

    async def reap(self) -> float:
        """Take back the leases that nobody attested for the liveness window."""
        if self._batcher.health.outage:
            self._reaper.start_over()
            return self._reaper.sweep_seconds
        leases = await self._readers.read(tasks.leases)
        silent = self._reaper.silent(leases, self._clock.monotonic())
        if silent:
            lost = await self._batcher.call(verbs.REAP, silent)
            log.warning("took back %d leases that no worker attested", lost)
        return self._reaper.sweep_seconds

    async def probe(self) -> float:
        """Reads may work and commits of nothing succeed while the disk is full: only a write ends an outage."""
        if self._batcher.health.outage:
            await upkeep.probe(self._batcher)
        return PROBE_SECONDS

    async def resync(self) -> None:
        """A bounded piece at a time: after a standstill everything is due, and people's changes go in between."""
        await self._batcher.call(verbs.RESYNC, None)

    async def expire(self) -> None:
        """Orphans whose grace is over, a bounded piece at a time."""
        await self._batcher.call(verbs.EXPIRE, None)

    async def prune(self) -> float:
        """Drop events, dead letters and marks of writers beyond what is kept, a bounded piece at a time."""
        options = self._batcher.options
        argument = (options.events_keep, int(options.events_keep_seconds * 1000), PRUNE_EVENTS_MAX)
        pruned = await self._batcher.call(verbs.PRUNE, argument)
        return 0.0 if pruned >= PRUNE_EVENTS_MAX else PRUNE_SECONDS

    async def checkpoint(self) -> float:
        """Beside the writer: in a commit the same would hold up everybody for tens of milliseconds."""
        commits = self._batcher.commits
        if self._checkpointed != commits:
            await self._readers.read(_checkpoint)
            self._checkpointed = commits
        return CHECKPOINT_SECONDS

    async def _repeat(self, tick: Callable[[], Awaitable[float]]) -> None:
        while not self._stop.is_set():
            try:
                seconds = await tick()
            except StoreUnavailable:
                seconds = PROBE_SECONDS
            except StdworkerError as error:
                if self._stop.is_set():
                    return
                log.error("a tick failed and will be repeated: %s", error)
                seconds = FOLLOW_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stop.wait()


def _checkpoint(db: Connection) -> None:
    db.checkpoint()
