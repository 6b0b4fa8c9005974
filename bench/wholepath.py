"""The whole path: REST apply → store → broker → gRPC → worker → provider and back to a stored Ready."""

from __future__ import annotations

import statistics
import sys

from bench import bridge
from bench.figure import Figure, at_least, at_most, median
from bench.load import Load, start_noop_worker
from bench.processes import BIN, postgres, system
from stdworker.testing.postgres import PostgresServer

NAME = "wholepath"
BUDGET = (
    "in-process no-op ≥ 15,000/s; persistent python or node program ≥ 10,000/s; "
    "one apply → Ready p50 ≤ 10 ms, p99 ≤ 30 ms; bulk apply ≥ 15,000/s"
)

RESOURCES = {"small": 200, "full": 10_000}
ONESHOT_RESOURCES = {"small": 16, "full": 1_600}
LATENCIES = {"small": 10, "full": 500}
ROUNDS = {"small": 1, "full": 5}

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


async def run(size: str) -> list[Figure]:
    """Each figure is the median of its rounds, each round on a new engine."""
    rounds = range(ROUNDS[size])
    noop = [await _noop(RESOURCES[size], LATENCIES[size]) for _ in rounds]
    figures = [median(figures) for figures in zip(*noop, strict=True)]
    with postgres() as server:
        if server:
            figures.append(median([await _postgres(server, RESOURCES[size]) for _ in rounds]))
    for language, launch in STREAMS.items():
        rate = statistics.median([await _program(f"stream-{language}", launch, RESOURCES[size]) for _ in rounds])
        figures.append(at_least(f"persistent {language} program", rate, "reconciles/s", 10_000))
    return [*figures, *await _oneshot(ONESHOT_RESOURCES[size])]


# ---- an in-process provider ----


async def _noop(count: int, latencies: int) -> list[Figure]:
    with system() as running:
        async with Load(running, "noop") as load:
            applied = await load.apply(count)
            rate, engine_cpu, worker_cpu = await load.drain(count, start_noop_worker(running))
            p50, p99 = await load.latency(latencies)
            both = await load.apply_until_ready(count)
    return [
        at_least("bulk apply over REST", applied, "resources/s", 15_000),
        at_least("in-process no-op provider", rate, "reconciles/s", 15_000),
        Figure("  CPU of the engine", engine_cpu, "µs a task"),
        Figure("  CPU of the worker", worker_cpu, "µs a task"),
        Figure("  applied meanwhile, apply to last Ready", both, "resources/s"),
        at_most("one apply → Ready, p50", p50, "ms", 10),
        at_most("one apply → Ready, p99", p99, "ms", 30),
    ]


async def _postgres(server: PostgresServer, count: int) -> Figure:
    with server.database() as url, system(url) as running:
        async with Load(running, "noop") as load:
            await load.apply(count)
            rate, _, _ = await load.drain(count, start_noop_worker(running))
    return at_least("in-process no-op provider, Postgres with fsync", rate, "reconciles/s", 7_000)


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
        at_least("one-shot bash, whole path ÷ bare loop", ratio, "", 0.85),
    ]
