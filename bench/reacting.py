"""What reactors cost the resources that they watch, and those that they don't: the engine alone, in process."""

from __future__ import annotations

import statistics
import tempfile

from bench import engine
from bench.figure import Figure, at_most
from stdworker.cli.collector import spare_the_collector
from stdworker.engine.store.declarations import BindingDeclaration

NAME = "reacting"
BUDGET = "CPU of claim + settle with a reactor that watches something else ÷ without any ≤ 1.1"

RESOURCES = {"small": 200, "full": 20_000}
ROUNDS = {"small": 1, "full": 5}
SCENES = {"nothing": "", "another kind": "group", "each resource": "leaf"}
_REACTOR = {
    "kind": "pager",
    "kind_version": 1,
    "reactions": [{"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}],
}


async def run(size: str) -> list[Figure]:
    """The scenes take turns, each round on a new store."""
    spare_the_collector()  # as `converge serve` does
    costs: dict[str, list[float]] = {scene: [] for scene in SCENES}
    for _ in range(ROUNDS[size]):
        for scene, watched in SCENES.items():
            costs[scene].append(await _cost(watched, RESOURCES[size]))
    nothing, another, each = (statistics.median(costs[scene]) for scene in SCENES)
    return [
        Figure("CPU of claim + settle, nothing watched", nothing, "µs a task"),
        Figure("CPU of claim + settle, another kind watched", another, "µs a task"),
        at_most("  the one ÷ the other", another / nothing, "", 1.1),
        Figure("CPU of claim + settle, each resource watched", each, "µs a task"),
    ]


async def _cost(watched: str, resources: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with engine.opened(f"sqlite:///{folder}/bench.db") as running:
            if watched:
                await running.publish_kind(_REACTOR, "bench")
                await running.put_binding(BindingDeclaration("told", watched, "synced", "pager"), "bench")
            await engine.apply(running, resources)
            _, cpu = await engine.drain(running)
    return cpu
