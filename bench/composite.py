"""A composite of many children, over the whole path: its apply, one compose, every child's work, all Ready."""

from __future__ import annotations

import statistics
import sys
import time

import httpx

from bench.figure import Figure, at_most
from bench.processes import System, postgres, system
from stdworker.testing.postgres import PostgresServer

NAME = "composite"
BUDGET = "10,000 children with edges and flowing values, apply → all Ready ≤ 5 s, on both stores"

CHILDREN = {"small": 50, "full": 10_000}
ROUNDS = {"small": 1, "full": 3}
WAIT_SECONDS = 20
TIMED_OUT = 408

# Every tenth child gives the nine after it a value that they wait for.
WORKER = """
import asyncio, signal
from stdworker import ChildSpec, DepEdge, KindVersion, Outcome, Ref, ValueFlow, serve

class Group:
    kind = KindVersion("group")
    async def work(self, request):
        count = request.resource.spec["children"]
        names = [f"c{i}" for i in range(count)]
        children = [ChildSpec("leaf", 1, name, {"size": i}) for i, name in enumerate(names)]
        flows = [ValueFlow("/source", "/id")]
        edges = [
            DepEdge(Ref("leaf", name), Ref("leaf", names[i - i % 10]), flows) for i, name in enumerate(names) if i % 10
        ]
        return Outcome(children=children, edges=edges)
    async def on_config(self, config): pass
    async def ready(self): return True

class Leaf:
    kind = KindVersion("leaf")
    async def work(self, request): return Outcome(status={"id": request.resource.name})
    async def on_config(self, config): pass
    async def ready(self): return True

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await serve([Group(), Leaf()], stop=stop)

asyncio.run(main())
"""
REACTIONS = {
    "leaf": {"name": "make", "trigger": "specChange", "emits": ["status"]},
    "group": {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]},
}


async def run(size: str) -> list[Figure]:
    rounds, children = range(ROUNDS[size]), CHILDREN[size]
    figures = [_figure("SQLite", [_measure("", children) for _ in rounds], children)]
    with postgres() as server:
        if server:
            figures.append(_figure("Postgres", [_on_postgres(server, children) for _ in rounds], children))
    return figures


def _figure(store: str, seconds: list[float], children: int) -> Figure:
    return at_most(f"{store}: composite of {children:,}", statistics.median(seconds), "s", 5)


def _on_postgres(server: PostgresServer, children: int) -> float:
    with server.database() as url:
        return _measure(url, children)


def _measure(database_url: str, children: int) -> float:
    with (
        system(database_url) as running,
        httpx.Client(base_url=f"{running.rest}/api/v1", timeout=2 * WAIT_SECONDS) as http,
    ):
        for kind, reaction in REACTIONS.items():
            manifest = {"kind": kind, "kind_version": 1, "reactions": [reaction]}
            http.put(f"/kinds/{kind}/manifest", json=manifest).raise_for_status()
        running.start_worker([sys.executable, "-c", WORKER], WORKER_MAX_PARALLEL="400")
        _apply(running, http, "warm-up", 0)
        return _apply(running, http, "wide", children)


def _apply(running: System, http: httpx.Client, name: str, children: int) -> float:
    """Seconds from the apply to Ready; a composite is Ready after all its children."""
    start = time.perf_counter()
    body = {"kind": "group", "kind_version": 1, "name": name, "spec": {"children": children}}
    http.post("/resources", json=body).raise_for_status()
    wait = {"for": "ready", "timeout": f"{WAIT_SECONDS}s"}
    while (answer := http.get(f"/resources/group/{name}/wait", params=wait)).status_code == TIMED_OUT:
        running.check()
    answer.raise_for_status()
    return time.perf_counter() - start
