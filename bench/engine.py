"""The engine alone, in process: apply, claim and settle, a wide composite; with the CPU that a task costs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.figure import Figure
from bench.processes import postgres
from stdworker.cli.collector import spare_the_collector
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref

NAME = "engine"
BUDGET = "apply ≥ 15,000/s; claim + settle ≤ 40 µs of CPU a task (SQLite); 10,000 children with edges and flows ≤ 5 s"

RESOURCES = {"small": 400, "full": 20_000}
CHILDREN = {"small": 50, "full": 10_000}
CHUNK = 1_000
IN_FLIGHT = 400
BATCH = 100

_LEAF, _GROUP = KindVersion("leaf"), KindVersion("group")
_WORK = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
_PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]}


async def run(size: str) -> list[Figure]:
    spare_the_collector()  # as `converge serve` does
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        figures += await _measure(f"sqlite:///{folder}/bench.db", "sqlite", size)
    with postgres() as server:
        if server:
            with server.database() as url:
                figures += await _measure(url, "postgres", size)
    return figures


async def _measure(url: str, store: str, size: str) -> list[Figure]:
    judged = store == "sqlite"
    async with opened(url) as engine:
        applied = await apply(engine, RESOURCES[size])
        settled, cpu = await drain(engine)
    async with opened(url) as engine:
        composed = await _compose(engine, CHILDREN[size])
    return [
        Figure(f"{store}: apply", applied, "resources/s", "≥ 15,000", applied >= 15_000 if judged else None),
        Figure(f"{store}: claim + settle", settled, "tasks/s"),
        Figure(f"{store}: CPU of claim + settle", cpu, "µs a task", "≤ 40", cpu <= 40 if judged else None),
        Figure(f"{store}: composite of {CHILDREN[size]}", composed, "s", "≤ 5", composed <= 5 if judged else None),
    ]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Engine]:
    engine = await Engine.open(url)
    await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [_WORK]}, "bench")
    await engine.publish_kind({"kind": "group", "kind_version": 1, "reactions": [_PLAN]}, "bench")
    try:
        yield engine
    finally:
        await engine.close()


async def apply(engine: Engine, count: int) -> float:
    documents = [ApplyDocument("leaf", 1, f"r{i}", RawJson(b'{"size":%d,"zone":"a"}' % i)) for i in range(count)]
    start = time.perf_counter()
    for i in range(0, count, CHUNK):
        await engine.apply(documents[i : i + CHUNK], "bench")
    return count / (time.perf_counter() - start)


async def drain(engine: Engine) -> tuple[float, float]:
    """Claim and settle all that is queued, with a bounded number of tasks in flight."""
    done, held = 0, []
    start, cpu = time.perf_counter(), time.process_time()
    while True:
        held += await engine.claim([Want(_LEAF, IN_FLIGHT - len(held), "bench")], "bench")
        if not held:
            break
        batch, held = held[:BATCH], held[BATCH:]
        results = [Settlement(claim.lease, Stage.WORK, Outcome(status=_STATUS)) for claim in batch]
        done += sum(await engine.settle(results))
    return done / (time.perf_counter() - start), (time.process_time() - cpu) / done * 1e6


async def _compose(engine: Engine, count: int) -> float:
    """One composite: every tenth child waits for the first of its ten and takes a value from it."""
    outcome = _children(count)
    start = time.perf_counter()
    await engine.apply([ApplyDocument("group", 1, "wide", RawJson(b"{}"))], "bench")
    ref = Ref("group", "wide")
    while not (await engine.get(ref)).is_ready:
        wants = [Want(_LEAF, IN_FLIGHT, "bench"), Want(_GROUP, 1, "bench")]
        claims = await engine.claim(wants, "bench")
        results = [
            Settlement(claim.lease, claim.stage, outcome if claim.stage is Stage.COMPOSE else Outcome(status=_STATUS))
            for claim in claims
        ]
        await engine.settle(results)
        if not claims:
            await engine.follow_up()
    return time.perf_counter() - start


def _children(count: int) -> Outcome:
    children = [ChildSpec("leaf", 1, f"c{i}", {"size": i}) for i in range(count)]
    edges: list[Any] = [
        DepEdge(Ref("leaf", f"c{i}"), Ref("leaf", f"c{i - i % 10}"), [ValueFlow("/source", "/id")])
        for i in range(count)
        if i % 10
    ]
    return Outcome(children=children, edges=edges)


_STATUS = RawJson(b'{"id":"x-1","ok":true}')

if __name__ == "__main__":
    import asyncio
    import sys

    for figure in asyncio.run(run(sys.argv[1] if len(sys.argv) > 1 else "small")):
        print(f"{figure.name:40} {figure.value:12,.1f} {figure.unit:12} {figure.budget:10} {figure.ok}")
