"""One persistent process: room for requests, retirement, death."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Protocol

from stdworker.bridge.conversation import Conversation
from stdworker.bridge.flight import LOST, Lost
from stdworker.bridge.program import Program
from stdworker.bridge.result import BridgeResult, with_tail
from stdworker.bridge.view import PeerView
from stdworker.errors import Retry, TaskFailure
from stdworker.framing.messages import Ready
from stdworker.model.json_text import RawJson
from stdworker.model.task import ReactionRequest
from stdworker.process.command import Signature
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.stop import Step, terminate

PIPE_BYTES_MAX = 1 << 20  # the most that Linux keeps in a pipe
EOF_SECONDS = 1.0  # a program that closed its stdout has this long to end by itself
DIAGNOSIS_CHARACTERS_MAX = 1_000  # of stderr, in why a kind is not ready


class Owner(Protocol):
    """Who must know what happens to a process: its pool."""

    def freed(self) -> None:
        """There may be room for another request."""

    def answered(self) -> None:
        """A request got its answer."""

    def ready_changed(self) -> None:
        """The program said whether it wants work."""

    def retired(self, process: StreamProcess) -> None:
        """The process takes no more requests."""

    def ended(self, process: StreamProcess, lost: set[str]) -> None:
        """The process is gone; `lost` are the uids of the resources whose requests it held."""


class StreamProcess:
    """A running program that answers line by line."""

    def __init__(self, program: Program, process: Process, owner: Owner, signature: Signature) -> None:
        self.signature = signature
        self.started_at = time.monotonic()
        self.retired = False
        self.diagnosis = ""
        self.answers = 0
        self._program = program
        self._process = process
        self._owner = owner
        self._said = Conversation(program, process.stdin.write, self)
        self._reserved = 0
        self._alone = False
        self._killed_by: str | None = None
        self._stopping = False
        process.read(self._said.feed, self._said.feed_stderr, self._on_stdout_end)
        process.exited.add_done_callback(self._on_exit)

    # ---- room ----

    @property
    def load(self) -> int:
        return self._reserved + len(self._said)

    @property
    def free(self) -> bool:
        return not (self.retired or self._alone) and self.load < self._program.launch.concurrency

    def reserve(self, *, alone: bool) -> None:
        """Keep room for one request, or the whole process for it."""
        self._reserved += 1
        self._alone = alone

    def unreserve(self) -> None:
        self._reserved -= 1
        self.made_room()

    def made_room(self) -> None:
        if self._alone and not self.load:
            self._alone = False
        if self.retired:
            self._stop_if_done()
        else:
            self._owner.freed()

    # ---- requests ----

    async def ask(self, request: ReactionRequest, program: Program) -> BridgeResult | Lost:
        """Run one request, for which room was reserved, under its own settings."""
        self._reserved -= 1
        flight = self._said.send(request, program)
        try:
            landed = await flight.landed
        except asyncio.CancelledError:
            self._said.give_up(flight, "cancel")
            raise
        if isinstance(landed, bytes):
            result = await program.read(landed, request, self._said.log, self._said.shown_tail)
        elif isinstance(landed, TaskFailure):
            result = BridgeResult(failure=landed)
        else:
            return landed
        result.stray_lines = self._said.stray_lines - flight.stray_before
        result.exit = self._process.exited.result() if self._process.exited.done() else None
        return result

    def tell_config(self, settings: RawJson | None) -> None:
        """Hand new settings of the kind to a program that asked for them."""
        self._said.tell_config(settings)

    @property
    def ready(self) -> Ready:
        return self._said.ready

    def answered(self) -> None:
        self.answers += 1
        self._owner.answered()

    def ready_changed(self) -> None:
        self._owner.ready_changed()

    def view(self) -> PeerView:
        uptime = time.monotonic() - self.started_at
        return PeerView(self._process.pid, None, uptime, in_flight=self.load, answered=self.answers)

    # ---- the end ----

    def retire(self, *, killed_by: str | None = None) -> None:
        """Take no more requests; end when those in flight have ended.

        `killed_by` says that the process is at fault and why: then it gets no chance to end politely.
        """
        if self.retired:
            return
        self.retired = True
        self._killed_by = killed_by
        self._owner.retired(self)
        self._stop_if_done()

    def shut(self, reason: TaskFailure) -> None:
        """End now: requests still in flight fail with `reason`."""
        self.retire()
        self._said.fail(None, reason)
        self._stop_if_done()

    def kill(self, killed_by: str) -> None:
        if self._process.alive:
            self._process.killed_by = killed_by
            self._process.signal_group(signal.SIGKILL)

    def _stop_if_done(self) -> None:
        done = self.retired and not self._reserved and not self._said.flights
        if done and self._process.alive and not self._stopping:
            self._stopping = True
            self._program.runtime.background(self._stop())

    async def _stop(self) -> None:
        grace = self._program.launch.grace_seconds
        steps = [terminate(self._process, grace)]
        if self._killed_by is None:
            steps.insert(0, Step(self._say_goodbye, grace))
        await self._program.runtime.stop(self._process, steps, killed_by=self._killed_by)

    def _say_goodbye(self) -> None:
        self._said.tell_shutdown()
        self._process.stdin.close_when_written()

    def _on_stdout_end(self) -> None:
        if self._process.alive and not self._stopping:
            asyncio.get_running_loop().call_later(EOF_SECONDS, self.kill, "it closed its stdout")

    def _on_exit(self, exited: asyncio.Future[Exit]) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.drain(PIPE_BYTES_MAX)
        self._process.stderr.drain(PIPE_BYTES_MAX)
        self._said.end()
        lost = {flight.request.resource.uid for flight in self._said.flights}
        told = self._said.shown_tail()[-DIAGNOSIS_CHARACTERS_MAX:]
        self.diagnosis = with_tail(f"the program ended: {exited.result()}", told)
        self._fail_lost(exited.result())
        if not self._stopping:
            self._stopping = True
            self._program.runtime.release(self._process)
        self._owner.ended(self, lost)

    def _fail_lost(self, ended: Exit) -> None:
        """One request in flight is to blame; of several nobody knows which."""
        if len(self._said.flights) > 1:
            self._said.fail(None, LOST)
            return
        message = with_tail(f"the program died while it held this request: {ended}", self._said.shown_tail())
        self._said.fail(None, Retry(message, reason="ProgramDied", code="program_died"))
