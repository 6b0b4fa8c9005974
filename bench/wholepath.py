"""The whole path: REST apply → store → broker → gRPC → worker → provider and back to a stored Ready."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time

import httpx

from bench import bridge
from bench.figure import Figure
from bench.processes import BIN, Process, System, postgres_database, system

NAME = "wholepath"
BUDGET = (
    "in-process no-op ≥ 15,000/s; persistent python or node program ≥ 10,000/s; "
    "one apply → Ready p50 ≤ 10 ms, p99 ≤ 30 ms; bulk apply ≥ 15,000/s"
)

RESOURCES = {"small": 1_000, "full": 10_000}
ONESHOT_RESOURCES = {"small": 64, "full": 1_600}
LATENCIES = {"small": 30, "full": 500}
ROUNDS = {"small": 1, "full": 5}
STALL_SECONDS = 60
POLL_SECONDS = 0.02

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
PYTHON_LOOP = """
import json, sys
for line in sys.stdin:
    print('{"id":%s,"status":{"ok":true}}' % json.dumps(json.loads(line)["id"]), flush=True)
"""
NODE_LOOP = """
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`{"id":${JSON.stringify(JSON.parse(line).id)},"status":{"ok":true}}\\n`);
});
"""
STREAMS = {
    language: {"command": command, "args": [flag, text], "mode": "stream", "concurrency": 64}
    for language, command, flag, text in (
        ("python", sys.executable, "-c", PYTHON_LOOP),
        ("node", "node", "-e", NODE_LOOP),
    )
}
POSTGRES_URL = "BENCH_POSTGRES_URL"  # names a server; each round makes and drops a database of its own


async def run(size: str) -> list[Figure]:
    """Each figure is the median of its rounds, each round on a new engine."""
    rounds = range(ROUNDS[size])
    noop = [await _noop(RESOURCES[size], LATENCIES[size]) for _ in rounds]
    figures = [_median(figures) for figures in zip(*noop, strict=True)]
    if url := os.environ.get(POSTGRES_URL):
        figures.append(_median([await _postgres(url, RESOURCES[size]) for _ in rounds]))
    for language, launch in STREAMS.items():
        rates = [await _program(f"stream-{language}", launch, RESOURCES[size]) for _ in rounds]
        rate = statistics.median(rates)
        figures.append(Figure(f"persistent {language} program", rate, "reconciles/s", "≥ 10,000", rate >= 10_000))
    return [*figures, *await _oneshot(ONESHOT_RESOURCES[size])]


def _median(figures: tuple[Figure, ...] | list[Figure]) -> Figure:
    return sorted(figures, key=lambda figure: figure.value)[len(figures) // 2]


# ---- an in-process provider ----


async def _noop(count: int, latencies: int) -> list[Figure]:
    with system() as running:
        async with Load(running, "noop") as load:
            applied = await load.apply(count)
            worker = running.start_worker([sys.executable, "-c", NOOP_WORKER], WORKER_MAX_PARALLEL="400")
            rate, engine_cpu, worker_cpu = await load.drain(count, worker)
            p50, p99 = await load.latency(latencies)
            both = await load.apply_until_ready(count)
    return [
        Figure("bulk apply over REST", applied, "resources/s", "≥ 15,000", applied >= 15_000),
        Figure("in-process no-op provider", rate, "reconciles/s", "≥ 15,000", rate >= 15_000),
        Figure("  CPU of the engine", engine_cpu, "µs a task"),
        Figure("  CPU of the worker", worker_cpu, "µs a task"),
        Figure("  applied meanwhile, apply to last Ready", both, "resources/s"),
        Figure("one apply → Ready, p50", p50, "ms", "≤ 10", p50 <= 10),
        Figure("one apply → Ready, p99", p99, "ms", "≤ 30", p99 <= 30),
    ]


async def _postgres(server: str, count: int) -> Figure:
    with postgres_database(server) as url, system(url) as running:
        async with Load(running, "noop") as load:
            await load.apply(count)
            worker = running.start_worker([sys.executable, "-c", NOOP_WORKER], WORKER_MAX_PARALLEL="400")
            rate, _, _ = await load.drain(count, worker)
    return Figure("in-process no-op provider, Postgres", rate, "reconciles/s", "≥ 7,000", rate >= 7_000)


# ---- programs ----


async def _program(kind: str, launch: dict[str, object], count: int) -> float:
    with system() as running:
        async with Load(running, kind) as load:
            await load.configure(launch)
            await load.apply(count)
            names = {"STDIO_KINDS": kind, "STDIO_COMPOSER_KINDS": "unused"}
            worker = running.start_worker([str(BIN / "stdworker"), "run"], WORKER_MAX_PARALLEL="256", **names)
            rate, _, _ = await load.drain(count, worker)
    return rate


async def _oneshot(count: int) -> list[Figure]:
    """Against a bare spawn loop of the same program in the same run."""
    bare = (await bridge.oneshot_bash(count))["bare_per_second"]
    rate = await _program("oneshot-bash", {"command": "bash", "args": bridge.ONESHOT}, count)
    ratio = rate / bare
    return [
        Figure("one-shot bash program", rate, "reconciles/s"),
        Figure("one-shot bash, whole path ÷ bare loop", ratio, "", "≥ 0.85", ratio >= 0.85),
    ]


# ---- over REST ----


class Load:
    """What is applied to one kind, and how long it takes."""

    def __init__(self, running: System, kind: str) -> None:
        self._running = running
        self._kind = kind
        self._http = httpx.AsyncClient(base_url=f"{running.rest}/api/v1", timeout=STALL_SECONDS)
        self._applied = 0

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
        first, self._applied = self._applied, self._applied + count
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
        """From the first Ready seen to the last: the rate, and the CPU of engine and worker, µs a task.

        When all are Ready at the first look, from the start of the worker on.
        """
        start, engine, own = time.perf_counter(), self._running.engine.cpu_seconds(), worker.cpu_seconds()
        first = await self._until(1)
        if first < count:
            start, engine, own = time.perf_counter(), self._running.engine.cpu_seconds(), worker.cpu_seconds()
        await self._until(count)
        done, seconds = (count - first) or count, time.perf_counter() - start
        engine, own = self._running.engine.cpu_seconds() - engine, worker.cpu_seconds() - own
        return done / seconds, engine / done * 1e6, own / done * 1e6

    async def apply_until_ready(self, count: int) -> float:
        start = time.perf_counter()
        await self.apply(count)
        await self._until(self._applied)
        return count / (time.perf_counter() - start)

    async def latency(self, count: int) -> tuple[float, float]:
        """Apply one, wait until it is Ready, one after the other; p50 and p99 in milliseconds."""
        samples = []
        for _ in range(count):
            name, self._applied = f"r{self._applied}", self._applied + 1
            body = {"kind": self._kind, "kind_version": 1, "name": name, "spec": {"size": 1}}
            start = time.perf_counter()
            (await self._http.post("/resources", json=body)).raise_for_status()
            wait = {"for": "ready", "timeout": f"{STALL_SECONDS}s"}
            (await self._http.get(f"/resources/{self._kind}/{name}/wait", params=wait)).raise_for_status()
            samples.append((time.perf_counter() - start) * 1e3)
        return statistics.median(samples), statistics.quantiles(samples, n=100, method="inclusive")[98]

    async def _until(self, count: int) -> int:
        """Wait until so many are Ready; how many are then. Raises RuntimeError when nothing moves any more."""
        seen, moved = -1, time.monotonic()
        while True:
            summary = (await self._http.get("/resources/summary")).raise_for_status().json()
            ready: int = summary["totals"].get("Ready", 0)
            if summary["totals"].get("Failed"):
                raise RuntimeError(f"tasks fail: {summary}")
            if ready >= count:
                return ready
            if ready != seen:
                seen, moved = ready, time.monotonic()
            elif time.monotonic() - moved > STALL_SECONDS:
                raise RuntimeError(f"{ready} of {count} are Ready and nothing moves: {summary}")
            self._running.check()
            await asyncio.sleep(POLL_SECONDS)
