"""What it costs that others look on: streams of changes that are open while work is done."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator

import httpx

from bench.figure import Figure, at_most
from bench.load import Load, start_noop_worker
from bench.processes import System, system

NAME = "watching"
BUDGET = "CPU of the engine from apply to Ready with watchers of other things ÷ without ≤ 1.5"

RESOURCES = {"small": 400, "full": 10_000}
ROUNDS = {"small": 1, "full": 3}
WATCHERS = 16
SCENES = {"nobody": "", f"{WATCHERS} of another kind": "?kind=other", "one of everything": "?"}


async def run(size: str) -> list[Figure]:
    """The scenes take turns, each round on a new engine."""
    costs: dict[str, list[float]] = {scene: [] for scene in SCENES}
    for _ in range(ROUNDS[size]):
        for scene, query in SCENES.items():
            costs[scene].append(await _cost(query, WATCHERS if "other" in query else 1, RESOURCES[size]))
    alone, elsewhere, everything = (statistics.median(costs[scene]) for scene in SCENES)
    return [
        Figure("CPU of the engine, watched by nobody", alone, "µs a resource"),
        Figure(f"CPU of the engine, {WATCHERS} watchers of another kind", elsewhere, "µs a resource"),
        at_most("  the one ÷ the other", elsewhere / alone, "", 1.5),
        Figure("CPU of the engine, one watcher of everything", everything, "µs a resource"),
    ]


async def _cost(query: str, watchers: int, count: int) -> float:
    with system() as running:
        async with Load(running, "noop") as load, _watchers(running, query, watchers):
            begun = running.engine.cpu_seconds()
            await load.apply(count)
            await load.drain(count, start_noop_worker(running))
            return (running.engine.cpu_seconds() - begun) / count * 1e6


@contextlib.asynccontextmanager
async def _watchers(running: System, query: str, count: int) -> AsyncIterator[None]:
    """Streams that are read as fast as they come."""
    async with (
        httpx.AsyncClient(base_url=f"{running.rest}/api/v1", timeout=None) as http,
        contextlib.AsyncExitStack() as streams,
    ):
        readers = []
        for _ in range(count if query else 0):
            stream = await streams.enter_async_context(http.stream("GET", f"/watch{query}"))
            readers.append(asyncio.create_task(_read(stream.raise_for_status())))
        try:
            yield
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)


async def _read(stream: httpx.Response) -> None:
    async for _ in stream.aiter_raw():
        pass
