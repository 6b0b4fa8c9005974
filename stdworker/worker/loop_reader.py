"""Reading, from another thread, what belongs to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

ANSWER_SECONDS = 1.0  # a loop that doesn't answer so long stands still
TRIES_MAX = 3

T = TypeVar("T")


class LoopReader:
    """Calls functions on the loop that it was made on, and never waits for long."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def __call__(self, read: Callable[[], T]) -> T:
        """What `read` answers on the loop; on this thread if the loop stands still: it then changes little."""
        answer: Future[T] = Future()

        def answer_it() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(read())
                except Exception as error:
                    answer.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(answer_it)
            return answer.result(ANSWER_SECONDS)
        except (TimeoutError, RuntimeError):  # it stands still, or is closed
            answer.cancel()
        return _insist(read)


def _insist(read: Callable[[], T]) -> T:
    for _ in range(TRIES_MAX - 1):
        try:
            return read()
        except RuntimeError:  # a dictionary changed while it was read
            continue
    return read()
