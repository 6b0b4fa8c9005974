"""Being the parent of orphans: what a program leaves behind becomes a child of this process, and so can be found.

Linux hands the children of a process that ends to its nearest ancestor that asked for them (a *subreaper*), and
there to the main thread. A process whose number is 1 gets them anyway.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PAGE_BYTES = 4_096  # the most that one read of the list gives
_PID_BYTES_MAX = 12

_held = 0  # how many asked; the kernel keeps one answer for the whole process
_before = 0  # what held before the first did


class Children:
    """The children of this process, orphans that it got among them, while it is a subreaper.

    Raises OSError when the system doesn't let it be one, or keeps no list.
    """

    def __init__(self) -> None:
        own = os.getpid()
        self._fd = os.open(f"/proc/{own}/task/{own}/children", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _hold()
        except OSError:
            os.close(self._fd)
            raise

    def pids(self) -> set[bytes]:
        """Their numbers, as text, in microseconds."""
        listed = chunk = os.pread(self._fd, _PAGE_BYTES, 0)
        while len(chunk) > _PAGE_BYTES - _PID_BYTES_MAX:
            chunk = os.pread(self._fd, _PAGE_BYTES, len(listed))
            listed += chunk
        return set(listed.split())

    def close(self) -> None:
        os.close(self._fd)
        _release()


class AllProcesses:
    """Every process of the system: slower, and good enough to find those that carry a mark."""

    def pids(self) -> set[bytes]:
        """None while this process has no descriptor left to look."""
        try:
            return {os.fsencode(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
        except OSError:
            return set()

    def close(self) -> None:
        pass


def _hold() -> None:
    global _held, _before
    if not _held:
        before = ctypes.c_int()
        prctl(_PR_GET_CHILD_SUBREAPER, ctypes.addressof(before))
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _before = before.value
    _held += 1


def _release() -> None:
    global _held
    _held -= 1
    if not _held:
        with suppress(OSError):
            prctl(_PR_SET_CHILD_SUBREAPER, _before)


def prctl(option: int, argument: int) -> None:
    """Raises OSError when there is no such call, or the system refuses it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).prctl
    except AttributeError:
        raise OSError("this system has no prctl") from None
    if call(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
