"""What falls due on streams with time alone: deadlines, silences, returns that didn't come, signs of life."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stdworker.engine.broker.attesting import Attester
from stdworker.engine.broker.releasing import Releaser
from stdworker.engine.broker.session import Running, Session
from stdworker.engine.broker.settling import Settler
from stdworker.engine.store.claims import Settlement
from stdworker.model.kind import Stage

log = logging.getLogger("stdworker.broker")

SWEEP_SECONDS = 1.0
ATTEST_SECONDS = 5.0  # for workers that send no heartbeats
ALIVE_SECONDS = 10.0


class Sweeper:
    """Looks at every stream once a second."""

    def __init__(
        self,
        sessions: set[Session],
        releaser: Releaser,
        attester: Attester,
        settler: Settler,
        liveness_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._sessions = sessions
        self._releaser = releaser
        self._attester = attester
        self._settler = settler
        self._liveness_seconds = liveness_seconds
        self._clock = clock
        self._attested_at = self._alive_at = clock()

    async def tick(self) -> None:
        """Sweep after a while."""
        await asyncio.sleep(SWEEP_SECONDS)
        self.sweep()

    def sweep(self) -> None:
        """Look at every stream now."""
        now = self._clock()
        self._releaser.expire(now)
        for session in self._sessions:
            self._watch_silence(session, now)
            self._end_overdue(session, now)
        if now - self._attested_at >= ATTEST_SECONDS:
            self._attested_at = now
            self._attest_open_streams()
        if now - self._alive_at >= ALIVE_SECONDS:
            self._alive_at = now
            for session in self._sessions:
                session.outbox.put_alive()

    def _watch_silence(self, session: Session, now: float) -> None:
        """A worker that used to send heartbeats and stopped may hang: it is handed nothing until it is heard."""
        if session.heartbeats and not session.silent and now - session.heard_at >= self._liveness_seconds:
            session.silent = True
            log.warning("worker %s is silent: it gets no tasks until it is heard again", session.worker)

    def _end_overdue(self, session: Session, now: float) -> None:
        for task in [task for task in session.running.values() if task.expires is not None and task.expires <= now]:
            log.warning("worker %s did not end a task of %s at its deadline", session.worker, task.pair)
            self._settler.add(session, task.pair, overdue(task))
            session.outbox.put_cancel(task.lease, "the deadline passed")
            session.running[task.lease.token] = task._replace(expires=None)  # it still fills the worker's slot

    def _attest_open_streams(self) -> None:
        for session in self._sessions:
            if not session.heartbeats and session.running:
                self._attester.heard(session, session.leases())


def overdue(task: Running) -> Settlement:
    """The verdict on a task whose worker let the deadline pass."""
    return Settlement(
        task.lease,
        task.stage or Stage.WORK,
        error="the deadline passed and the worker reported nothing",
        reason="DeadlineExceeded",
    )
