"""What happens on worker streams, without the transport.

A stream is opened with its subscription, every frame is received in order, and it is closed with or without a
goodbye. What is to be written waits in the session's outbox.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from stdworker.engine.broker import metrics
from stdworker.engine.broker.attesting import Attester
from stdworker.engine.broker.configs import ConfigPush, has_content
from stdworker.engine.broker.convert import decode_complete, decode_leases
from stdworker.engine.broker.dispatch import Dispatcher
from stdworker.engine.broker.membership import Membership, member_id
from stdworker.engine.broker.releasing import Releaser
from stdworker.engine.broker.session import Running, Session
from stdworker.engine.broker.settling import Settler
from stdworker.engine.broker.subscription import Subscription
from stdworker.engine.broker.sweeping import Sweeper
from stdworker.engine.broker.ticks import forever
from stdworker.engine.reconcile import Engine, Hint, Watch
from stdworker.engine.store.claims import Claim, Settlement
from stdworker.errors import StdworkerError
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

log = logging.getLogger("stdworker.broker")

FAREWELL_SECONDS = 5.0  # for storing what arrived before the end, and for giving leases back
POLL_SECONDS = 1.0  # hints may be lost: this often the store is asked without one


class Broker:
    """All worker streams of this process.

    A lost worker may take `reconnect_seconds` to return, one that is silent for `liveness_seconds` is handed nothing.
    `role` is what its process says of itself.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        reconnect_seconds: float,
        liveness_seconds: float,
        role: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = member_id()
        self.sessions: set[Session] = set()
        self.draining = False
        self._engine = engine
        self._reconnect_seconds = reconnect_seconds
        self._clock = clock
        self._hints: set[Hint] = set()
        self._idle = asyncio.Event()
        self._configs = ConfigPush(engine, self.sessions)
        self._releaser = Releaser(engine, self.id)
        self._dispatcher = Dispatcher(
            engine, self.id, self.sessions, self._configs, self._releaser, self._refuse, clock
        )
        self._settler = Settler(engine, self._settled)
        self._attester = Attester(engine, self.id, self._adopt, clock)
        self._membership = Membership(engine, self.id, self.sessions, role=role, clock=clock)
        self._sweeper = Sweeper(self.sessions, self._releaser, self._attester, self._settler, liveness_seconds, clock)

    async def run(self) -> None:
        """Work until cancelled."""
        async with self._engine.watch("work", "config", "voided") as watch, asyncio.TaskGroup() as loops:
            loops.create_task(forever("following hints", lambda: self._follow(watch)))
            loops.create_task(forever("claiming", self._dispatcher.tick))
            loops.create_task(forever("storing results", self._settler.tick))
            loops.create_task(forever("attesting leases", self._attester.tick))
            loops.create_task(forever("releasing leases", self._releaser.tick))
            loops.create_task(forever("sweeping streams", self._sweeper.tick))
            loops.create_task(self._membership.run())

    # ---- one stream ----

    async def open(self, subscription: Subscription) -> Session:
        """Take a stream in; `close` it in the end. Raises StdworkerError when it can't be served now."""
        if self.draining:
            raise StdworkerError("the broker is shutting down", code="draining")
        session = Session(subscription, self._clock())
        self.sessions.add(session)
        metrics.STREAMS.set(len(self.sessions))
        try:
            await self._prime(session)
        except BaseException:
            self.close(session, goodbye=False)
            raise
        log.info("worker %s serves %s", session.worker, ", ".join(map(str, sorted(session.pairs))))
        return session

    async def _prime(self, session: Session) -> None:
        if session.resumed:
            await self._attester.attest(session, session.resumed)
        await self._configs.prime(session)
        session.open = True
        self._membership.changed()
        self._dispatcher.heat(session.pairs)

    async def receive(self, session: Session, message: pb.WorkStreamClientMsg) -> None:
        """Take in one frame. Waits when results arrive faster than they are stored, or answers aren't read."""
        session.heard_at = self._clock()
        if session.silent:
            session.silent = False
            self._dispatcher.heat(session.pairs)
        match message.WhichOneof("body"):
            case "completes":
                for complete in message.completes.completes:
                    self._complete(session, complete)
                self._dispatcher.wake()
            case "complete":
                self._complete(session, message.complete)
                self._dispatcher.wake()
            case "heartbeat":
                session.heartbeats = True
                self._attester.heard(session, decode_leases(message.heartbeat))
            case "interest":
                self._interest(session, message.interest)
            case "progress":
                self._progress(session, message.progress)
        await self._settler.room()
        await session.outbox.room()

    def close(self, session: Session, *, goodbye: bool) -> None:
        """The stream ended. After a goodbye its tasks are free at once, else their worker may return for them."""
        if session not in self.sessions:
            return
        self.sessions.discard(session)
        metrics.STREAMS.set(len(self.sessions))
        session.open = False
        session.outbox.close()
        self._attester.forget(session)
        if goodbye or self.draining:
            self._releaser.release(session.leases(), counted=False)
        else:
            metrics.LOST.inc()
            self._releaser.keep(session.running.values(), self._clock() + self._reconnect_seconds)
        session.running.clear()
        self._membership.changed()
        self._check_idle()
        log.info("worker %s %s", session.worker, "said goodbye" if goodbye else "was lost")

    async def defaults(self, pairs: Iterable[KindVersion]) -> dict[KindVersion, ProviderConfig]:
        """The default configs of those pairs that have one."""
        configs = await self._engine.default_configs(list(pairs))
        return {pair: default.config for pair, default in configs.items() if has_content(default.config)}

    def _complete(self, session: Session, message: pb.StageComplete) -> None:
        task = session.drop(message.lease_token) or self._drop_elsewhere(session, message.lease_token)
        settlement = decode_complete(message, task.stage if task else None)
        self._settler.add(session, task.pair if task else None, settlement)

    def _drop_elsewhere(self, session: Session, token: str) -> Running | None:
        """A task may have moved to another stream while its result was written to this one."""
        return next((task for other in self.sessions if other is not session and (task := other.drop(token))), None)

    def _interest(self, session: Session, interest: pb.Interest) -> None:
        pair = KindVersion(interest.kind, max(1, interest.kind_version))
        ready = interest.has_worker
        if not session.set_interest(pair, ready=ready, limit=interest.credit, reason=interest.reason):
            return
        self._membership.changed()
        if ready:
            self._dispatcher.heat([pair])

    def _progress(self, session: Session, told: pb.TaskProgress) -> None:
        if told.lease_token in session.running:
            fraction = min(told.fraction, 1.0) if told.fraction >= 0 else None
            self._attester.progressed(Lease(told.lease_token, told.claim_epoch), fraction, told.message)

    def _adopt(self, session: Session, lease: Lease) -> None:
        """The worker holds a lease from before: from a stream that broke, or that it is moving away from."""
        if session not in self.sessions:
            return
        task = self._drop_elsewhere(session, lease.token)
        session.hold(task or self._releaser.reclaim(lease))

    def _refuse(self, session: Session, claim: Claim, why: str) -> None:
        settlement = Settlement(claim.lease, claim.stage, error=why, reason="Unsendable", terminal=True)
        self._settler.add(session, claim.pair, settlement)

    def _settled(self, pairs: Iterable[KindVersion]) -> None:
        self._dispatcher.heat(pairs)
        self._check_idle()

    # ---- all streams ----

    async def _follow(self, watch: Watch) -> None:
        """Do what hints ask for; those of a time at which the store could not be asked wait for the next."""
        self._hints |= await watch.next(0.0 if self._hints else POLL_SECONDS)
        hints = self._hints or {Hint("work"), Hint("voided")}
        topics = {hint.topic for hint in hints}
        if "work" in topics:
            self._heat(hint for hint in hints if hint.topic == "work")
        if "config" in topics:
            await self._refresh(hint for hint in hints if hint.topic == "config")
        if "voided" in topics:
            await self._cancel_voided()
        self._hints = set()

    def _heat(self, hints: Iterable[Hint]) -> None:
        pairs = {hint.pair for hint in hints}
        if None in pairs:
            self._dispatcher.heat_all()
        self._dispatcher.heat(pair for pair in pairs if pair)

    async def _refresh(self, hints: Iterable[Hint]) -> None:
        served = {pair for session in self.sessions for pair in session.pairs}
        pairs = {hint.pair for hint in hints}
        edited = served if None in pairs else served & pairs
        if edited:
            await self._configs.refresh(edited)

    async def _cancel_voided(self) -> None:
        # Each is answered once: a claim under way is waited for, so that its stream holds what became void meanwhile.
        async with self._dispatcher.claiming:
            if not any(session.running for session in self.sessions):
                return
            voided = await self._engine.voided(self.id)
        for void in voided:
            for session in self.sessions:
                if void.lease.token in session.running:
                    session.outbox.put_cancel(void.lease, void.reason)

    async def drain(self, seconds: float, abort: asyncio.Event) -> None:
        """Hand out nothing more, ask workers to move, wait for results; then release the rest and end all streams.

        Ends early when nothing is held any more, or when `abort` is set.
        """
        self.draining = True
        self._membership.drain()
        await _first(self._wait_idle(), abort.wait(), seconds=seconds)
        held = sum(len(session.running) for session in self.sessions)
        if held:
            log.warning("%d tasks were not finished in time and are released", held)
        for session in list(self.sessions):
            self.close(session, goodbye=True)
        await _first(self._settler.wait_empty(), abort.wait(), seconds=FAREWELL_SECONDS)
        await self._give_back()
        await self._membership.leave()

    async def _wait_idle(self) -> None:
        await self._dispatcher.stop()
        for session in self.sessions:
            session.outbox.put_drain("the broker is shutting down")
        self._check_idle()
        await self._idle.wait()

    async def _give_back(self) -> None:
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._dispatcher.stop()
                self._releaser.give_up()
                await self._releaser.flush()
        except (StdworkerError, TimeoutError) as error:
            why = str(error) or f"the store didn't answer within {FAREWELL_SECONDS:g} s"
            log.error("leases are not released, and expire: %s", why)

    def _check_idle(self) -> None:
        if self.draining and all(session.idle for session in self.sessions):
            self._idle.set()


async def _first(*waits: Coroutine[Any, Any, object], seconds: float) -> None:
    """Wait until one of them is over, or the time is."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
