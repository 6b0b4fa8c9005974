"""Starting a program: its own session, fds 0 to 2 only, default signals, by the vfork path.

`preexec_fn`, `user` and `group` of `subprocess` are never used: they fork a process whose other threads, gRPC's
among them, hold locks, and some of those children die before exec.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from stdworker.errors import ConfigError, Retry
from stdworker.process.command import Command
from stdworker.process.diagnose import diagnose, require_startable
from stdworker.process.exits import Exit
from stdworker.process.pipes import PipeReader, PipeWriter

Explain = Callable[[Exit], str]

log = logging.getLogger("stdworker.process")

LOST_STATUS = 255
_LOST_CAUSE = "something in the worker waits for every child, or ignores SIGCHLD"
_RESTORED_BY_SUBPROCESS = (signal.SIGPIPE, getattr(signal, "SIGXFZ", None), getattr(signal, "SIGXFSZ", None))


class Process:
    """One running program, leader of a process group of its own.

    `exited` resolves when the leader has ended. The zombie is kept until `close`, so that the group's number
    can't be reused before the group is killed. `explain` is asked what is known about a bad end.
    """

    def __init__(
        self, popen: subprocess.Popen[bytes], pipes: _Pipes, loop: asyncio.AbstractEventLoop, explain: Explain
    ) -> None:
        self._pidfd = os.pidfd_open(popen.pid)
        self.pid = popen.pid
        self.killed_by: str | None = None
        self.exited: asyncio.Future[Exit] = loop.create_future()
        self.stdin = PipeWriter(loop, pipes.stdin)
        self.stdout: PipeReader | None = None
        self.stderr: PipeReader | None = None
        self._explain = explain
        self._pipes = pipes
        self._popen = popen
        self._loop = loop
        loop.add_reader(self._pidfd, self._on_exit)

    @property
    def alive(self) -> bool:
        return not self.exited.done()

    def read(
        self,
        on_stdout: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        """Begin to read both outputs; `on_end` follows the last byte of stdout."""
        self.stdout = PipeReader(self._loop, self._pipes.stdout, on_stdout, on_end)
        self.stderr = PipeReader(self._loop, self._pipes.stderr, on_stderr, _ignore)

    def signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Kill what is left of the group, reap the leader if it ended, close every descriptor."""
        if self._pidfd < 0:  # the number may already be somebody else's
            return
        self.signal_group(signal.SIGKILL)
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        if self._popen.poll() is None:
            self._popen.returncode = LOST_STATUS  # nobody could kill it: from now on it is an orphan like others
        self.stdin.close()
        for reader, fd in ((self.stdout, self._pipes.stdout), (self.stderr, self._pipes.stderr)):
            if reader is not None:
                reader.close()
            else:
                os.close(fd)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        if self.exited.done():
            return
        returncode = _peek(self._pidfd)
        if returncode is None:
            log.error("the exit status of process %d was taken by something else in this process", self.pid)
            self.exited.set_result(Exit(LOST_STATUS, None, self.killed_by, f"the real one is lost: {_LOST_CAUSE}"))
            return
        ended = Exit.from_returncode(returncode, self.killed_by)
        if ended.code != 0 and self.killed_by is None:
            ended = replace(ended, cause=self._explain(ended))
        self.exited.set_result(ended)


class _Pipes(NamedTuple):
    """The host's ends."""

    stdin: int
    stdout: int
    stderr: int


def spawn(command: Command, loop: asyncio.AbstractEventLoop, explain: Explain = lambda _: "") -> Process:
    """Start a program. Raises what `diagnose` makes of the reason when it can't be."""
    if command.confinement is not None:
        require_startable(command)
    fds: list[int] = []
    try:
        for _ in _Pipes._fields:
            fds += os.pipe2(os.O_CLOEXEC)
        popen = _popen(command, fds[0], fds[3], fds[5])
        try:
            process = Process(popen, _Pipes(fds[1], fds[2], fds[4]), loop, explain)
        except OSError as error:  # no descriptor left for the pidfd, or no process any more
            popen.kill()
            popen.wait()
            if error.errno == errno.ESRCH:
                raise Retry(f"the exit status is lost: {_LOST_CAUSE}", code="exit_lost", reason="ExitLost") from None
            raise
        fds = [fds[0], fds[3], fds[5]]
        return process
    except OSError as error:
        raise diagnose(error, command) from None
    except ValueError as error:  # a NUL character in an argument or variable
        raise ConfigError(f"{command.path} can't be started: {error}", code="nul_character") from None
    finally:
        for fd in fds:
            os.close(fd)


def _popen(command: Command, stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    mask = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        return subprocess.Popen(
            command.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=command.cwd,
            env=command.environment,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _peek(pidfd: int) -> int | None:
    """The exit code of a zombie, which stays one; None when somebody else has waited for it."""
    try:
        found = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return None
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _ignore() -> None:
    return None


@contextmanager
def default_signals() -> Iterator[None]:
    """Let programs start with default dispositions even if this process was started with some signals ignored.

    An ignored signal stays ignored over exec, a handled one doesn't: so each gets a handler that does nothing.
    Outside of the main thread nothing is changed.
    """
    changed: list[signal.Signals] = []
    for number in signal.valid_signals():
        if number not in _RESTORED_BY_SUBPROCESS and signal.getsignal(number) is signal.SIG_IGN:
            with suppress(ValueError, OSError):
                signal.signal(number, _do_nothing)
                signal.siginterrupt(number, False)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            if signal.getsignal(number) is _do_nothing:
                with suppress(ValueError):
                    signal.signal(number, signal.SIG_IGN)


def _do_nothing(number: int, frame: Any) -> None:
    return None
