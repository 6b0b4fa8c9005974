"""The pools of one kind: one for each launch config in use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from stdworker.bridge.pool import Pool
from stdworker.bridge.program import Program
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.errors import Released, Retry

POOL_IDLE_SECONDS = 60.0


class Pools:
    """At most `pools_max` at a time: the one that was idle for the longest time makes room, else a task waits.

    Those that were idle for `POOL_IDLE_SECONDS` are closed, but for the one of the key `kept`.
    """

    def __init__(self, runtime: BridgeRuntime, ready_changed: Callable[[], None]) -> None:
        self.kept: bytes | None = None
        self._runtime = runtime
        self._ready_changed = ready_changed
        self._pools: dict[bytes, Pool] = {}
        self._room = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._pools.values())

    def find(self, program: Program) -> Pool | None:
        """The pool of the program, if there is one."""
        return self._pools.get(program.launch.pool_key)

    def open(self, program: Program, *, evict: bool) -> Pool | None:
        """The pool of the program; None when there may be no more pools, and none is idle that may be evicted."""
        key = program.launch.pool_key
        if key not in self._pools:
            full = len(self._pools) >= program.launch.pools_max
            if self._closed or (full and not (evict and self._evict())):
                return None
            self._pools[key] = Pool(program, self._ready_changed)
            self._arm_idle_timer()
        return self._pools[key]

    async def wait(self, program: Program, deadline: float | None) -> Pool:
        """The pool of the program, once there is one. Raises Retry at the deadline, Released when closed."""
        try:
            async with asyncio.timeout_at(deadline):
                while not self._closed:
                    pool = self.open(program, evict=True)
                    if pool is not None:
                        return pool
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            text = f"no pool became free before the task's deadline; pools_max is {program.launch.pools_max}"
            raise Retry(text, reason="DeadlineExceeded", code="deadline_exceeded") from None
        raise Released("the provider is closed", reason="ShuttingDown", code="shutting_down")

    def freed(self) -> None:
        """A pool may have become idle."""
        self._room.set()

    def close_one(self, pool: Pool) -> None:
        """In the background: what it still runs is given back."""
        del self._pools[pool.program.launch.pool_key]
        self._runtime.background(pool.close())

    async def close(self) -> None:
        self._closed = True
        self._room.set()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        pools = list(self)
        self._pools.clear()
        await asyncio.gather(*(pool.close() for pool in pools))

    def _evict(self) -> bool:
        """False when all are busy."""
        idle = [pool for pool in self if not pool.busy]
        if idle:
            self.close_one(min(idle, key=lambda pool: pool.used_at))
        return bool(idle)

    def _arm_idle_timer(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(POOL_IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        self._idle_timer = None
        longest = time.monotonic() - POOL_IDLE_SECONDS
        for key, pool in list(self._pools.items()):
            if key != self.kept and not pool.busy and pool.used_at <= longest:
                self.close_one(pool)
        if self._pools:
            self._arm_idle_timer()
