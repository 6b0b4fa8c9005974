"""The engine: opened, run and closed, and what is asked of it as a whole."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Sequence

from stdworker.engine.reconcile import readings, upkeep, verbs
from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.reconcile.calls import BrokerCalls, CatalogCalls, ResourceCalls
from stdworker.engine.reconcile.clock import Clock, SystemClock
from stdworker.engine.reconcile.reading import Readers, Replica
from stdworker.engine.reconcile.ticks import Ticks
from stdworker.engine.reconcile.watch import MISSED, TOPICS, Topic, Watch, Watches, decode
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store.contract import Database
from stdworker.engine.store.declarations import Declaration, Planned
from stdworker.engine.store.members import MemberRecord
from stdworker.engine.store.opening import open_database
from stdworker.engine.store.records import AuditFilter, EventRecord, Page
from stdworker.errors import RequestError
from stdworker.model.resource import Ref

CLOSE_SECONDS = 5.0

log = logging.getLogger(__name__)

_DEFAULTS = EngineOptions()


class Engine(BrokerCalls, ResourceCalls, CatalogCalls):
    """An open engine. All methods may be called at the same time; they raise classes of `stdworker.errors` only."""

    def __init__(self, database: Database, options: EngineOptions, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._watches = Watches()
        self._id = secrets.token_hex(8)
        self._batcher = Batcher(database, clock, options, self._watches, verbs.FOLLOW_UP, self._id)
        self.health = self._batcher.health
        self._loop = asyncio.get_running_loop()
        self._stop_listening = database.listen(self._hear)
        self._readers = Readers(database, self.health.failed)
        self._lists = self._readers
        self.ticks = Ticks(self._batcher, self._readers, self._watches, clock)

    @classmethod
    async def open(
        cls,
        database_url: str,
        options: EngineOptions = _DEFAULTS,
        *,
        read_url: str | None = None,
        clock: Clock | None = None,
    ) -> Engine:
        """Open `sqlite:///PATH` or `postgresql://…` and bring its schema up to date.

        `read_url` names a replica of it that is asked for what is long to read. Raises SettingsError for a URL of
        another form and for a copy of another database, StoreError when the database can't be used.
        """
        database = open_database(database_url, synchronous=options.sqlite_synchronous)
        await asyncio.to_thread(database.migrate)
        engine = cls(database, options, clock or SystemClock())
        try:
            engine._batcher.start()
            if read_url is not None:
                await engine._use_replica(read_url)
        except BaseException:
            await engine.close()
            raise
        return engine

    async def _use_replica(self, url: str) -> None:
        self._lists = replica = Replica(open_database(url), self._readers)
        await self._batcher.call(verbs.IDENTIFY, secrets.randbits(62))
        await replica.check(url)

    async def run(self) -> None:
        """Do what is due, over and over, until the engine is closed or this is cancelled."""
        await self.ticks.run()

    async def close(self) -> None:
        """Wait for the transactions and readings under way, within a bound: a server that stands still ends none."""
        self.ticks.stop()
        self._batcher.close()
        ending = threading.Thread(target=self._end, name="engine-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_SECONDS)
        if ending.is_alive():
            log.warning("the database doesn't answer: its connections end with this process")

    def _end(self) -> None:
        self._batcher.join()
        self._stop_listening()
        for readers in {self._lists, self._readers}:
            readers.close()

    def watch(self, *topics: Topic) -> Watch:
        """Hints of what may have changed, of some topics or of all; use it as an async context manager."""
        return Watch(self._watches, frozenset(topics) or TOPICS)

    def _hear(self, message: str | None) -> None:
        source, hints = decode(message) if message is not None else ("", MISSED)
        if source != self._id:
            self._loop.call_soon_threadsafe(self._watches.publish, hints)

    async def plan(self, declarations: Sequence[Declaration], actor: str) -> list[Planned | RequestError]:
        """What applying all of them together would do; nothing is stored."""
        return await self._batcher.call(verbs.PLAN, (actor, declarations), len(declarations))

    async def events(self, ref: Ref | None = None, *, after: int = 0, limit: int = 100) -> list[EventRecord]:
        """Events in their order, of one resource or of all, from the one after `after`."""
        return await self._lists.read(readings.events, ref, after, limit)

    async def audit(self, where: AuditFilter, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of what people asked for and was done, the newest first; it outlives what it is about."""
        return await self._lists.read(readings.audit, where, limit, cursor)

    async def members(self) -> list[MemberRecord]:
        """The processes on this database, with the workers that each holds."""
        return await self.read(readings.members)

    async def follow_up(self) -> None:
        """Look at all that commits left to be looked at: normally done by itself right after each."""
        await upkeep.follow_up(self._batcher)

    async def ping(self) -> None:
        """Raises StoreError when the database can't be read, or the last write showed that it can't be written."""
        if outage := self.health.outage:
            raise outage
        await self.read(readings.ping)

    async def probe(self) -> None:
        """Write something, which ends an outage if it succeeds. Raises StoreError if not."""
        await upkeep.probe(self._batcher)
