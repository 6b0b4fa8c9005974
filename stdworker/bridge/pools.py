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

    Those that were idle for `POOL_IDLE_SECONDS` are closed, but for the one to `keep`. At most as many again are on
    their way to the end: programs that are slow to end can't pile up.
    """

    def __init__(self, runtime: BridgeRuntime, ready_changed: Callable[[], None]) -> None:
        self._kept: bytes | None = None
        self._runtime = runtime
        self._ready_changed = ready_changed
        self._pools: dict[bytes, Pool] = {}
        self._ending = 0
        self._room = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._pools.values())

    def keep(self, program: Program | None) -> None:
        """Never close the pool of this program for being idle: the readiness of the kind depends on it."""
        self._kept = program.launch.pool_key if program is not None else None

    def find(self, program: Program) -> Pool | None:
        """The pool of the program, if there is one."""
        return self._pools.get(program.launch.pool_key)

    def open(self, program: Program, *, evict: bool) -> Pool | None:
        """The pool of the program; None when there may be no more pools now, and none is idle that may be evicted."""
        key = program.launch.pool_key
        if key not in self._pools:
            most = program.launch.pools_max
            full = len(self._pools) >= most
            if self._closed or self._ending >= most or (full and not (evict and self._evict())):
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

    def close_idle(self, program: Program) -> None:
        """Close the pool of a program that is the default no more; while it is busy, it goes when it was idle."""
        pool = self.find(program)
        if pool is not None and not pool.busy:
            self._close_one(pool)

    async def close(self) -> None:
        self._closed = True
        self._room.set()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        pools = list(self)
        self._pools.clear()
        await asyncio.gather(*(pool.close() for pool in pools))

    def _close_one(self, pool: Pool) -> None:
        del self._pools[pool.program.launch.pool_key]
        self._ending += 1
        self._runtime.background(self._end(pool))

    async def _end(self, pool: Pool) -> None:
        try:
            await pool.close()
        finally:
            self._ending -= 1
            self._room.set()

    def _evict(self) -> bool:
        """False when all are busy."""
        idle = [pool for pool in self if not pool.busy]
        if idle:
            self._close_one(min(idle, key=lambda pool: pool.used_at))
        return bool(idle)

    def _arm_idle_timer(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(POOL_IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self._idle_timer = None
        longest = time.monotonic() - POOL_IDLE_SECONDS
        for key, pool in list(self._pools.items()):
            if key != self._kept and not pool.busy and pool.used_at <= longest:
                self._close_one(pool)
        if self._pools:
            self._arm_idle_timer()
