"""Which processes belong to a program, as /proc knows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stdworker.process import procfs


def descendants(leader: int, mark: str) -> list[str]:
    """What is alive of the leader's group and session, and what left both but has `mark` in its environment."""
    return [
        f"{procfs.name(pid)} ({pid})"
        for pid, found in _processes()
        if pid != leader and not found.zombie and (leader in (found.group, found.session) or _is_marked(pid, mark))
    ]


def is_idle(leader: int) -> bool:
    """Does everything in the leader's group sleep?"""
    group = [found for _, found in _processes() if found.group == leader]
    return bool(group) and all(found.sleeps or found.zombie for found in group)


def _processes() -> Iterator[tuple[int, procfs.Stat]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            found = procfs.stat(int(folder.name))
            if found is not None:
                yield int(folder.name), found


def _is_marked(pid: int, mark: str) -> bool:
    return mark.encode() in procfs.environment(pid).split(b"\0")
