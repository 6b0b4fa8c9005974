"""Requests that wait for room in a peer, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from stdworker.bridge.peer import Peer
from stdworker.errors import Retry


@dataclass(slots=True, eq=False)
class _Waiter:
    """One request; `alone` wants a peer to itself."""

    granted: asyncio.Future[Peer]
    alone: bool


class Waiters:
    """A queue whose head is served as soon as `pick` finds a peer for it.

    `pick` gets whether the request must run alone and answers a peer with room, or None.
    """

    def __init__(self, pick: Callable[[bool], Peer | None]) -> None:
        self._pick = pick
        self._queue: deque[_Waiter] = deque()
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._queue)

    async def wait(self, alone: bool, deadline: float | None) -> Peer:
        """A peer in which room is reserved. Raises Retry at the deadline (`time.monotonic()`)."""
        waiter = _Waiter(self._loop.create_future(), alone)
        self._queue.append(waiter)
        timer = None if deadline is None else self._loop.call_at(deadline, _expire, waiter)
        try:
            return await waiter.granted
        except BaseException:
            self._forget(waiter)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def serve(self) -> None:
        """There may be room."""
        while self._queue:
            waiter = self._queue[0]
            if not waiter.granted.done():
                peer = self._pick(waiter.alone)
                if peer is None:
                    return
                peer.reserve(alone=waiter.alone)
                waiter.granted.set_result(peer)
            self._queue.popleft()

    def fail(self, failure: Exception) -> None:
        """Nobody will be served."""
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.granted.done():
                waiter.granted.set_exception(failure)

    def _forget(self, waiter: _Waiter) -> None:
        """A waiter that was cancelled, perhaps just after it was served."""
        granted = waiter.granted
        if granted.done() and not granted.cancelled() and granted.exception() is None:
            granted.result().unreserve()
        elif waiter in self._queue:
            self._queue.remove(waiter)
            self.serve()


def _expire(waiter: _Waiter) -> None:
    if not waiter.granted.done():
        text = "no process of the program had room for the task before its deadline"
        waiter.granted.set_exception(Retry(text, reason="DeadlineExceeded", code="deadline_exceeded"))
