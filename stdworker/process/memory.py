"""Memory as the kernel accounts for it, in control groups of version 2: limits, and evidence of kills.

Layout of /sys/fs/cgroup: the kernel's Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from stdworker.process.confinement import Confinement
from stdworker.process.exits import Exit

NOTE_SECONDS = 1.0  # how often the count of kills is read while programs start
END_SECONDS = 5.0
END_POLL_SECONDS = 0.01
MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
VMSTAT = Path("/proc/vmstat")

_LEAF = "stdworker"
_CONTROLLER = "memory"
_VERSION_2 = "0::/"
_KILLED_IN_SHELL = 137  # 128 + SIGKILL
_SENT = "the kernel has killed nobody for lack of memory: somebody sent it"

log = logging.getLogger("stdworker.process")


def control_group(mount: Path = MOUNT, own: Path = OWN) -> Path | None:
    """The control group of this process; None where there is no version 2."""
    with suppress(OSError):
        for line in own.read_text().splitlines():
            if line.startswith(_VERSION_2):
                return mount / line.removeprefix(_VERSION_2)
    return None


def own_group() -> Path | None:
    """The control group of this process; None where version 2 isn't what holds memory."""
    group = control_group()
    return group if group is not None and _CONTROLLER in _words(group / "cgroup.controllers") else None


class Memory:
    """What one worker knows of it, and the groups that it makes for its programs."""

    def __init__(self, group: Path | None, processes: Callable[[], set[int]]) -> None:
        self._kills = OomKills(group)
        self._group = group
        self._processes = processes
        self._groups: MemoryGroups | None = None
        self._tried = False

    def confine(self, confinement: Confinement | None, name: str) -> tuple[Confinement | None, MemoryGroup | None]:
        """Before a program starts: where its memory limit, if it has one, is held."""
        self._kills.note()
        if confinement is None or confinement.memory_bytes is None:
            return confinement, None
        if not self._tried:
            self._tried = True
            self._groups = MemoryGroups.under(self._group, self._processes())
        if self._groups is None:
            return confinement, None
        try:
            group = self._groups.create(name, confinement.memory_bytes)
        except OSError as error:
            log.warning("a memory limit is held by RLIMIT_DATA: the cgroup can't be made: %s", error)
            return confinement, None
        return replace(confinement, memory_group=group.path), group

    def explain(self, confinement: Confinement | None, group: MemoryGroup | None, ended: Exit) -> str:
        """What is known about a bad end that was not our doing."""
        certain = group.evidence() if group is not None else ""
        if certain:
            return certain
        limit = confinement.explain(ended) if confinement is not None else ""
        if ended.signal != "SIGKILL" and ended.code != _KILLED_IN_SHELL:
            return limit
        evidence = self._kills.evidence()
        return limit if evidence is None else evidence or limit or _SENT


class OomKills:
    """How often the kernel killed for lack of memory, in the group of this process or else on the host."""

    def __init__(self, group: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        file = group / "memory.events" if group is not None else None
        self._file = file if file is not None and os.path.exists(file) else VMSTAT
        self._group = group if self._file != VMSTAT else None
        self._clock = clock
        self._noted_at = clock()
        self._noted = _count(self._file)

    def note(self) -> None:
        """Kills until now are no evidence later on. Reads the count at most every `NOTE_SECONDS`."""
        now = self._clock()
        if now - self._noted_at >= NOTE_SECONDS:
            self._noted_at = now
            self._noted = _count(self._file)

    def evidence(self) -> str | None:
        """Whether a process that just died of SIGKILL may be one of them; None when the system keeps no count."""
        count = _count(self._file)
        if count is None or self._noted is None:
            return None
        killed = count - self._noted
        if killed <= 0:
            return ""
        seconds = max(1, round(self._clock() - self._noted_at))
        where = "on this host" if self._group is None else f"in this worker's cgroup (limit {_limit(self._group)})"
        who = "1 process" if killed == 1 else f"{killed} processes"
        return f"out of memory: in the last {seconds} s the kernel killed {who} {where}"


class MemoryGroups:
    """Makes a control group for each program that has a memory limit."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    @classmethod
    def under(cls, group: Path | None, processes: set[int]) -> MemoryGroups | None:
        """Below the group of this process, if the system lets us; else None.

        A group that has members can't hand out memory to groups below it. So this process and its children,
        `processes`, move to a leaf of their own first; where others share the group that is no use, and is undone.
        """
        if group is None or not os.access(group, os.W_OK):
            return None
        if _CONTROLLER in _words(group / "cgroup.subtree_control"):
            return cls(group)
        leaf = group / _LEAF
        try:
            leaf.mkdir(exist_ok=True)
            _move(processes, leaf)
            (group / "cgroup.subtree_control").write_text(f"+{_CONTROLLER}")
        except OSError as error:
            log.info("memory limits are held by RLIMIT_DATA, not by cgroups: %s", error)
            with suppress(OSError):
                _move(processes, group)
                leaf.rmdir()
            return None
        return cls(group)

    def create(self, name: str, memory_bytes: int) -> MemoryGroup:
        """Raises OSError."""
        path = self._parent / f"{_LEAF}-{name}"
        path.mkdir()
        try:
            (path / "memory.max").write_text(str(memory_bytes))
            with suppress(OSError):  # without swap accounting there is no such file
                (path / "memory.swap.max").write_text("0")
        except OSError:
            path.rmdir()
            raise
        return MemoryGroup(path, memory_bytes)


class MemoryGroup:
    """The control group of one program."""

    def __init__(self, path: Path, memory_bytes: int) -> None:
        self.path = path
        self._memory_bytes = memory_bytes

    def evidence(self) -> str:
        """ "" when nobody of this group was killed for lack of memory."""
        if not _count(self.path / "memory.events"):
            return ""
        return f"out of memory: the kernel killed it at limits.memory_bytes ({self._memory_bytes})"

    async def end(self) -> None:
        """Kill everybody in it, wherever they went, and remove it; waits at most `END_SECONDS` for that."""
        with suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + END_SECONDS
        while not self.remove():
            if time.monotonic() > deadline:
                log.warning("the cgroup %s can't be removed: somebody is still in it", self.path)
                return
            await asyncio.sleep(END_POLL_SECONDS)

    def remove(self) -> bool:
        """False while somebody is in it."""
        try:
            self.path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def _move(processes: set[int], group: Path) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _count(file: Path) -> int | None:
    """The number of kills; None where the file doesn't say."""
    words = _words(file)
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else None


def _limit(group: Path) -> str:
    """The nearest limit that applies to the group."""
    for folder in (group, *group.parents):
        words = _words(folder / "memory.max")
        if words and words[0] != "max":
            return f"{words[0]} bytes"
    return "that of the host"
