"""What all programs of one worker process share: the guardian, the counters, and the work of ending processes."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import signal
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stdworker.errors import Released, Retry, StdworkerError
from stdworker.process.command import Command
from stdworker.process.guardian import Guardian
from stdworker.process.memory import Memory, MemoryGroup, own_group
from stdworker.process.orphans import MARK, Leaked, Orphans
from stdworker.process.spawn import Process, default_signals, spawn
from stdworker.process.stop import Step, stop

BUSY_TRIES_MAX = 5
STARTS_A_TURN = 16  # of the loop: each blocks it, and those that have ended meanwhile go first
LEAKED_SHOWN_MAX = 5
BUSY_SECONDS = 0.05  # between tries when the program file is being written

log = logging.getLogger("stdworker.bridge")


@dataclass(slots=True)
class Counters:
    """What happened so far, for metrics."""

    spawned: int = 0
    restarts: int = 0
    stray_lines: int = 0
    dropped_answers: int = 0
    unstoppable: int = 0
    leaked_descendants: int = 0  # that had left their program's group


class BridgeRuntime:
    """One for each worker process, shared by its providers; the last of them to close closes it.

    `variables` is the environment that programs get their allow-listed part of, by default the process's own.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self.variables = os.environ if variables is None else variables
        self.counters = Counters()
        self.random = random.Random()  # noqa: S311 (jitter)
        self.processes: set[Process] = set()
        self.users = 0
        self._starts = asyncio.Semaphore(STARTS_A_TURN)
        self._ids = itertools.count(1)
        self._orphans = Orphans(self._on_leak)
        self._guardian = Guardian(f"{MARK}={self._orphans.nonce}-")
        self._memory: Memory | None = None
        self._memory_groups: dict[Process, MemoryGroup] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._signals: ExitStack | None = None
        self._closed = False

    def new_id(self) -> str:
        """An id that no other request to a program of this process ever has."""
        return str(next(self._ids))

    async def start(self, command: Command) -> Process:
        """Start a program.

        Raises ConfigError for what an operator must mend, Retry for what passes by itself, Released when closed.
        """
        await self._starts.acquire()
        asyncio.get_running_loop().call_soon(self._starts.release)
        for _ in range(BUSY_TRIES_MAX - 1):
            try:
                return self._spawn(command)
            except StdworkerError as error:
                if error.code != "file_busy":
                    raise
            await asyncio.sleep(BUSY_SECONDS)
        return self._spawn(command)

    async def stop(self, process: Process, steps: Sequence[Step] = (), *, killed_by: str | None = None) -> None:
        """End a process and its group, whatever happens to the caller meanwhile."""
        await asyncio.shield(self.background(self._stop(process, steps, killed_by)))

    def release(self, process: Process) -> None:
        """Give back all that an ended process held; what is left of its descendants is killed."""
        process.close()
        self.processes.discard(process)
        self._guardian.remove(process.pid)
        self._orphans.ended(process.pid)
        group = self._memory_groups.pop(process, None)
        if group is not None:
            self.background(group.end())

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something that must end before `close` does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Kill every program that is left, end the guardian, restore what was changed. Nothing starts any more."""
        self._closed = True
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        for process in list(self.processes):
            await self._stop(process, (), "shutdown")
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._orphans.close()
        await self._guardian.close()
        if self._signals is not None:
            self._signals.close()
            self._signals = None

    def _spawn(self, command: Command) -> Process:
        if self._closed:
            raise Released("no program is started any more", reason="ShuttingDown", code="shutting_down")
        memory = self._open()
        mark = self._orphans.new_mark()
        confinement, group = memory.confine(command.confinement, mark)
        marked = replace(command, environment={**command.environment, MARK: mark}, confinement=confinement)
        try:
            process = spawn(marked, asyncio.get_running_loop(), partial(memory.explain, confinement, group))
        except BaseException:
            if group is not None:
                self.background(group.end())
            raise
        if group is not None:
            self._memory_groups[process] = group
        self.counters.spawned += 1
        self.processes.add(process)
        self._orphans.started(process.pid, mark)
        try:
            self._guardian.add(process.pid)
        except OSError as error:
            self.background(self._stop(process, (), "limit"))
            raise _unguarded(error) from None
        return process

    def _open(self) -> Memory:
        """Before the first program: nothing that it does may escape."""
        if self._signals is None:
            self._signals = ExitStack()
            self._signals.enter_context(default_signals())
        elif signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # since then: no exit status would be kept for us
            self._signals.enter_context(default_signals())
        try:
            self._orphans.open()
            self._guardian.open()
        except OSError as error:
            raise _unguarded(error) from None
        if self._memory is None:
            self._memory = Memory(own_group(), self._own_processes)
        return self._memory

    def _own_processes(self) -> set[int]:
        guardian = {self._guardian.pid} if self._guardian.pid is not None else set()
        return {os.getpid()} | guardian | self._orphans.marked()

    def _on_leak(self, leaked: Sequence[Leaked]) -> None:
        killed = [found for found in leaked if found.killed]
        spared = [found for found in leaked if not found.killed]
        self.counters.leaked_descendants += len(killed)
        self.counters.unstoppable += len(spared)
        if killed:
            log.warning("%s: killed descendants that had left their process group: %s", *_named(killed))
        if spared:
            log.error("%s: descendants of another user can't be killed by this one: %s", *_named(spared))

    async def _stop(self, process: Process, steps: Sequence[Step], killed_by: str | None) -> None:
        if not await stop(process, steps, killed_by=killed_by):
            self.counters.unstoppable += 1
            log.error("process %d didn't end by SIGKILL; it is stuck inside the kernel", process.pid)
        self.release(process)


def _named(leaked: Sequence[Leaked]) -> tuple[str, str]:
    """Of which kinds, and which they are."""
    kinds = ", ".join(sorted({found.kind or "a program" for found in leaked}))
    shown = ", ".join(f"{found.pid} ({found.name})" for found in leaked[:LEAKED_SHOWN_MAX])
    rest = f" and {len(leaked) - LEAKED_SHOWN_MAX} more" if len(leaked) > LEAKED_SHOWN_MAX else ""
    return kinds, shown + rest


def _unguarded(error: OSError) -> Retry:
    text = f"the process that guards programs can't be started: {error.strerror or error}"
    return Retry(text, code="spawn_refused", reason="SpawnRefused")
