"""Signs of life on their way into the store, and the answer to them: a lease that is void is cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from stdworker.engine.broker.session import Running, Session, expiry
from stdworker.engine.reconcile import Engine
from stdworker.model.task import Lease

LEASES_MAX = 20_000  # of one stream between two writes


class Attester:
    """Gathers heartbeats and progress; `adopt` is called with a valid lease that the stream didn't hold yet."""

    def __init__(
        self,
        engine: Engine,
        broker: str,
        adopt: Callable[[Session, Lease], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._broker = broker
        self._adopt = adopt
        self._clock = clock
        self._heartbeats: dict[Session, set[Lease]] = {}
        self._progress: dict[Lease, tuple[float | None, str]] = {}
        self._added = asyncio.Event()

    def heard(self, session: Session, leases: Iterable[Lease]) -> None:
        """These tasks of the stream go on."""
        alive = self._heartbeats.setdefault(session, set())
        alive.update(leases)
        if len(alive) > LEASES_MAX:
            self._heartbeats[session] = set(session.leases())
        self._added.set()

    def progressed(self, lease: Lease, fraction: float | None, message: str) -> None:
        """How far a task is; the newest word replaces the one that isn't written yet."""
        self._progress[lease] = fraction, message
        self._added.set()

    def forget(self, session: Session) -> None:
        """The stream ended: what it attested is not written any more."""
        self._heartbeats.pop(session, None)

    async def tick(self) -> None:
        """Write what was gathered since the last time; waits for something."""
        await self._added.wait()
        self._added.clear()
        heartbeats, self._heartbeats = self._heartbeats, {}
        progress, self._progress = self._progress, {}
        attests = [self.attest(session, leases) for session, leases in heartbeats.items() if leases]
        reports = [self._engine.progress(lease, *told) for lease, told in progress.items()]
        outcomes = await asyncio.gather(*attests, *reports, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome  # the next heartbeat says it again

    async def attest(self, session: Session, leases: Iterable[Lease]) -> None:
        """Write the signs of life, which moves the leases to this broker; cancel what is void.

        A result may have overtaken its heartbeat: what is being settled is kept from being reaped, however long it
        waits for the store, but neither cancelled nor adopted again. What its worker is about to be told settled is no
        news to it.
        """
        told = session.outbox.will_tell_settled
        alive = [lease for lease in leases if not told(lease)]
        settling, held = set(session.settling), set(session.running)
        void = set(await self._engine.attest(alive, self._broker, session.worker))
        for lease in alive:
            if lease.token in settling:
                continue
            if lease in void:
                if lease.token not in held or lease.token in session.running:
                    session.outbox.put_cancel(lease, "the lease is void")
            elif lease.token not in held:
                self._adopt(session, lease)
        if unknown := session.unidentified():
            await self._identify(session, unknown)

    async def _identify(self, session: Session, unknown: list[Lease]) -> None:
        """Tasks that another broker handed out count for their pair, and end at their deadline, like this one's."""
        for lease, (pair, stage, deadline_ms) in (await self._engine.leased(unknown)).items():
            session.identify(Running(lease, pair, stage, expiry(deadline_ms, self._clock())))
