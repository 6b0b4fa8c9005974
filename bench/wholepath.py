"""The whole path: REST apply → store → broker → gRPC → worker → provider and back to a stored Ready."""

from __future__ import annotations

import statistics
import sys

from bench import bridge
from bench.figure import Figure, at_least, at_most, median
from bench.load import IN_FLIGHT, Load, start_noop_worker
from bench.processes import BIN, Process, System, postgres, system
from stdworker.testing.postgres import PostgresServer

NAME = "wholepath"
BUDGET = (
    f"in-process no-op ≥ 15,000/s; persistent python or node program ≥ 10,000/s, both with {IN_FLIGHT} in flight; "
    "one apply → Ready p50 ≤ 10 ms, p99 ≤ 30 ms; bulk apply ≥ 15,000/s"
)

RESOURCES = {"small": 200, "full": 10_000}
FEW_IN_FLIGHT = 64
ONESHOT_RESOURCES = {"small": 16, "full": 1_600}
ONESHOT_TURNS = {"small": 1, "full": 7}
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
STREAMS = {"python": (sys.executable, "-c", PYTHON_LOOP), "node": ("node", "-e", NODE_LOOP)}


async def run(size: str) -> list[Figure]:
    """Each figure is the median of its rounds, each round on a new engine."""
    rounds = range(ROUNDS[size])
    noop = [await _noop(RESOURCES[size], LATENCIES[size]) for _ in rounds]
    figures = [median(figures) for figures in zip(*noop, strict=True)]
    with postgres() as server:
        if server:
            figures.append(median([await _postgres(server, RESOURCES[size]) for _ in rounds]))
    for language in STREAMS:
        rate = statistics.median([await _stream(language, IN_FLIGHT, RESOURCES[size]) for _ in rounds])
        figures.append(at_least(f"persistent {language} program", rate, "reconciles/s", 10_000))
        few = statistics.median([await _stream(language, FEW_IN_FLIGHT, RESOURCES[size]) for _ in rounds])
        figures.append(Figure(f"  with {FEW_IN_FLIGHT} instead of {IN_FLIGHT} in flight", few, "reconciles/s"))
    return [*figures, *await _oneshot(ONESHOT_RESOURCES[size], ONESHOT_TURNS[size])]


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


async def _stream(language: str, in_flight: int, count: int) -> float:
    command, *arguments = STREAMS[language]
    launch = {"command": command, "args": arguments, "mode": "stream", "concurrency": in_flight}
    return await _program(f"stream-{language}", launch, count)


async def _program(kind: str, launch: dict[str, object], count: int) -> float:
    with system() as running:
        async with Load(running, kind) as load:
            await load.configure(launch)
            await load.apply(count)
            rate, _, _ = await load.drain(count, _start_worker(running, kind))
    return rate


async def _oneshot(count: int, turns: int) -> list[Figure]:
    """In turns with a bare spawn loop of the same program: what else the machine does hits both."""
    kind, rates, ratios = "oneshot-bash", [], []
    with system() as running:
        async with Load(running, kind) as load:
            await load.configure({"command": "bash", "args": bridge.ONESHOT})
            worker = _start_worker(running, kind)
            await load.apply_until_ready(count)
            for _ in range(turns):
                bare = await bridge.bare_spawns(count)
                await load.apply(count)
                rate, _, _ = await load.drain(count, worker)
                rates.append(rate)
                ratios.append(rate / bare)
    return [
        Figure("one-shot bash program", statistics.median(rates), "reconciles/s"),
        at_least("one-shot bash, whole path ÷ bare loop", statistics.median(ratios), "", 0.85),
    ]


def _start_worker(running: System, kind: str) -> Process:
    names = {"STDIO_KINDS": kind, "STDIO_COMPOSER_KINDS": "unused"}
    return running.start_worker([str(BIN / "stdworker"), "run"], WORKER_MAX_PARALLEL=str(IN_FLIGHT), **names)
