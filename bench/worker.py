"""gRPC alone, and a worker process alone: how many no-op tasks pass in a second."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio

from bench.figure import Figure
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.testing import make_request
from stdworker.wire.channel import LIMITS
from stdworker.wire.convert_task import encode_task
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient, encode_extensions, service_handler

NAME = "worker"
BUDGET = "gRPC in batches ≥ 100,000 tasks/s; the worker ≤ 35 µs of CPU a task (≥ 15,000/s fit the whole path)"

TASKS = {"small": 500, "full": 200_000}
IN_FLIGHT = 400
BATCH = 64
CPU_MICROSECONDS_MAX = 35.0
CANCELLED_EVERY = 20
GROWTH_MIB_MAX = 8.0

_PAIR = KindVersion("noop")
_WORKER = """
import asyncio, os, signal
from stdworker import KindVersion, Outcome, serve

class Noop:
    kind = KindVersion("noop")
    async def work(self, request):
        if request.reaction == "hang": await asyncio.sleep(600)
        return Outcome(status={"ok": True})
    async def on_config(self, config): pass
    async def ready(self): return True

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await serve([Noop()], stop=stop)

asyncio.run(main())
"""


async def run(size: str) -> list[Figure]:
    count = TASKS[size]
    single = await _grpc_alone(count // 10, batch=1)
    batched = await _grpc_alone(count, batch=BATCH)
    rate, cpu, _ = await worker_alone(count)
    *_, growth = await worker_alone(count, cancelled_every=CANCELLED_EVERY)
    return [
        Figure("gRPC alone, one task a frame", single, "tasks/s"),
        Figure(f"gRPC alone, {BATCH} tasks a frame", batched, "tasks/s", "≥ 100,000", batched >= 100_000),
        Figure("worker process alone, no-op provider", rate, "tasks/s", "≥ 15,000", rate >= 15_000),
        Figure("CPU of the worker", cpu, "µs a task", f"≤ {CPU_MICROSECONDS_MAX:g}", cpu <= CPU_MICROSECONDS_MAX),
        Figure(
            f"growth of the worker over {count:,} tasks, 5 % cancelled",
            growth,
            "MiB",
            f"≤ {GROWTH_MIB_MAX:g}",
            growth <= GROWTH_MIB_MAX,
        ),
    ]


class _Feeder:
    """A broker that keeps IN_FLIGHT tasks out and counts what comes back."""

    def __init__(self, count: int, batch: int, cancelled_every: int = 0) -> None:
        self.count = count
        self.batch = batch
        self.cancelled_every = cancelled_every
        self.warm = max(count // 10, 2_000)
        self.done = 0
        self.finished = asyncio.Event()
        self.warmed = asyncio.Event()
        request = make_request(_PAIR, spec={"size": 3, "name": "ada"}, status={"ok": True})
        self._tasks = encode_task(Lease("", 0), request)
        self._sent = 0
        self._cancels: list[pb.CancelTask] = []

    def frame(self, count: int) -> bytes:
        tasks = []
        for _ in range(count):
            self._sent += 1
            task = pb.StageTask()
            task.CopyFrom(self._tasks)
            task.lease_token, task.claim_epoch = f"3f2504e04f8911d39a0c0305{self._sent:08d}", self._sent
            if self.cancelled_every and self._sent % self.cancelled_every == 0:
                task.reaction = "hang"
                self._cancels.append(pb.CancelTask(lease_token=task.lease_token, claim_epoch=task.claim_epoch))
            tasks.append(task)
        if count == 1:
            return pb.WorkStreamServerMsg(task=tasks[0]).SerializeToString()
        return pb.WorkStreamServerMsg(tasks=pb.TaskBatch(tasks=tasks)).SerializeToString()

    async def work_stream(self, _: AsyncIterator[pb.WorkStreamClientMsg], context: grpc.aio.ServicerContext) -> None:
        await context.send_initial_metadata(encode_extensions())
        await context.read()
        for _ in range(max(1, IN_FLIGHT // self.batch)):
            await self._send(context)
        owed = 0
        while (message := await context.read()) is not grpc.aio.EOF:
            settled = [message.complete] if message.HasField("complete") else message.completes.completes
            if not len(settled):
                continue
            self.done += len(settled)
            owed += len(settled)
            if self.done >= self.warm:
                self.warmed.set()
            if self.done >= self.count + self.warm:
                self.finished.set()
            acknowledged = pb.Settled(
                lease_token=[done.lease_token for done in settled], claim_epoch=[done.claim_epoch for done in settled]
            )
            await context.write(pb.WorkStreamServerMsg(settled=acknowledged))
            while owed >= self.batch and not self.finished.is_set():
                owed -= self.batch
                await self._send(context)

    async def _send(self, context: grpc.aio.ServicerContext) -> None:
        await context.write(self.frame(self.batch))
        while self._cancels:
            await context.write(pb.WorkStreamServerMsg(cancel=self._cancels.pop()))

    async def get_provider_config(self, request: object, context: object) -> pb.GetProviderConfigResponse:
        return pb.GetProviderConfigResponse()

    async def start(self) -> tuple[grpc.aio.Server, int]:
        server = grpc.aio.server(options=LIMITS)
        server.add_generic_rpc_handlers((service_handler(self.work_stream, self.get_provider_config),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        return server, port


async def _grpc_alone(count: int, *, batch: int) -> float:
    """Frames out and back in one process, no work between."""
    feeder = _Feeder(count, batch)
    server, port = await feeder.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=LIMITS) as channel:
        call = WorkerClient(channel).work_stream(metadata=encode_extensions())
        await call.write(pb.WorkStreamClientMsg(subscribe=pb.Subscribe(kinds=["noop"])).SerializeToString())
        started = time.perf_counter()
        while not feeder.finished.is_set():
            message = await call.read()
            tasks = [message.task] if message.HasField("task") else message.tasks.tasks
            if not len(tasks):
                continue
            done = [
                pb.StageComplete(lease_token=t.lease_token, claim_epoch=t.claim_epoch, stage=t.stage) for t in tasks
            ]
            if batch == 1:
                frame = pb.WorkStreamClientMsg(complete=done[0])
            else:
                frame = pb.WorkStreamClientMsg(completes=pb.CompleteBatch(completes=done))
            await call.write(frame.SerializeToString())
        seconds = time.perf_counter() - started
        call.cancel()
    await server.stop(None)
    return (feeder.count + feeder.warm) / seconds


async def worker_alone(count: int, *, cancelled_every: int = 0) -> tuple[float, float, float]:
    """Tasks a second, CPU µs a task and MiB of growth of a worker in a process of its own, after a warm-up."""
    feeder = _Feeder(count, BATCH, cancelled_every)
    server, port = await feeder.start()
    environment = {**os.environ, "BROKER_ADDR": f"127.0.0.1:{port}", "WORKER_MAX_PARALLEL": str(IN_FLIGHT)}
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", _WORKER, env=environment)
    try:
        await asyncio.wait_for(feeder.warmed.wait(), 60)
        started, cpu, memory = time.perf_counter(), _cpu_seconds(worker.pid), _resident_mib(worker.pid)
        await asyncio.wait_for(feeder.finished.wait(), 600)
        seconds = time.perf_counter() - started
        cpu, memory = _cpu_seconds(worker.pid) - cpu, _resident_mib(worker.pid) - memory
    finally:
        worker.terminate()
        await worker.wait()
        await server.stop(None)
    return feeder.count / seconds, cpu / feeder.count * 1e6, memory


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
