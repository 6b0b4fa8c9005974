"""Which processes belong to a program, as /proc knows them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROUNDS_MAX = 10  # of looking for what a program that forks on and on has left

PROC = Path("/proc")


class _Process(NamedTuple):
    pid: int
    name: str
    state: str
    group: int
    session: int


def descendants(leader: int, mark: str) -> list[str]:
    """What is alive of the leader's group and session, and what left both but has `mark` in its environment."""
    return [
        f"{process.name} ({process.pid})"
        for process in _processes()
        if process.pid != leader
        and process.state not in "ZX"
        and (leader in (process.group, process.session) or _is_marked(process.pid, mark))
    ]


def kill_marked(mark: str) -> None:
    """Kill what is left of a program, wherever it went, until nothing new appears."""
    for _ in range(ROUNDS_MAX):
        marked = [
            process.pid for process in _processes() if process.state not in "ZX" and _is_marked(process.pid, mark)
        ]
        if not marked:
            return
        for pid in marked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def is_idle(leader: int) -> bool:
    """Does everything in the leader's group sleep?"""
    group = [process for process in _processes() if process.group == leader]
    return bool(group) and all(process.state in "SZ" for process in group)


def _processes() -> Iterator[_Process]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                head, _, rest = (folder / "stat").read_text().rpartition(")")
            except OSError:
                continue
            fields = rest.split()
            yield _Process(
                int(folder.name), head.partition("(")[2], fields[0], group=int(fields[2]), session=int(fields[3])
            )


def _is_marked(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
