"""What grows with the number of resources, and what the system costs while nothing happens."""

from __future__ import annotations

import asyncio
import statistics
import time

from bench.figure import Figure, at_least, at_most
from bench.load import Load, start_noop_worker
from bench.processes import Process, System, system

NAME = "growth"
BUDGET = "rate with many resources ÷ rate with few ≥ 0.8; memory grows < 200 MiB; idle CPU < 1 % of a core"

TOTALS = {"small": (1_000, 2_000), "full": (10_000, 100_000)}
IDLE_SECONDS = {"small": 1, "full": 30}
ROUNDS = {"small": 1, "full": 3}
READS = {"small": 3, "full": 20}
CHUNK = 10_000
QUERIES = {
    "the newest 100": "/resources?limit=100",
    "the newest 100 Ready": "/resources?limit=100&phase=Ready",
    "the newest 100 of a kind": "/resources?limit=100&kind=noop",
    "all Failed": "/resources?limit=100&phase=Failed",
    "one by its name": "/resources?limit=100&name=r777",
    "events of one": "/resources/noop/r777/events",
    "the summary": "/resources/summary",
}


async def run(size: str) -> list[Figure]:
    return await measure(TOTALS[size], size)


async def measure(totals: tuple[int, int], size: str) -> list[Figure]:
    """The same load at two numbers of stored resources."""
    few, many = totals
    drained = few // ROUNDS[size]
    with system() as running:
        async with Load(running, "noop") as load:
            await _fill(running, load, few)
            rate_few = await _rate(running, load, drained, ROUNDS[size])
            reads_few, memory_few = await _reads(load, READS[size]), running.engine.memory_mib()
            await _fill(running, load, many)
            rate_many = await _rate(running, load, drained, ROUNDS[size])
            reads_many, memory_many = await _reads(load, READS[size]), running.engine.memory_mib()
            idle = await _idle(running, IDLE_SECONDS[size])
    return [
        Figure(f"rate at {few:,}", rate_few, "reconciles/s"),
        Figure(f"rate at {many:,}", rate_many, "reconciles/s"),
        at_least("  the one ÷ the other", rate_many / rate_few, "", 0.8),
        Figure(f"memory of the engine at {many:,}", memory_many, "MiB"),
        at_most("  growth", memory_many - memory_few, "MiB", 200),
        *(
            Figure(f"list {what} at {many:,}; at {few:,}: {reads_few[what]:.1f}", ms, "ms")
            for what, ms in reads_many.items()
        ),
        at_most(f"idle CPU of engine and worker at {many:,}", idle, "% of a core", 1),
    ]


async def _fill(running: System, load: Load, total: int) -> None:
    """Apply until so many are stored, and have all of them Ready."""
    worker = start_noop_worker(running)
    while load.applied < total:
        count = min(CHUNK, total - load.applied)
        await load.apply(count)
        await load.drain(count, worker)
    running.stop_worker(worker)


async def _rate(running: System, load: Load, count: int, rounds: int) -> float:
    rates = []
    for _ in range(rounds):
        await load.apply(count)
        worker = start_noop_worker(running)
        rates.append((await load.drain(count, worker))[0])
        running.stop_worker(worker)
    return statistics.median(rates)


async def _reads(load: Load, times: int) -> dict[str, float]:
    return {what: await load.read(path, times) for what, path in QUERIES.items()}


async def _idle(running: System, seconds: int) -> float:
    """Percent of a core that both processes use while nothing happens."""
    processes = [running.engine, start_noop_worker(running)]
    await asyncio.sleep(1)
    before, start = _cpu(processes), time.perf_counter()
    await asyncio.sleep(seconds)
    return (_cpu(processes) - before) / (time.perf_counter() - start) * 100


def _cpu(processes: list[Process]) -> float:
    return sum(process.cpu_seconds() for process in processes)
