"""What programs leave behind outside their process group: found, killed, reaped.

Every program carries a mark in its environment, which whatever it starts inherits. This process is a subreaper (see
`adoption`): when a process of a program ends, those that it had started become children of ours. Therefore, once
a program's leader has ended, every branch of its tree that still lives begins at a child of ours that we didn't
start. A look at these children finds it, and its mark says whose it is. Killing one may hand us its children in turn:
so we look again until there is none. One that emptied its environment is known by its session, unless it left that too.

Other children, those of plugins among them, carry no mark of ours and are never signalled or waited for. A zombie
has no environment any more: it is ours if it belongs to the session of a program. One of another session than this
process's, which nobody here is known to have started, is reaped after `ZOMBIE_SECONDS`: if a plugin were its parent, it
had time for that. Without this, a worker that is PID 1 would gather zombies.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from stdworker.process import procfs
from stdworker.process.adoption import AllProcesses, Children

MARK = "STDWORKER_PROCESS"

LOOK_SECONDS = 0.02  # after a program's end; one look serves all that ended meanwhile
LOOK_AGAIN_SECONDS = 0.002  # while something that was killed isn't gone, doubled each time
IDLE_LOOK_SECONDS = 1.0  # between looks when nothing is known to be left
ZOMBIE_SECONDS = 5.0
CLOSE_SECONDS = 5.0
ENDED_MAX = 4_096  # leaders that are remembered while something of theirs won't go

log = logging.getLogger("stdworker.process")

_programs: set[int] = set()  # leaders that this process waits for itself, whoever here started them


class Leaked(NamedTuple):
    """A descendant that outlived its program; not `killed` if it runs as somebody whom this process may not signal."""

    pid: int
    name: str
    kind: str
    killed: bool


class Orphans:
    """The descendants of the programs of one worker.

    `on_leak` hears of those that had left their program's group and had to be killed, or can't be.
    """

    def __init__(self, on_leak: Callable[[Sequence[Leaked]], None]) -> None:
        self.nonce = secrets.token_hex(8)
        self._on_leak = on_leak
        self._numbers = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._source: Children | AllProcesses | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._again_seconds = LOOK_AGAIN_SECONDS
        self._running: dict[int, str] = {}  # leader: mark
        self._ended: dict[int, str] = {}  # the same of those whose descendants may still be around
        self._own: set[bytes] = set()  # the running leaders again, as the list of children spells them
        self._seen: dict[bytes, str] = {}  # children that may live, with the mark of a running program or ""
        self._reviewed_at = 0.0
        self._killed: set[bytes] = set()  # but not yet gone
        self._spared: set[bytes] = set()  # of users whom we may not signal
        self._undecided = False  # somebody could not be judged at the last look
        self._zombies: dict[bytes, float] = {}  # nobody's, and since when

    def open(self) -> None:
        """Begin to be the one who gets orphans. Does nothing the second time.

        Raises OSError when the host has no descriptor left for that.
        """
        if self._source is not None:
            return
        self._loop = asyncio.get_running_loop()
        try:
            self._source = Children()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            self._source = AllProcesses()
            log.warning("can't be told of orphaned processes (%s): they are searched for every second", error)
        self._arm(IDLE_LOOK_SECONDS)

    def new_mark(self) -> str:
        """The value of `STDWORKER_PROCESS` for one program."""
        return f"{self.nonce}-{next(self._numbers)}"

    def started(self, leader: int, mark: str) -> None:
        """A program with this mark runs; until `ended` what it orphans is left alone."""
        _programs.add(leader)
        self._running[leader] = mark
        self._own.add(b"%d" % leader)

    def ended(self, leader: int) -> None:
        """A program has ended, and was waited for: what carries its mark is killed in a moment."""
        mark = self._running.pop(leader, None)
        if mark is None:
            return
        _programs.discard(leader)
        self._own.discard(b"%d" % leader)
        for pid in [pid for pid, seen in self._seen.items() if seen == mark]:
            del self._seen[pid]
        if len(self._ended) >= ENDED_MAX:
            self._ended.clear()
        self._ended[leader] = mark
        if self._has_list:
            self._again_seconds = LOOK_AGAIN_SECONDS
            self._arm(LOOK_SECONDS)

    def marked(self) -> set[int]:
        """Every process of this system that one of our programs started, or is."""
        prefix = f"\0{MARK}={self.nonce}-".encode()
        found = map(int, AllProcesses().pids())
        return {pid for pid in found if prefix in b"\0" + procfs.environment(pid)}

    async def close(self) -> None:
        """Kill what is left of all programs, then stop being the one who gets orphans."""
        if self._source is None:
            return
        for leader in list(self._running):
            self.ended(leader)
        deadline = time.monotonic() + CLOSE_SECONDS
        self._seen.clear()
        while self._look() and time.monotonic() < deadline:  # noqa: ASYNC110 (no signal tells of a grandchild)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._source.close()
        self._source = None

    # ---- looking ----

    @property
    def _has_list(self) -> bool:
        """Do we see our own children only? Among all processes only a mark tells."""
        return isinstance(self._source, Children)

    def _arm(self, seconds: float) -> None:
        """Look then, or earlier if that is planned."""
        assert self._loop is not None
        when = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._look():
            self._arm(self._again_seconds)
            self._again_seconds = min(2 * self._again_seconds, IDLE_LOOK_SECONDS)
        else:
            self._arm(IDLE_LOOK_SECONDS)

    def _look(self) -> bool:
        """Kill and reap what is ours to end; whether some of it isn't gone yet, or may be there."""
        assert self._source is not None
        self._undecided = False
        present = self._source.pids()
        self._forget(present)
        leaked = [found for pid in present.difference(self._own, self._seen) if (found := self._judge(pid))]
        if leaked:
            self._on_leak(leaked)
        if not self._killed:
            self._ended.clear()
        return self._undecided or bool(self._killed)

    def _forget(self, present: set[bytes]) -> None:
        """Those that are gone, and every second all that were seen alive: they may be zombies now."""
        self._killed &= present
        self._spared &= present
        for pid in self._zombies.keys() - present:
            del self._zombies[pid]
        now = time.monotonic()
        if now - self._reviewed_at >= IDLE_LOOK_SECONDS:
            self._reviewed_at = now
            self._seen.clear()
        for pid in self._seen.keys() - present:
            del self._seen[pid]

    def _judge(self, pid: bytes) -> Leaked | None:
        number = int(pid)
        variables = self._variables(number)
        found = procfs.stat(number)
        if found is None:
            return None
        mark = self._mark_of(variables, found.session)
        if pid in self._killed or (found.zombie and (mark or pid in self._spared)):
            self._reap(pid)
        elif found.zombie:
            self._judge_stranded(pid, found.session)
        elif mark is None and not variables and self._has_list:  # else it may be a thread of the kernel
            self._undecided = True
        elif mark is None or mark in self._running.values() or pid in self._spared:
            self._seen[pid] = mark or ""
        else:
            return self._kill(number, found.group, variables)
        return None

    def _variables(self, pid: int) -> bytes:
        """Its environment; "" for one in exec, of which nobody can tell yet whose it is."""
        found = procfs.environment(pid)
        if not found and procfs.command_line(pid):
            found = procfs.environment(pid)  # exec is over now; or it has none, or hides it
        elif not found:
            return b""
        return b"\0" + found

    def _mark_of(self, variables: bytes, session: int) -> str | None:
        """Whose it is: by its environment, or by its session, which only what a program started can share."""
        number = _after(variables, f"{MARK}={self.nonce}-")
        if number:
            return f"{self.nonce}-{number}"
        return self._running.get(session) or self._ended.get(session) if self._has_list else None

    def _judge_stranded(self, pid: bytes, session: int) -> None:
        """A zombie that no program here is known to have started."""
        if not self._has_list or int(pid) in _programs or session == os.getsid(0):
            return
        now = time.monotonic()
        if now - self._zombies.setdefault(pid, now) >= ZOMBIE_SECONDS:
            self._reap(pid)

    def _kill(self, pid: int, group: int, variables: bytes) -> Leaked | None:
        name, kind = procfs.name(pid), _after(variables, "STDWORKER_KIND=")
        try:
            os.kill(pid, signal.SIGKILL)
        except PermissionError:
            self._spared.add(b"%d" % pid)
            return Leaked(pid, name, kind, killed=False)
        except ProcessLookupError:
            return None
        self._killed.add(b"%d" % pid)
        return None if group in self._ended else Leaked(pid, name, kind, killed=True)

    def _reap(self, pid: bytes) -> None:
        """Wait for exactly this process, if it is a child at all."""
        try:
            gone = os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOHANG) is not None
        except ChildProcessError:
            found = procfs.stat(int(pid))
            gone = found is None or found.zombie
        if gone:
            self._killed.discard(pid)
            self._zombies.pop(pid, None)


@asynccontextmanager
async def reap_as_init() -> AsyncIterator[None]:
    """Meanwhile, if this process is PID 1 of a container, reap whatever ends up with it, whoever started that."""
    if os.getpid() != 1:
        yield
        return
    orphans = Orphans(lambda _: None)
    orphans.open()
    try:
        yield
    finally:
        await orphans.close()


def _after(variables: bytes, prefix: str) -> str:
    """What follows the start of one variable, to its end; "" when there is none."""
    rest = variables.partition(b"\0" + prefix.encode())[2]
    return rest.partition(b"\0")[0].decode("utf-8", "replace")
