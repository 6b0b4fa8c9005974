"""What this process reports of itself and its workers, for whoever asks any process of the engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection
from itertools import accumulate
from typing import NoReturn

import stdworker
from stdworker.engine.broker.session import Session
from stdworker.engine.broker.ticks import forever
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.errors import StdworkerError

REPORT_SECONDS = 5.0
GAP_SECONDS = 0.25  # between two reports, however much changes
LEAVE_SECONDS = 2.0
PAIRS_MAX = 10_000  # kinds of workers in one report

log = logging.getLogger("stdworker.broker")


def member_id() -> str:
    """A name for this process that no other one has, or had."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Membership:
    """Reports at the start, soon after each change, and now and then."""

    def __init__(
        self,
        engine: Engine,
        id: str,
        sessions: Collection[Session] = (),
        *,
        role: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._id = id
        self._sessions = sessions
        self._role = role
        self._clock = clock
        self._draining = False
        self._started_at_ms = time.time_ns() // 1_000_000
        self._left = False
        self._turn = asyncio.Lock()
        """Held while the store is told: two writers don't keep the order of what they are given."""
        self._changed = asyncio.Event()
        self._changed.set()

    async def run(self) -> NoReturn:
        """Report until cancelled."""
        await forever("reporting what this process holds", self.tick)

    def drain(self) -> None:
        """This process is on its way out."""
        self._draining = True
        self.changed()

    def changed(self) -> None:
        """A worker came, went, or takes other tasks than before."""
        self._changed.set()

    async def tick(self) -> None:
        """Report once, when something changed or it is time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REPORT_SECONDS):
                await self._changed.wait()
        self._changed.clear()
        async with self._turn:
            if not self._left:
                await self._engine.report_member(self.report())
        await asyncio.sleep(GAP_SECONDS)

    async def leave(self) -> None:
        """Report nothing any more, and be forgotten at once."""
        try:
            async with asyncio.timeout(LEAVE_SECONDS), self._turn:
                self._left = True
                await self._engine.remove_member(self._id)
        except (StdworkerError, TimeoutError) as error:
            why = str(error) or f"the store didn't answer within {LEAVE_SECONDS:g} s"
            log.warning("this process is listed for a while longer: %s", why)

    def report(self) -> MemberRecord:
        """What there is to tell now."""
        sessions = sorted(self._sessions, key=lambda session: session.opened_at)
        reach = accumulate(len(session.pairs) for session in sessions)
        listed = [session for session, pairs in zip(sessions, reach, strict=True) if pairs <= PAIRS_MAX]
        return MemberRecord(
            self._id,
            stdworker.__version__,
            socket.gethostname(),
            os.getpid(),
            self._draining,
            self._started_at_ms,
            [self._worker(session) for session in listed],
            unlisted_workers=len(sessions) - len(listed),
            role=self._role,
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
