"""A worker and a scripted broker in one loop, quick enough for tests."""

import asyncio
import contextlib
import gc
import logging

import pytest

from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.testing import ScriptedBroker
from stdworker.worker import WorkerOptions, run_worker
from stdworker.worker.pace import Pace

QUICK = Pace(
    heartbeat_seconds=0.05,
    progress_seconds=0.02,
    settle_seconds=0.2,
    readiness_seconds=0.02,
    retry_first_seconds=0.05,
    hurry_seconds=0.05,
    stop_seconds=5.0,
)


class Noop:
    """A provider that does nothing unless a test says what."""

    def __init__(self, kind="thing", work=None, version=1):
        self.kind = KindVersion(kind, version)
        self.configs = []
        self.is_ready = True
        self.closed = False
        if work is not None:
            self.work = work

    async def work(self, request):
        return Outcome(status={"done": request.resource.name})

    async def on_config(self, config):
        self.configs.append(config)

    async def ready(self):
        return self.is_ready

    async def close(self):
        self.closed = True


class Playground:
    """`broker` and a worker in it, started by `serve`."""

    def __init__(self, broker, pace):
        self.broker = broker
        self.pace = pace
        self.stop = asyncio.Event()
        self.worker = None

    def serve(self, *providers, **options):
        async def run():
            async with self.broker.channel() as channel:
                await run_worker(channel, providers, WorkerOptions(pace=self.pace, **options), stop=self.stop)

        self.worker = asyncio.create_task(run())

    async def stream(self, number=0):
        waited = asyncio.ensure_future(self.broker.stream(number))
        await asyncio.wait({waited, self.worker}, return_when=asyncio.FIRST_COMPLETED)
        if not waited.done():
            waited.cancel()
            await self.worker
            raise AssertionError("the worker ended")
        return await waited

    async def drained(self):
        self.stop.set()
        await asyncio.wait_for(asyncio.shield(self.worker), 20)

    async def close(self):
        if self.worker is not None and not self.worker.done():
            self.stop.set()
            self.worker.cancel()
            await asyncio.wait({self.worker}, timeout=20)
        await self.broker.stop()


@pytest.fixture
def play():
    """`play(scenario, extensions=…)` runs `async def scenario(ground)` in a loop of its own, which must not
    complain about anything."""
    complaints = []

    def run(scenario, *, pace=QUICK, **broker):
        async def everything():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            ground = Playground(ScriptedBroker(**broker), pace)
            await ground.broker.start()
            try:
                return await scenario(ground)
            finally:
                await ground.close()
                left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
                for task in left:
                    with contextlib.suppress(asyncio.CancelledError, Exception):
                        await asyncio.wait_for(task, 5)
                gc.collect()

        answer = asyncio.run(everything())
        assert complaints == []
        return answer

    return run


@pytest.fixture
def noop():
    return Noop


@pytest.fixture
def logged():
    """`await logged(text)` until a line of the worker's log contains it, before or after the call."""
    lines = []
    waiting = []

    class Handler(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())
            for text, told in waiting:
                if text in lines[-1]:
                    told()

    async def wait(text):
        seen = asyncio.Event()
        loop = asyncio.get_running_loop()
        waiting.append((text, lambda: loop.call_soon_threadsafe(seen.set)))
        if not any(text in line for line in lines):
            await asyncio.wait_for(seen.wait(), 20)
        return next(line for line in lines if text in line)

    handler = Handler()
    log = logging.getLogger("stdworker.worker")
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    yield wait
    log.removeHandler(handler)
    log.setLevel(level)
