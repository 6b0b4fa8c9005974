"""Results on their way into the store: what arrives while a transaction runs is stored together by the next."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stdworker.engine.broker import metrics
from stdworker.engine.broker.session import Session
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Settlement
from stdworker.errors import StdworkerError, StoreUnavailable
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease

log = logging.getLogger("stdworker.broker")

NOT_STORED = "NotStored"
"""The reason of a failure in place of a result that can't be stored."""
WAITING_MAX = 20_000  # beyond, streams aren't read until the store has caught up
BATCH_MAX = 2_000


class Arrived(NamedTuple):
    """A result, the stream that it came on, and its pair if this broker knows the lease."""

    session: Session
    pair: KindVersion | None
    settlement: Settlement


class Settler:
    """Stores results, then tells their streams; `settled` is called with the pairs that may have work again."""

    def __init__(self, engine: Engine, settled: Callable[[Iterable[KindVersion]], None]) -> None:
        self._engine = engine
        self._settled = settled
        self._waiting: list[Arrived] = []
        self._added = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._room = asyncio.Event()
        self._room.set()

    def add(self, session: Session, pair: KindVersion | None, settlement: Settlement) -> None:
        """Store this result soon."""
        session.begin_settling(settlement.lease.token)
        self._waiting.append(Arrived(session, pair, settlement))
        self._added.set()
        self._empty.clear()
        if len(self._waiting) >= WAITING_MAX:
            self._room.clear()

    async def room(self) -> None:
        """Wait until results are stored faster than they arrive."""
        await self._room.wait()

    async def wait_empty(self) -> None:
        """Wait until all results are stored."""
        await self._empty.wait()

    async def tick(self) -> None:
        """Store one batch of what waits; waits for something."""
        await self._added.wait()
        batch = self._waiting[:BATCH_MAX]
        landed = await self._store([arrived.settlement for arrived in batch])
        metrics.LANDED.inc(sum(landed))
        metrics.STALE.inc(len(landed) - sum(landed))
        del self._waiting[: len(batch)]
        if not self._waiting:
            self._added.clear()
            self._empty.set()
        if len(self._waiting) < WAITING_MAX:
            self._room.set()
        self._tell(batch)

    async def _store(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Whether each landed. One that can't be stored fails its task, and keeps no other from the store."""
        try:
            return await self._engine.settle(settlements)
        except StoreUnavailable:
            raise
        except StdworkerError as error:
            why = error.message
        if len(settlements) > 1:
            middle = len(settlements) // 2
            return await self._store(settlements[:middle]) + await self._store(settlements[middle:])
        [refused] = settlements
        if refused.reason == NOT_STORED:
            log.error("neither a result nor its failure can be stored, so its lease expires: %s", why)
            return [False]
        told = f"the result can't be stored: {why}"
        return await self._store([Settlement(refused.lease, refused.stage, error=told, reason=NOT_STORED)])

    def _tell(self, batch: list[Arrived]) -> None:
        """Stored and stale results are told alike: there is nothing left to do for either."""
        leases: defaultdict[Session, list[Lease]] = defaultdict(list)
        for session, _, settlement in batch:
            session.end_settling(settlement.lease.token)
            leases[session].append(settlement.lease)
        for session, done in leases.items():
            session.outbox.put_settled(done)
        self._settled({arrived.pair for arrived in batch if arrived.pair})
