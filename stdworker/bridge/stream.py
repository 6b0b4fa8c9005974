"""A persistent process of ours: it reads requests from its stdin and answers on its stdout."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence

from stdworker.bridge.flight import LOST, Lost
from stdworker.bridge.peer import Owner, Peer
from stdworker.bridge.program import Program
from stdworker.bridge.result import with_tail
from stdworker.errors import Retry, TaskFailure
from stdworker.process.command import Signature, signature
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.stop import Step, terminate

HALF_CLOSED_SECONDS = 1.0  # a program that closed its stdin or stdout has this long to end by itself
ONESHOT_HINT = "a program that answers one request and ends, or reads its input to the end, is one for mode oneshot"
DIAGNOSIS_CHARACTERS_MAX = 1_000  # of stderr, in why a kind is not ready

_SILENT_HINT = (
    "if it does answer, its output may be block-buffered"
    " (python -u, jq --unbuffered, sed -u, grep --line-buffered, awk's fflush(), or stdbuf -oL);"
    " if it waits for the end of its input, it is a program for mode oneshot"
)


class Processes:
    """Starts processes of a program."""

    owned = True

    def __init__(self, program: Program) -> None:
        self._program = program

    def signature(self) -> Signature:
        return signature(self._program.command())

    async def start(self, owner: Owner) -> Peer:
        seen = self.signature()
        process = await self._program.start({})
        return StreamProcess(self._program, process, owner, seen)


class StreamProcess(Peer):
    """A running program that answers line by line."""

    def __init__(self, program: Program, process: Process, owner: Owner, signature: Signature) -> None:
        super().__init__(program, owner, process.stdin.write, silent_hint=_SILENT_HINT, signature=signature)
        self._process = process
        process.read(self._said.feed, self._said.sideband.stderr, self._on_stdout_end)
        process.stdin.on_broken = lambda: self._on_half_closed("it closed its stdin")
        process.exited.add_done_callback(self._on_exit)

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def exit(self) -> Exit | None:
        return self._process.exited.result() if self._process.exited.done() else None

    def kill(self, killed_by: str) -> None:
        if not self.alive:
            return
        self._process.killed_by = killed_by
        self._process.signal_group(signal.SIGKILL)
        if not self._stopping:
            self._stopping = True
            self._program.runtime.background(self._stop_by(()))

    def _where(self) -> tuple[int | None, str | None]:
        return self._process.pid, None

    async def _stop(self) -> None:
        grace = self._program.launch.grace_seconds
        steps = [terminate(self._process, grace)]
        if self._killed_by is None:
            steps.insert(0, Step(self._say_goodbye, grace))
        await self._stop_by(steps)

    async def _stop_by(self, steps: Sequence[Step]) -> None:
        await self._program.runtime.stop(self._process, steps, killed_by=self._killed_by)
        if self.alive:  # not even SIGKILL could end it
            self._said.end()
            text = f"process {self._process.pid} of the program can't be ended"
            self._end(text, Retry(text, reason="ProgramStuck", code="unstoppable"))

    def _say_goodbye(self) -> None:
        self._said.tell_shutdown()
        self._process.stdin.close_when_written()

    def _on_stdout_end(self) -> None:
        self._on_half_closed("it closed its stdout")

    def _on_half_closed(self, why: str) -> None:
        """It can still answer what it has, or end by itself; another request would be lost."""
        if self.alive and not (self._stopping or self._half_closed):
            self._half_closed = True
            asyncio.get_running_loop().call_later(HALF_CLOSED_SECONDS, self.kill, why)

    def _on_exit(self, exited: asyncio.Future[Exit]) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.drain()
        self._process.stderr.drain()
        self._said.end()
        if not self._stopping:
            self._stopping = True
            self._program.runtime.release(self._process)
        ended, tail = exited.result(), self._said.sideband.shown_tail()
        diagnosis = with_tail(f"the program ended: {ended}", tail[-DIAGNOSIS_CHARACTERS_MAX:])
        self._end(diagnosis, self._blame(ended, tail))

    def _blame(self, ended: Exit, tail: str) -> TaskFailure | Lost:
        """If it held one request, that is to blame; of several nobody knows which."""
        if len(self._said) > 1:
            return LOST
        message = with_tail(f"the program died while it held this request: {ended}", tail)
        hint = ONESHOT_HINT if ended.code == 0 else ""
        return Retry(message, reason="ProgramDied", code="program_died", hint=hint)
