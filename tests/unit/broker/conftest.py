"""A broker on a real gRPC server, a worker that follows a script, and an engine small enough to see through."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import grpc
import grpc.aio
import pytest

from stdworker.engine.broker import Broker, BrokerOptions, GrpcServer
from stdworker.engine.reconcile import Hint
from stdworker.engine.reconcile.watch import Watch, Watches
from stdworker.engine.store.records import Claim, DefaultConfig, Settlement, VoidedLease, Want
from stdworker.errors import StdworkerError
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import EXTENSIONS, WorkerClient, encode_extensions

HANG_SECONDS = 20  # what a test waits for before it calls the other side hung
LEAF = KindVersion("leaf", 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class FakeEngine:
    """The broker's verbs over a dictionary. `failing` makes the verbs of those names fail like a store that is away."""

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
        self.voids: list[VoidedLease] = []
        self.claims_made: list[list[Want]] = []
        self.failing: set[str] = set()
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

    def edit_config(self, pair: KindVersion, spec: bytes | None, *, told: bool = True) -> None:
        before = self.configs.get(pair)
        config = ProviderConfig(RawJson(spec) if spec else None)
        self.configs[pair] = DefaultConfig(pair, config, (before.revision if before else 0) + 1)
        if told:
            self.watches.publish([Hint("config", pair)])

    def void(self, lease: Lease, reason: str) -> None:
        _, broker = self.leases[lease]
        self.voids.append(VoidedLease(lease, broker, reason))
        self.watches.publish([Hint("voided")])

    async def until(self, true: Callable[[], Any]) -> None:
        async with asyncio.timeout(HANG_SECONDS), self._changed:
            await self._changed.wait_for(true)

    # ---- the verbs ----

    def watch(self) -> Watch:
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

    async def settle(self, settlements: Sequence[Settlement], broker: str) -> list[bool]:
        self._fail("settle")
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

    async def voided(self, broker: str) -> list[VoidedLease]:
        mine = [void for void in self.voids if void.broker == broker]
        self.voids = [void for void in self.voids if void.broker != broker]
        return mine

    async def default_configs(self, pairs: Sequence[KindVersion]) -> dict[KindVersion, DefaultConfig]:
        self._fail("default_configs")
        return {pair: self._config(pair) for pair in pairs}

    def _config(self, pair: KindVersion) -> DefaultConfig:
        return self.configs.get(pair) or DefaultConfig(pair, ProviderConfig(), 0)

    def _fail(self, verb: str) -> None:
        if verb in self.failing:
            raise StdworkerError("the store is away")

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class ScriptedWorker:
    """One stream of a worker. It answers nothing by itself."""

    def __init__(self, target: str, extensions: Iterable[str] = EXTENSIONS, **channel_options: int) -> None:
        options = [(f"grpc.{name}", value) for name, value in channel_options.items()]
        self.channel = grpc.aio.insecure_channel(target, options=[*options, ("grpc.use_local_subchannel_pool", 1)])
        self.client = WorkerClient(self.channel)
        self.call = self.client.work_stream(metadata=encode_extensions(tuple(extensions)))
        self.received: list[pb.WorkStreamServerMsg] = []
        self._taken = 0
        self._arrived = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
            while (message := await self.call.read()) is not grpc.aio.EOF:
                async with self._arrived:
                    self.received.append(message)
                    self._arrived.notify_all()
        async with self._arrived:
            self._arrived.notify_all()

    async def send(self, **body: Any) -> None:
        await self.send_message(pb.WorkStreamClientMsg(**body))

    async def send_message(self, message: pb.WorkStreamClientMsg) -> None:
        await self.call.write(message.SerializeToString())

    async def subscribe(
        self,
        *kinds: str,
        most: int = 10,
        versions: Sequence[int] = (),
        each: Sequence[int] = (),
        resumed: Sequence[Lease] = (),
    ) -> ScriptedWorker:
        names = kinds or ("leaf",)
        await self.send(
            subscribe=pb.Subscribe(
                kinds=names,
                kind_versions=versions or [1] * len(names),
                max_inflight=most,
                pair_inflight=each,
                resumed=[pb.ResumedTask(lease_token=lease.token, claim_epoch=lease.epoch) for lease in resumed],
            )
        )
        return self

    async def frame(self) -> pb.WorkStreamServerMsg:
        """The next frame in order."""
        async with asyncio.timeout(HANG_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) > self._taken or self._reading.done())
        assert len(self.received) > self._taken, (
            f"the stream ended: {await self.call.code()} {await self.call.details()}"
        )
        self._taken += 1
        return self.received[self._taken - 1]

    async def next(self, body: str) -> Any:
        """The next frame of this kind; others are skipped."""
        while (message := await self.frame()).WhichOneof("body") != body:
            pass
        return getattr(message, body)

    async def tasks(self, count: int) -> list[pb.StageTask]:
        """So many tasks, alone or in batches."""
        tasks: list[pb.StageTask] = []
        while len(tasks) < count:
            message = await self.frame()
            match message.WhichOneof("body"):
                case "task":
                    tasks.append(message.task)
                case "tasks":
                    tasks.extend(message.tasks.tasks)
        return tasks

    async def task(self) -> pb.StageTask:
        (task,) = await self.tasks(1)
        return task

    async def complete(self, *tasks: pb.StageTask, **result: Any) -> None:
        for task in tasks:
            await self.send(complete=echo(task, **result))

    async def half_close(self) -> None:
        await self.call.done_writing()

    async def ended(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(HANG_SECONDS):
            return await self.call.code(), await self.call.details()

    async def cut(self) -> None:
        """The connection is gone without a goodbye."""
        self.call.cancel()
        await self.channel.close()

    async def close(self) -> None:
        await self.cut()
        await asyncio.wait({self._reading})


def echo(task: pb.StageTask, **result: Any) -> pb.StageComplete:
    return pb.StageComplete(lease_token=task.lease_token, claim_epoch=task.claim_epoch, stage=task.stage, **result)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """Everything a test speaks of."""

    def __init__(self, engine: FakeEngine, broker: Broker, target: str, clock: Clock) -> None:
        self.engine = engine
        self.broker = broker
        self.target = target
        self.clock = clock
        self.workers: list[ScriptedWorker] = []
        self.server: GrpcServer | None = None

    def worker(self, *extensions: str, base: bool = False, **channel_options: int) -> ScriptedWorker:
        worker = ScriptedWorker(self.target, () if base else extensions or EXTENSIONS, **channel_options)
        self.workers.append(worker)
        return worker

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.broker._sweeper.sweep()


@pytest.fixture
async def scene(tmp_path: Any) -> AsyncIterator[Scene]:
    engine, clock = FakeEngine(), Clock()
    broker = Broker(engine, BrokerOptions(reconnect_seconds=5, liveness_seconds=15), clock=clock)  # type: ignore[arg-type]
    server = GrpcServer(broker)
    target = f"unix://{tmp_path}/broker.sock"
    server.listen(target)
    await server.start()
    running = asyncio.create_task(broker.run())
    scene = Scene(engine, broker, target, clock)
    scene.server = server
    yield scene
    for worker in scene.workers:
        await worker.close()
    await server.stop(0)
    running.cancel()
    await asyncio.wait({running})
