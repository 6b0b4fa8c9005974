"""Plugins that watch tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from stdworker.model.task import Result, Task

FAILURES_MAX = 3  # of one hook; it is called no more after that

log = logging.getLogger("stdworker.plugins")


class Observer:
    """Calls `stdworker_task_started` and `stdworker_task_finished` of every plugin that has them.

    Made of (origin, pluggy's hooks of that plugin); false when nobody watches. A hook that fails harms no task.
    """

    def __init__(self, plugins: Iterable[tuple[str, Any]]) -> None:
        watching = list(plugins)
        self._started = _hooks(watching, "stdworker_task_started")
        self._finished = _hooks(watching, "stdworker_task_finished")

    def __bool__(self) -> bool:
        return bool(self._started or self._finished)

    def task_started(self, task: Task) -> None:
        for hook in self._started:
            hook(task=task)

    def task_finished(self, task: Task, result: Result) -> None:
        for hook in self._finished:
            hook(task=task, result=result)


class _Hook:
    """One hook of one plugin, with what it has done wrong so far."""

    def __init__(self, origin: str, name: str, caller: Callable[..., Any]) -> None:
        self.origin = origin
        self.name = name
        self._caller = caller
        self._failures = 0

    def __call__(self, **arguments: Any) -> None:
        if self._failures >= FAILURES_MAX:
            return
        try:
            self._caller(**arguments)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException:
            self._failures += 1
            last = ", for the last time" if self._failures == FAILURES_MAX else ""
            log.exception("%s: %s failed%s", self.origin, self.name, last)


def _hooks(plugins: Iterable[tuple[str, Any]], name: str) -> list[_Hook]:
    callers = ((origin, getattr(hooks, name)) for origin, hooks in plugins)
    return [_Hook(origin, name, caller) for origin, caller in callers if caller.get_hookimpls()]
