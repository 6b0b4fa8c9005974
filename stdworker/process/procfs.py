"""What /proc says about one process. Whatever can't be read, since it has ended or is hidden, is empty or None."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Stat(NamedTuple):
    zombie: bool
    group: int
    session: int
    sleeps: bool


def environment(pid: int) -> bytes:
    """The environment that the program was started with, each variable ended by a NUL. A zombie has none."""
    return _read(pid, "environ")


def command_line(pid: int) -> bytes:
    """Each argument ended by a NUL. A zombie has none, and neither has who is between two programs, in exec."""
    return _read(pid, "cmdline")


def name(pid: int) -> str:
    """The program's name, at most 15 bytes of it."""
    return _read(pid, "comm").decode("utf-8", "replace").strip()


def stat(pid: int) -> Stat | None:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    if len(fields) < 4:
        return None
    return Stat(fields[0] in (b"Z", b"X"), int(fields[2]), int(fields[3]), sleeps=fields[0] == b"S")


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""
