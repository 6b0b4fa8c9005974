"""A broker on a real gRPC server with an engine that can be made to fail, to hide hints and to be slow."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from stdworker.engine.broker import Broker, GrpcServer
from stdworker.engine.reconcile import Hint
from stdworker.engine.reconcile.watch import Watch, Watches
from stdworker.engine.store.claims import Claim, DefaultConfig, Leased, Settlement, VoidedLease, Want
from stdworker.engine.store.members import MemberRecord
from stdworker.errors import StoreError, StoreUnavailable
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import Lease
from stdworker.wire.service import EXTENSIONS

HANG_SECONDS = 20  # what a test waits for before it calls the other side hung
LEAF = KindVersion("leaf", 1)


class FakeEngine:
    """The broker's verbs over a dictionary. `failing` makes the verbs of those names fail like a store that is away.

    Results that are `unstorable` fail all that are settled with them.
    """

    def __init__(self) -> None:
        self.watches = Watches()
        self.queues: dict[KindVersion, deque[Claim]] = {}
        self.leases: dict[Lease, tuple[Claim, str]] = {}
        self.settled: list[Settlement] = []
        self.stale: list[Settlement] = []
        self.released: list[tuple[Lease, bool]] = []
        self.attested: list[tuple[Lease, str]] = []
        self.progressed: list[tuple[Lease, float | None, str]] = []
        self.configs: dict[KindVersion, DefaultConfig] = {}
        self.voids: list[tuple[str, VoidedLease]] = []
        self.claims_made: list[list[Want]] = []
        self.members: dict[str, MemberRecord] = {}
        self.failing: set[str] = set()
        self.unstorable: Callable[[Settlement], bool] = lambda settlement: False
        self._epochs = itertools.count(1)
        self._changed = asyncio.Condition()

    # ---- given ----

    def queue(self, *names: str, pair: KindVersion = LEAF, spec: bytes = b"{}", **claim: Any) -> None:
        for name in names:
            resource = Resource(
                uid=str(uuid.uuid4()), kind=pair.kind, name=name, kind_version=pair.version, generation=1,
                spec_json=RawJson(spec),
            )  # fmt: skip
            made = Claim(Lease("", 0), "", Stage.WORK, Trigger.SPEC_CHANGE, "work", pair, resource, **claim)
            self.queues.setdefault(pair, deque()).append(made)
        self.watches.publish([Hint("work", pair)])

    def lease_elsewhere(self, name: str, **claim: Any) -> Lease:
        """A task that another broker handed out."""
        self.queue(name, **claim)
        claimed = self.queues[LEAF].pop()
        claimed.lease = Lease(f"elsewhere-{name}", 1)
        self.leases[claimed.lease] = claimed, "another broker"
        return claimed.lease

    def edit_config(self, pair: KindVersion, spec: bytes | None, *, told: bool = True) -> None:
        before = self.configs.get(pair)
        config = ProviderConfig(RawJson(spec) if spec else None)
        self.configs[pair] = DefaultConfig(pair, config, (before.revision if before else 0) + 1)
        if told:
            self.watches.publish([Hint("config", pair)])

    def void(self, lease: Lease, reason: str) -> None:
        _, broker = self.leases[lease]
        self.voids.append((broker, VoidedLease(lease, reason)))
        self.watches.publish([Hint("voided")])

    async def until(self, true: Callable[[], Any]) -> None:
        async with asyncio.timeout(HANG_SECONDS), self._changed:
            await self._changed.wait_for(true)

    # ---- the verbs ----

    def watch(self, *topics: str) -> Watch:
        return Watch(self.watches)

    async def claim(self, wants: Sequence[Want], broker: str) -> list[Claim]:
        self._fail("claim")
        self.claims_made.append(list(wants))
        claims = []
        for want in wants:
            queue = self.queues.get(want.pair, deque())
            for _ in range(min(want.credit, len(queue))):
                claim = queue.popleft()
                claim.lease, claim.worker = Lease(uuid.uuid4().hex, next(self._epochs)), want.worker
                claim.config_revision = self._config(want.pair).revision
                self.leases[claim.lease] = claim, broker
                claims.append(claim)
        await self._notify()
        return claims

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        self._fail("settle")
        if any(map(self.unstorable, settlements)):
            raise StoreError("the store failed: out of range")
        landed = []
        for settlement in settlements:
            claim, _ = self.leases.pop(settlement.lease, (None, ""))
            good = claim is not None and claim.stage is settlement.stage
            (self.settled if good else self.stale).append(settlement)
            landed.append(good)
        await self._notify()
        return landed

    async def attest(self, leases: Sequence[Lease], broker: str, worker: str) -> list[Lease]:
        self._fail("attest")
        for lease in leases:
            if lease in self.leases:
                self.leases[lease] = self.leases[lease][0], broker
                self.attested.append((lease, worker))
        await self._notify()
        return [lease for lease in leases if lease not in self.leases]

    async def leased(self, leases: Sequence[Lease]) -> dict[Lease, Leased]:
        self._fail("leased")
        claims = {lease: self.leases[lease][0] for lease in leases if lease in self.leases}
        return {lease: Leased(claim.pair, claim.stage, claim.deadline_ms) for lease, claim in claims.items()}

    async def release(self, leases: Sequence[Lease], broker: str, *, counted: bool) -> None:
        self._fail("release")
        for lease in leases:
            claim, owner = self.leases.get(lease, (None, ""))
            if claim is not None and owner == broker:
                del self.leases[lease]
                self.released.append((lease, counted))
                self.queues[claim.pair].append(claim)
                self.watches.publish([Hint("work", claim.pair)])
        await self._notify()

    async def progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        self.progressed.append((lease, fraction, message))
        await self._notify()

    async def report_member(self, member: MemberRecord) -> None:
        self._fail("report_member")
        self.members[member.id] = member
        await self._notify()

    async def remove_member(self, broker: str) -> None:
        self._fail("remove_member")
        self.members.pop(broker, None)
        await self._notify()

    async def voided(self, broker: str) -> list[VoidedLease]:
        mine = [void for owner, void in self.voids if owner == broker]
        self.voids = [(owner, void) for owner, void in self.voids if owner != broker]
        return mine

    async def default_configs(self, pairs: Sequence[KindVersion]) -> dict[KindVersion, DefaultConfig]:
        self._fail("default_configs")
        return {pair: self._config(pair) for pair in pairs}

    def _config(self, pair: KindVersion) -> DefaultConfig:
        return self.configs.get(pair) or DefaultConfig(pair, ProviderConfig(), 0)

    def _fail(self, verb: str) -> None:
        if verb in self.failing:
            raise StoreUnavailable("the store is away")

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """Everything a test speaks of."""

    def __init__(self, engine: FakeEngine, broker: Broker, target: str, clock: Clock, scripted: Any) -> None:
        self.engine = engine
        self.broker = broker
        self.target = target
        self.clock = clock
        self.scripted = scripted
        self.workers: list[Any] = []
        self.server: GrpcServer | None = None

    def worker(self, *extensions: str, base: bool = False, **channel_options: int) -> Any:
        worker = self.scripted(self.target, () if base else extensions or EXTENSIONS, **channel_options)
        self.workers.append(worker)
        return worker

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.broker._sweeper.sweep()


@pytest.fixture
async def scene(one_loop: None, tmp_path: Any, scripted_worker: Any) -> AsyncIterator[Scene]:
    engine, clock = FakeEngine(), Clock()
    broker = Broker(engine, reconnect_seconds=5, liveness_seconds=15, role="all", clock=clock)  # type: ignore[arg-type]
    server = GrpcServer(broker)
    target = f"unix://{tmp_path}/broker.sock"
    server.listen(target)
    await server.start()
    running = asyncio.create_task(broker.run())
    scene = Scene(engine, broker, target, clock, scripted_worker)
    scene.server = server
    yield scene
    for worker in scene.workers:
        await worker.close()
    await server.stop(0)
    running.cancel()
    await asyncio.wait({running})
