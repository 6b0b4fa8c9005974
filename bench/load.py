"""What is applied to a running engine over REST, and how long it takes until it is Ready."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time

import httpx

from bench.processes import Process, System

IN_FLIGHT = 400
STALL_SECONDS = 60
LOOK_SECONDS_MIN = 0.01
LOOK_SECONDS_MAX = 0.5

NOOP_WORKER = """
import asyncio, signal
from stdworker import KindVersion, Outcome, serve

class Noop:
    kind = KindVersion("noop")
    async def work(self, request): return Outcome(status={"ok": True})
    async def on_config(self, config): pass
    async def ready(self): return True

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await serve([Noop()], stop=stop)

asyncio.run(main())
"""


def start_noop_worker(running: System) -> Process:
    """A worker that answers for the kind `noop` in its own process."""
    return running.start_worker([sys.executable, "-c", NOOP_WORKER], WORKER_MAX_PARALLEL=str(IN_FLIGHT))


class Load:
    """What is applied to one kind, and how long it takes."""

    def __init__(self, running: System, kind: str) -> None:
        self._running = running
        self._kind = kind
        self._http = httpx.AsyncClient(base_url=f"{running.rest}/api/v1", timeout=STALL_SECONDS)
        self.applied = 0

    async def __aenter__(self) -> Load:
        reaction = {"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}
        manifest = {"kind": self._kind, "kind_version": 1, "reactions": [reaction]}
        (await self._http.put(f"/kinds/{self._kind}/manifest", json=manifest)).raise_for_status()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._http.aclose()

    async def configure(self, spec: dict[str, object]) -> None:
        body = {"name": self._kind, "kind": self._kind, "kind_version": 1, "is_default": True, "spec": spec}
        (await self._http.post("/providerconfigs", json=body)).raise_for_status()

    async def apply(self, count: int) -> float:
        """Apply new resources in one request; the rate."""
        first, self.applied = self.applied, self.applied + count
        line = '{{"kind":"{}","kind_version":1,"name":"r{}","spec":{{"size":{},"zone":"a"}}}}\n'
        body = "".join(line.format(self._kind, i, i) for i in range(first, first + count))
        start = time.perf_counter()
        answer = await self._http.post(
            "/resources/batch", content=body, headers={"Content-Type": "application/x-ndjson"}
        )
        seconds = time.perf_counter() - start
        if answer.raise_for_status().text.count('"result":"created"') != count:
            raise RuntimeError(f"not all were created: {answer.text[:500]}")
        return count / seconds

    async def drain(self, count: int, worker: Process) -> tuple[float, float, float]:
        """Until the last `count` that were applied are Ready: the rate, and the CPU of engine and worker, µs a task.

        Measured from the first Ready seen; when all are Ready at the first look, from the start of the worker on.
        """
        ready_before = self.applied - count
        begun = self._now(worker)
        first = await self._until(ready_before + 1) - ready_before
        if first < count:
            begun = self._now(worker)
        await self._until(self.applied)
        done = (count - first) or count
        seconds, engine, own = (now - then for now, then in zip(self._now(worker), begun, strict=True))
        return done / seconds, engine / done * 1e6, own / done * 1e6

    def _now(self, worker: Process) -> tuple[float, float, float]:
        return time.perf_counter(), self._running.engine.cpu_seconds(), worker.cpu_seconds()

    async def apply_until_ready(self, count: int) -> float:
        start = time.perf_counter()
        await self.apply(count)
        await self._until(self.applied)
        return count / (time.perf_counter() - start)

    async def read(self, path: str, times: int) -> float:
        """The median of how long a reading takes, in milliseconds."""
        samples = []
        for _ in range(times):
            start = time.perf_counter()
            (await self._http.get(path)).raise_for_status()
            samples.append((time.perf_counter() - start) * 1e3)
        return statistics.median(samples)

    async def latency(self, count: int) -> tuple[float, float]:
        """Apply one, wait until it is Ready, one after the other; p50 and p99 in milliseconds."""
        samples = []
        for _ in range(count):
            name, self.applied = f"r{self.applied}", self.applied + 1
            body = {"kind": self._kind, "kind_version": 1, "name": name, "spec": {"size": 1}}
            start = time.perf_counter()
            (await self._http.post("/resources", json=body)).raise_for_status()
            wait = {"for": "ready", "timeout": f"{STALL_SECONDS}s"}
            (await self._http.get(f"/resources/{self._kind}/{name}/wait", params=wait)).raise_for_status()
            samples.append((time.perf_counter() - start) * 1e3)
        return statistics.median(samples), statistics.quantiles(samples, n=100, method="inclusive")[98]

    async def _until(self, count: int) -> int:
        """Wait until so many are Ready; how many are then. Raises RuntimeError when nothing moves any more.

        A look costs the engine about as much as a hundred tasks, so it is taken when half of what was left to do
        then should be done.
        """
        begun = moved = time.monotonic()
        start = seen = await self._ready()
        while seen < count:
            now = time.monotonic()
            done, left = seen - start, count - seen
            halfway = (now - begun) * left / done / 2 if done else 0.0
            await asyncio.sleep(min(max(halfway, LOOK_SECONDS_MIN), LOOK_SECONDS_MAX))
            ready = await self._ready()
            if ready != seen:
                seen, moved = ready, time.monotonic()
            elif now - moved > STALL_SECONDS:
                raise RuntimeError(f"{ready} of {count} are Ready and nothing moves")
            self._running.check()
        return seen

    async def _ready(self) -> int:
        summary = (await self._http.get("/resources/summary")).raise_for_status().json()
        if summary["totals"].get("Failed"):
            raise RuntimeError(f"tasks fail: {summary}")
        return int(summary["totals"].get("Ready", 0))
