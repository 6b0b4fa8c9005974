"""What this process reports of itself and its workers, for whoever asks any process of the engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from itertools import accumulate

import stdworker
from stdworker.engine.broker.session import Session
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.records import MemberRecord, ServedRecord, WorkerRecord
from stdworker.errors import StdworkerError

REPORT_SECONDS = 5.0
GAP_SECONDS = 0.25  # between two reports, however much changes
PAIRS_MAX = 10_000  # kinds of workers in one report

log = logging.getLogger("stdworker.broker")


class Membership:
    """Reports at the start, soon after each change, and now and then."""

    def __init__(self, engine: Engine, broker: str, sessions: set[Session], clock: Callable[[], float]) -> None:
        self.draining = False
        self._engine = engine
        self._broker = broker
        self._sessions = sessions
        self._clock = clock
        self._started_at_ms = time.time_ns() // 1_000_000
        self._left = False
        self._changed = asyncio.Event()
        self._changed.set()

    def changed(self) -> None:
        """A worker came, went, or takes other tasks than before."""
        self._changed.set()

    async def tick(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REPORT_SECONDS):
                await self._changed.wait()
        self._changed.clear()
        if not self._left:
            await self._engine.report_member(self.report())
        await asyncio.sleep(GAP_SECONDS)

    async def leave(self) -> None:
        """Report nothing any more, and be forgotten at once."""
        self._left = True
        try:
            await self._engine.remove_member(self._broker)
        except StdworkerError as error:
            log.warning("this process is listed for a while longer: %s", error)

    def report(self) -> MemberRecord:
        sessions = sorted(self._sessions, key=lambda session: session.opened_at)
        reach = accumulate(len(session.pairs) for session in sessions)
        listed = [session for session, pairs in zip(sessions, reach, strict=True) if pairs <= PAIRS_MAX]
        return MemberRecord(
            self._broker,
            stdworker.__version__,
            socket.gethostname(),
            os.getpid(),
            self.draining,
            self._started_at_ms,
            [self._worker(session) for session in listed],
            unlisted_workers=len(sessions) - len(listed),
        )

    def _worker(self, session: Session) -> WorkerRecord:
        told, now = session.subscription, self._clock()
        kinds = [
            ServedRecord(pair, slots.ready, slots.reason, min(slots.limit, session.inflight_max))
            for pair, slots in sorted(session.pairs.items())
        ]
        return WorkerRecord(
            session.worker,
            told.version,
            told.hostname,
            told.pid,
            int((now - session.opened_at) * 1_000),
            int((now - session.heard_at) * 1_000),
            session.silent,
            session.inflight_max,
            kinds,
        )
