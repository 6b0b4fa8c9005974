"""A broker in the test's own process, over a real connection, that does what the test tells it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio

from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease, ReactionRequest, Result
from stdworker.wire.channel import LIMITS
from stdworker.wire.convert import encode_config_entry, encode_config_update
from stdworker.wire.convert_result import decode_result
from stdworker.wire.convert_task import encode_task
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import EXTENSIONS, decode_extensions, encode_extensions, service_handler

WAIT_SECONDS = 20.0

Frame = pb.WorkStreamClientMsg


class BrokerStream:
    """One worker's stream: the frames it sent, and ways to send it some. Results are settled at once unless
    the broker says `settles = False`."""

    def __init__(self, broker: ScriptedBroker, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self.peer = decode_extensions(context.invocation_metadata())
        self.frames: list[Frame] = []
        self.results: list[pb.StageComplete] = []
        self.half_closed = False
        self.ended = asyncio.Event()
        self._broker = broker
        self._context = context
        self._cut: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._writing = asyncio.Lock()  # gRPC takes one write at a time, and results are settled beside the test

    @property
    def subscribe(self) -> pb.Subscribe:
        """What the worker's first frame says."""
        return self.frames[0].subscribe

    @property
    def interests(self) -> list[tuple[str, bool, int]]:
        """Each Interest so far: pair, readiness, credit."""
        told = [frame.interest for frame in self.frames if frame.HasField("interest")]
        return [(f"{i.kind}@{i.kind_version}", i.has_worker, i.credit) for i in told]

    @property
    def heartbeats(self) -> list[list[str]]:
        """The lease tokens of each heartbeat so far."""
        return [list(f.heartbeat.lease_token) for f in self.frames if f.HasField("heartbeat")]

    async def send(self, message: pb.WorkStreamServerMsg) -> None:
        async with self._writing:
            await self._context.write(message)

    async def send_task(self, request: ReactionRequest, *, deadline_ms: int = 0, lease: Lease | None = None) -> Lease:
        """Hand a task out; answers its lease."""
        lease = lease or self._broker.new_lease()
        await self.send(pb.WorkStreamServerMsg(task=encode_task(lease, request, deadline_ms=deadline_ms)))
        return lease

    async def send_tasks(self, requests: Sequence[ReactionRequest]) -> list[Lease]:
        """Hand several out in one frame (extension "batch")."""
        leases = [self._broker.new_lease() for _ in requests]
        batch = pb.TaskBatch(tasks=list(map(encode_task, leases, requests)))
        await self.send(pb.WorkStreamServerMsg(tasks=batch))
        return leases

    async def send_config(self, pair: KindVersion, config: ProviderConfig) -> None:
        await self.send(pb.WorkStreamServerMsg(config=encode_config_update(pair, config)))

    async def send_cancel(self, lease: Lease, reason: str = "") -> None:
        cancel = pb.CancelTask(lease_token=lease.token, claim_epoch=lease.epoch, reason=reason)
        await self.send(pb.WorkStreamServerMsg(cancel=cancel))

    async def settle(self, *leases: Lease) -> None:
        """Say that these results are stored (extension "settled")."""
        settled = pb.Settled(
            lease_token=[lease.token for lease in leases], claim_epoch=[lease.epoch for lease in leases]
        )
        await self.send(pb.WorkStreamServerMsg(settled=settled))

    async def run(self, request: ReactionRequest, *, deadline_ms: int = 0) -> Result:
        """Hand a task out and wait for its result."""
        return await self.result(await self.send_task(request, deadline_ms=deadline_ms))

    async def result(self, lease: Lease) -> Result:
        """Wait for the result of a lease."""
        await self.until(lambda: any(done.lease_token == lease.token for done in self.results))
        return next(decode_result(done)[2] for done in self.results if done.lease_token == lease.token)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that a frame of this or another stream brings about."""
        await self._broker.until(condition)

    def cut(self) -> None:
        """Break the stream with an error."""
        self._end("cut by the test")

    def end(self) -> None:
        """End the stream in order."""
        self._end(None)

    def _end(self, why: str | None) -> None:
        if not self._cut.done():
            self._cut.set_result(why)

    async def serve(self) -> None:
        """Read until the worker says goodbye or the test ends the stream."""
        reader = asyncio.ensure_future(self._read())
        try:
            waited: set[asyncio.Future[Any]] = {reader, self._cut}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if self._cut.done() and (why := self._cut.result()) is not None:
                await self._context.abort(grpc.StatusCode.UNAVAILABLE, why)
        finally:
            reader.cancel()
            [failure] = await asyncio.gather(reader, return_exceptions=True)
            if isinstance(failure, Exception) and not self._cut.done():  # reading ends with an error where it is cut
                self._broker.fail(failure)
            self.ended.set()
            await self._broker.notify()

    async def _read(self) -> None:
        while (frame := await self._context.read()) is not grpc.aio.EOF:
            if self._broker.cuts(frame):
                self.cut()
                return
            self.frames.append(frame)
            results = [frame.complete] if frame.HasField("complete") else list(frame.completes.completes)
            self.results += results
            if frame.HasField("subscribe"):
                await self._broker.welcome(self)
            elif results and self._broker.settles and "settled" in self.peer & set(self._broker.extensions):
                await self.settle(*(Lease(done.lease_token, done.claim_epoch) for done in results))
            await self._broker.notify()
        self.half_closed = True


class ScriptedBroker:
    """Serves inside `async with`, on a free port of 127.0.0.1 unless `listen` says `unix:///path`, over TLS if
    `credentials` are given. With `extensions=()` it knows the base contract only.

    `configs` are the defaults that it answers and pushes, `refuses` makes it refuse new streams
    (`refused` counts them), `settles`
    says whether it acknowledges results, and an answer with the configs is held back until `pulls_wait_for`.
    """

    def __init__(
        self,
        *,
        extensions: Sequence[str] = EXTENSIONS,
        listen: str = "127.0.0.1:0",
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        self.extensions = tuple(extensions)
        self.configs: dict[KindVersion, ProviderConfig] = {}
        self.streams: list[BrokerStream] = []
        self.pulls: list[pb.GetProviderConfigRequest] = []
        self.refuses = False
        self.refused = 0
        self.settles = True
        self.pulls_wait_for: asyncio.Event | None = None
        self.port = 0
        self._listen = listen
        self._credentials = credentials
        self._numbers = itertools.count(1)
        self._changed = asyncio.Condition()
        self._cuts: list[str] = []
        self._failure: Exception | None = None
        self._server: grpc.aio.Server | None = None

    @property
    def address(self) -> str:
        """For BROKER_ADDR."""
        if self._listen.startswith("unix:"):
            return self._listen
        return f"{'https' if self._credentials else 'http'}://127.0.0.1:{self.port}"

    def channel(self) -> grpc.aio.Channel:
        """For `run_worker`; close it afterwards."""
        options = (*LIMITS, ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100))
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=options)

    async def start(self) -> None:
        """Listen; on the same port as before, if it did."""
        self._server = grpc.aio.server(options=LIMITS)
        self._server.add_generic_rpc_handlers((service_handler(self._work_stream, self._get_provider_config),))
        if self._credentials is None:
            self.port = self._server.add_insecure_port(self._listen)
        else:
            self.port = self._server.add_secure_port(self._listen, self._credentials)
        if not self._listen.startswith("unix:"):
            self._listen = f"127.0.0.1:{self.port}"
        await self._server.start()

    async def stop(self) -> None:
        """Vanish, with every connection. Raises what reading a stream failed with, if a test was not told yet."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None
        self._raise_failure()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def new_lease(self) -> Lease:
        number = next(self._numbers)
        return Lease(f"lease-{number}", number)

    def cut_at(self, field: str) -> None:
        """Cut the stream once instead of taking the next frame with this field (subscribe, complete, …)."""
        self._cuts.append(field)

    def cuts(self, frame: Frame) -> bool:
        field = frame.WhichOneof("body")
        if field not in self._cuts:
            return False
        self._cuts.remove(field)
        return True

    async def stream(self, number: int = 0) -> BrokerStream:
        """The stream that subscribed as number 0, 1, 2 …; waits for it."""
        await self.until(lambda: len(self.streams) > number)
        return self.streams[number]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a frame or a stream's end made `condition` true. Raises AssertionError in the end, or when
        reading a stream failed."""
        async with self._changed:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._changed.wait_for(lambda: condition() or self._failure)
                    self._raise_failure()
            except TimeoutError:
                seen = "\n".join(f"stream {n}: {s.frames}" for n, s in enumerate(self.streams))
                raise AssertionError(f"it did not happen within {WAIT_SECONDS:g} s; seen:\n{seen}") from None

    def fail(self, failure: Exception) -> None:
        """Reading a stream failed: whoever waits is told, or whoever stops the broker."""
        self._failure = self._failure or failure

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise AssertionError(f"the scripted broker failed to read a stream: {failure!r}") from failure

    async def notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def welcome(self, stream: BrokerStream) -> None:
        """A worker has subscribed: send the defaults, as brokers do."""
        for kind, version in zip(stream.subscribe.kinds, stream.subscribe.kind_versions, strict=True):
            pair = KindVersion(kind, version)
            if pair in self.configs:
                await stream.send_config(pair, self.configs[pair])
        self.streams.append(stream)

    async def _work_stream(self, _: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        if self.refuses:
            self.refused += 1
            await self.notify()
            await context.abort(grpc.StatusCode.UNAVAILABLE, "this broker drains")
        if self.extensions:
            await context.send_initial_metadata(encode_extensions(self.extensions))
        await BrokerStream(self, context).serve()

    async def _get_provider_config(self, request: pb.GetProviderConfigRequest, _: Any) -> pb.GetProviderConfigResponse:
        self.pulls.append(request)
        await self.notify()
        asked = map(KindVersion, request.kinds, request.kind_versions)
        entries = [encode_config_entry(pair, self.configs[pair]) for pair in asked if pair in self.configs]
        if self.pulls_wait_for is not None:
            await self.pulls_wait_for.wait()
        return pb.GetProviderConfigResponse(entries=entries)
