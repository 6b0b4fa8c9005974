"""Work waits in the store; this takes as much of it as workers can start now.

A pair is *hot* while the store may hold work for it. One claim asks for all hot pairs of all streams together. A
pair that gave less than asked for cools down until a hint, a settled task or a poll heats it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from stdworker.engine.broker import metrics
from stdworker.engine.broker.configs import ConfigPush
from stdworker.engine.broker.releasing import Releaser
from stdworker.engine.broker.session import Running, Session, expiry
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Claim, Want
from stdworker.errors import ProtocolError
from stdworker.model.kind import KindVersion
from stdworker.wire.channel import MESSAGE_BYTES_MAX
from stdworker.wire.convert_task import encode_task

log = logging.getLogger("stdworker.broker")

CREDIT_SHARE = 8  # of a stream's tasks that is worth a claim of its own
PATIENCE_SECONDS = 0.01  # how long less than that waits for more

T = TypeVar("T")


class Dispatcher:
    """The claim loop. `refuse` is called with a claim that can't be sent, and why."""

    def __init__(
        self,
        engine: Engine,
        broker: str,
        sessions: set[Session],
        configs: ConfigPush,
        releaser: Releaser,
        refuse: Callable[[Session, Claim, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._broker = broker
        self._sessions = sessions
        self._configs = configs
        self._releaser = releaser
        self._refuse = refuse
        self._clock = clock
        self._hot: set[KindVersion] = set()
        self._heated: set[KindVersion] = set()  # since the running claim began
        self._turn = 0
        self._awake = asyncio.Event()
        self._stopped = False
        self.claiming = asyncio.Lock()  # from the claim until its streams hold what was claimed

    def heat(self, pairs: Iterable[KindVersion]) -> None:
        """The store may hold work for these pairs."""
        pairs = set(pairs)
        self._hot |= pairs
        self._heated |= pairs
        self._awake.set()

    def heat_all(self) -> None:
        """The store may hold work for every pair of every stream."""
        self.heat(pair for session in self._sessions for pair in session.pairs)

    def wake(self) -> None:
        """A stream has credit again."""
        if self._hot:
            self._awake.set()

    async def stop(self) -> None:
        """Hand out nothing more; returns when the claim under way is given back."""
        self._stopped = True
        async with self.claiming:
            pass

    async def tick(self) -> None:
        """Claim once for all that is hot; waits until something is."""
        await self._awake.wait()
        await self._gather_credit()
        self._awake.clear()
        async with self.claiming:
            wants = [] if self._stopped else self.wants()
            if wants:
                await self._claim(wants)

    async def _gather_credit(self) -> None:
        """While every hungry stream is nearly full, wait a moment: a claim of one costs as much as a claim of many."""
        if not self._is_scant():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._is_scant():
                    self._awake.clear()
                    await self._awake.wait()

    def _is_scant(self) -> bool:
        hungry = [session for session in self._sessions if self._hungry(session)]
        return bool(hungry) and all(
            (session.inflight_max - len(session.running)) * CREDIT_SHARE < session.inflight_max for session in hungry
        )

    def wants(self) -> list[Want]:
        """What to claim: each stream's credit, dealt over its hot pairs. Streams and pairs take turns at being first.

        Streams that want the same pair are served in turns by the claim itself.
        """
        self._turn += 1
        wants = []
        for session in rotated(list(self._sessions), self._turn):
            pairs = rotated(self._hungry(session), self._turn)
            left = session.inflight_max - len(session.running)
            for index, pair in enumerate(pairs):
                share = -(-left // (len(pairs) - index))
                credit = min(share, session.credit(pair))
                if credit > 0:
                    wants.append(Want(pair, credit, session.worker))
                    left -= credit
        return wants

    def _hungry(self, session: Session) -> list[KindVersion]:
        return [pair for pair in session.pairs if pair in self._hot and session.credit(pair)]

    async def _claim(self, wants: Sequence[Want]) -> None:
        self._heated = set()
        try:
            claims = await self._engine.claim(wants, self._broker)
        except Exception:
            self._awake.set()
            raise
        self._cool(wants, claims)
        if claims:
            await self._deliver(claims)
        self.wake()

    def _cool(self, wants: Sequence[Want], claims: Sequence[Claim]) -> None:
        short: Counter[KindVersion] = Counter()
        for want in wants:
            short[want.pair] += want.credit
        short.subtract(claim.pair for claim in claims)
        self._hot -= {pair for pair, missing in short.items() if missing > 0} - self._heated

    async def _deliver(self, claims: Sequence[Claim]) -> None:
        """Hand claims to their streams, a newer config first; what can't be handed over goes back at once."""
        try:
            await self._push_configs(claims)
        except Exception:
            self._releaser.release([claim.lease for claim in claims], counted=False)
            raise
        streams = {} if self._stopped else self._by_worker()
        dealt: defaultdict[Session, list[Claim]] = defaultdict(list)
        for claim in claims:
            session = streams.get(claim.worker)
            if session is None:
                self._releaser.release([claim.lease], counted=False)
            else:
                dealt[session].append(claim)
        for session, own in dealt.items():
            self._send(session, own)

    async def _push_configs(self, claims: Sequence[Claim]) -> None:
        streams = self._by_worker()
        behind = set()
        for claim in claims:
            session = streams.get(claim.worker)
            if session and session.pairs[claim.pair].config_revision < claim.config_revision:
                behind.add(claim.pair)
        if behind:
            await self._configs.refresh(behind)

    def _by_worker(self) -> dict[str, Session]:
        return {session.worker: session for session in self._sessions}

    def _send(self, session: Session, claims: Sequence[Claim]) -> None:
        now = self._clock()
        tasks = []
        for claim in claims:
            try:
                tasks.append(sendable(claim))
            except Exception as error:
                log.exception("a task of %s can't be sent", claim.resource.ref)
                self._refuse(session, claim, f"the task can't be sent: {error}")
                continue
            session.hold(Running(claim.lease, claim.pair, claim.stage, expiry(claim.deadline_ms, now)))
        session.outbox.put_tasks(tasks)
        metrics.TASKS.inc(len(tasks))


def sendable(claim: Claim) -> bytes:
    """The task, serialized. Raises ProtocolError for one that no message holds."""
    deadline_ms, version = claim.deadline_ms, claim.manifest_version
    task = encode_task(claim.lease, claim, deadline_ms=deadline_ms, manifest_version=version).SerializeToString()
    if len(task) > MESSAGE_BYTES_MAX:
        raise ProtocolError(f"it is {len(task)} bytes, and a message holds at most {MESSAGE_BYTES_MAX}")
    return task


def rotated(items: list[T], turn: int) -> list[T]:
    """The same items, another one first each turn."""
    at = turn % len(items) if items else 0
    return items[at:] + items[:at]
