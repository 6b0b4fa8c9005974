"""Leases that no stream of this broker holds any more: given back at once, or kept for a worker that may return."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from stdworker.engine.broker.session import Running
from stdworker.engine.reconcile import Engine
from stdworker.model.task import Lease


class Lost(NamedTuple):
    """A task whose stream broke, and the monotonic instant until which its worker may claim it back."""

    task: Running
    until: float


class Releaser:
    """Gives leases back to the store, in bulk, for as long as it takes."""

    def __init__(self, engine: Engine, broker: str) -> None:
        self._engine = engine
        self._broker = broker
        self._lost: dict[str, Lost] = {}
        self._waiting: dict[bool, list[Lease]] = {True: [], False: []}
        self._added = asyncio.Event()

    def release(self, leases: Iterable[Lease], *, counted: bool) -> None:
        """Give leases back; `counted` when the worker was lost without a goodbye, which is an attempt."""
        self._waiting[counted].extend(leases)
        self._added.set()

    def keep(self, tasks: Iterable[Running], until: float) -> None:
        """The stream broke: keep the leases until then, so that a worker that returns loses nothing."""
        self._lost.update((task.lease.token, Lost(task, until)) for task in tasks)

    def reclaim(self, lease: Lease) -> Running:
        """The worker of a lost lease is back, or the lease comes from another broker."""
        lost = self._lost.pop(lease.token, None)
        return lost.task if lost else Running(lease)

    def expire(self, now: float) -> None:
        """Give up on the workers that didn't return in time."""
        over = [token for token, lost in self._lost.items() if lost.until <= now]
        self.release([self._lost.pop(token).task.lease for token in over], counted=True)

    def give_up(self) -> None:
        """Give back all that is kept, uncounted: this broker is going away, not the worker."""
        self.release([lost.task.lease for lost in self._lost.values()], counted=False)
        self._lost.clear()

    async def tick(self) -> None:
        """Give back what waits; waits for something."""
        await self._added.wait()
        await self.flush()

    async def flush(self) -> None:
        """Store what waits; it goes on waiting if that fails."""
        self._added.clear()
        for counted in (True, False):
            batch, self._waiting[counted] = self._waiting[counted], []
            if not batch:
                continue
            try:
                await self._engine.release(batch, self._broker, counted=counted)
            except BaseException:
                self.release(batch, counted=counted)
                raise
