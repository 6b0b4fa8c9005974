"""The worker's side of the guardian: which process groups must not outlive this process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CLOSE_SECONDS = 5.0
REMOVE_SECONDS = 0.1  # a number is not given to another process so soon

_OUTLIVED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PROGRAM = Path(__file__).with_name("guardian_program.py")


class Guardian:
    """If it is killed, the next change of the list starts another one that knows all groups.

    `mark` is the start of an environment variable, `NAME=value…`, that every process has which must not outlive this
    one: it finds those that left their group, and those of a group that was started but not yet added.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._groups: set[int] = set()
        self._removed: list[int] = []  # not told yet
        self._telling: asyncio.TimerHandle | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def open(self) -> None:
        """Start it if it doesn't run. Raises OSError when it can't be started."""
        if self._process is None:
            self._replace()

    def add(self, group: int) -> None:
        self._groups.add(group)
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """It is told with the next that is added, or soon: each word wakes it, and a program may last a millisecond.

        If it was killed and can't be started again then, the next `add` tries to.
        """
        self._groups.discard(group)
        if self._process is None:
            return
        self._removed.append(group)
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(REMOVE_SECONDS, self._tell_removed)

    async def close(self) -> None:
        """End the guardian; when groups are still on its list, it kills them and all that has the mark."""
        removed = self._take_removed()
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        _write(process, removed if self._groups else b"=\n")
        process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tell(self, line: bytes) -> None:
        if self._process is None or not _write(self._process, self._take_removed() + line):
            self._replace()

    def _tell_removed(self) -> None:
        self._telling = None
        if self._process is not None:
            with suppress(OSError):
                self._tell(b"")

    def _take_removed(self) -> bytes:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        removed, self._removed = self._removed, []
        return b"".join(b"-%d\n" % group for group in removed)

    def _replace(self) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(OSError), self._process:
                pass
            self._process = None
        self._process = _start(self._mark)
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        _write(self._process, b"".join(b"+%d\n" % group for group in self._groups))


def _start(mark: str) -> subprocess.Popen[bytes]:
    """A blocked signal stays blocked over exec: there is no moment in which it could end the guardian."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _OUTLIVED)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), mark],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _write(process: subprocess.Popen[bytes], line: bytes) -> bool:
    """False when the guardian is gone, or so stuck that its pipe is full."""
    assert process.stdin is not None
    try:
        return os.write(process.stdin.fileno(), line) == len(line)
    except OSError:
        return False
