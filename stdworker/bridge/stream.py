"""One persistent process and the requests in flight in it."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from typing import Protocol

from stdworker.bridge.flight import LOST, Flight, Lost
from stdworker.bridge.program import Program
from stdworker.bridge.programlog import ProgramLog
from stdworker.bridge.redact import SECRET_BYTES_MAX, SharedRedactor, shown_tail
from stdworker.bridge.result import BridgeResult, response_failure, timeout_failure, with_tail
from stdworker.errors import ResponseError, Retry, TaskFailure, Terminal
from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import Answer, Broken, Hello, Log, Message, Progress, Ready, Stray, read_line
from stdworker.framing.request import PROTOCOL, SHUTDOWN_LINE, cancel_line, config_line
from stdworker.framing.session import Action, Session
from stdworker.model.json_text import RawJson
from stdworker.model.task import ReactionRequest
from stdworker.process.command import Signature
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.stop import Step, terminate
from stdworker.process.tail import Tail

PIPE_BYTES_MAX = 1 << 20  # the most that Linux keeps in a pipe
HINT_SECONDS = 5.0  # of silence after the first request, then block-buffering is suspected
DIAGNOSIS_CHARACTERS_MAX = 1_000  # of stderr, in why a kind is not ready
EOF_SECONDS = 1.0  # a program that closed its stdout has this long to end by itself

_HINT = (
    "took a request and has written nothing for 5 s: if it does answer, its output may be block-buffered"
    " (python -u, jq --unbuffered, sed -u, grep --line-buffered, awk's fflush(), or stdbuf -oL)"
)


class Owner(Protocol):
    """Who must know what happens to a process: its pool."""

    def freed(self) -> None:
        """There may be room for another request."""

    def answered(self) -> None:
        """A request got its answer."""

    def retired(self, process: StreamProcess) -> None:
        """The process takes no more requests."""

    def ended(self, process: StreamProcess, lost: set[str]) -> None:
        """The process is gone; `lost` are the uids of the resources whose requests it held."""

    def ready_changed(self) -> None:
        """The program said that it is ready, or not."""


class StreamProcess:
    """A running program that answers line by line."""

    def __init__(self, program: Program, process: Process, owner: Owner, signature: Signature) -> None:
        self.signature = signature
        self.started_at = time.monotonic()
        self.retired = False
        self.ready = Ready(True, "")
        self.reserved = 0
        self.alone = False
        self.stray_lines = 0
        self._program = program
        self._process = process
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._session: Session[Flight] = Session()
        self._hello: Hello | None = None
        self._lines = LineBuffer(program.launch.limits.line_bytes)
        self._redact = SharedRedactor(program.redact)
        self._log = ProgramLog(program.kind.kind, "", self._redact)
        self._tail = Tail(program.launch.limits.stderr_tail_bytes + SECRET_BYTES_MAX)
        self._bytes_since_answer = 0
        self._has_written = False
        self._hint: asyncio.TimerHandle | None = None
        self.diagnosis = ""
        self._killed_by: str | None = None
        self._stopping = False
        process.read(self._on_stdout, self._on_stderr, self._on_stdout_end)
        process.exited.add_done_callback(self._on_exit)

    @property
    def load(self) -> int:
        return self.reserved + len(self._session)

    @property
    def free(self) -> bool:
        return not (self.retired or self.alone) and self.load < self._program.launch.concurrency

    @property
    def idle(self) -> bool:
        return not self.load

    def reserve(self, *, alone: bool) -> None:
        """Keep room for one request, or the whole process for it."""
        self.reserved += 1
        self.alone = alone

    def unreserve(self) -> None:
        self.reserved -= 1
        self._made_room()

    async def ask(self, request: ReactionRequest, program: Program) -> BridgeResult | Lost:
        """Run one request, for which room was reserved, under its own settings."""
        flight = self._send(request, program)
        try:
            landed = await flight.landed
        except asyncio.CancelledError:
            self._give_up(flight, "cancel")
            raise
        if isinstance(landed, bytes):
            result = await program.read(landed, request, self._log, self._shown_tail)
        elif isinstance(landed, TaskFailure):
            result = BridgeResult(failure=landed)
        else:
            return landed
        result.stray_lines = self.stray_lines - flight.stray_before
        result.exit = self._process.exited.result() if self._process.exited.done() else None
        return result

    def tell_config(self, settings: RawJson | None) -> None:
        if self._hello is not None and self._hello.config:
            self._process.stdin.write(config_line(settings))

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
        self._fail(None, reason)
        self._stop_if_done()

    # ---- sending ----

    def _send(self, request: ReactionRequest, program: Program) -> Flight:
        self.reserved -= 1
        self._redact.add(program.redact)
        if not len(self._session):
            self._tail.clear()
            self._bytes_since_answer = 0
        flight = Flight(
            program.runtime.new_id(), request, program, self._loop.create_future(), stray_before=self.stray_lines
        )
        flight.limit_seconds = program.time_limit(request)
        if flight.limit_seconds is not None:
            flight.deadline = self._loop.call_later(max(0.0, flight.limit_seconds), self._expire, flight)
        self._arm_silence(flight)
        self._session.send(flight.id, flight)
        self._process.stdin.write(program.line(flight.id, request, flight.limit_seconds))
        if not self._has_written and self._hint is None:
            self._hint = self._loop.call_later(HINT_SECONDS, self._suspect_buffering)
        return flight

    def _arm_silence(self, flight: Flight) -> None:
        seconds = self._program.launch.progress_timeout_seconds
        if seconds is not None:
            flight.silence = self._loop.call_later(seconds, self._silent, flight)

    def _suspect_buffering(self) -> None:
        if not self._has_written and self._process.alive and len(self._session):
            self._log.host(logging.WARNING, _HINT)

    def _expire(self, flight: Flight) -> None:
        failure = timeout_failure(max(0.0, flight.limit_seconds or 0.0), self._shown_tail())
        flight.land(flight.program.redacted(failure))
        self._give_up(flight, "deadline")

    def _silent(self, flight: Flight) -> None:
        text = f"the program reported no progress for {self._program.launch.progress_timeout_seconds:g} s"
        flight.land(Retry(text, reason="NoProgress", code="progress_timeout"))
        self._give_up(flight, "deadline")

    def _give_up(self, flight: Flight, killed_by: str) -> None:
        flight.disarm()
        match self._session.give_up(flight.id):
            case Action.ASK:
                self._process.stdin.write(cancel_line(flight.id))
                grace = self._program.launch.grace_seconds
                flight.deadline = self._loop.call_later(grace, self._out_of_patience, flight, killed_by)
            case Action.REPLACE:
                self.retire(killed_by=killed_by)
                self._made_room()

    def _out_of_patience(self, flight: Flight, killed_by: str) -> None:
        if self._session.out_of_patience(flight.id) is Action.REPLACE:
            self.retire(killed_by=killed_by)
            self._made_room()

    # ---- receiving ----

    def _on_stdout(self, chunk: bytes) -> None:
        self._has_written = True
        self._bytes_since_answer += len(chunk)
        for line in self._lines.feed(chunk):
            self._on_line(line)
        if self._bytes_since_answer > self._program.launch.limits.stdout_bytes:
            self._on_flood()

    def _on_line(self, line: bytes | Overlong) -> None:
        message = read_line(line, line_bytes_max=self._lines.line_bytes_max)
        if type(message) is Answer:
            self._on_answer(message)
        elif message is not None:
            self._on_message(message)

    def _on_answer(self, answer: Answer) -> None:
        request_id = self._session.meant(answer.id)
        if request_id is None:
            self._on_nobodys(answer)
            return
        self._bytes_since_answer = 0
        flight = self._session.owner(request_id)
        flight.disarm()
        if self._session.answer(request_id) is Action.DELIVER:
            flight.land(answer.document)
            self._owner.answered()
        self._made_room()

    def _on_nobodys(self, answer: Answer) -> None:
        """An answer that can't be matched: late, a second one, or without an id that it needs."""
        self._program.runtime.counters.dropped_answers += 1
        if answer.id is not None:
            self._log.host(logging.WARNING, f"dropped an answer with the id {answer.id!r}: nothing in flight has it")
        elif not len(self._session):
            self._log.host(logging.WARNING, "dropped an answer without request_id: nothing is in flight")
        elif self._session.doubtful:
            self._log.host(
                logging.WARNING, "dropped an answer without request_id: it may be late; the process is replaced"
            )
            self._fail(None, LOST)
            self.retire(killed_by="replaced")
        else:
            error = ResponseError(
                "an answer without id while several requests are in flight", code="bad_id", hint="echo the request's id"
            )
            self._on_broken(Broken(None, error))

    def _on_message(self, message: Message) -> None:
        match message:
            case Log():
                self._log.notice(message)
            case Progress():
                self._on_progress(message)
            case Ready():
                self.ready = message
                self._owner.ready_changed()
            case Hello():
                self._on_hello(message)
            case Stray():
                self._on_stray(message)
            case Broken():
                self._on_broken(message)

    def _on_hello(self, hello: Hello) -> None:
        self._hello = hello
        self._session.cancel_announced = hello.cancel
        if hello.protocol != PROTOCOL:
            self._log.host(logging.WARNING, f"speaks protocol {hello.protocol}; this host speaks {PROTOCOL}")

    def _on_progress(self, progress: Progress) -> None:
        request_id = self._session.meant(progress.id)
        if request_id is None:
            return
        flight = self._session.owner(request_id)
        if flight.silence is not None:
            flight.silence.cancel()
            self._arm_silence(flight)
        flight.request.progress(progress.fraction, self._redact(progress.message or ""))

    def _on_stray(self, stray: Stray) -> None:
        self.stray_lines += 1
        self._program.runtime.counters.stray_lines += 1
        self._log.stray(stray.start, stray.size)
        if self._program.launch.strict:
            shown = stray.start[:200].decode("utf-8", "replace")
            error = ResponseError(f"a line that is no message: {shown}", code="stray_output", hint="print it on stderr")
            self._on_broken(Broken(None, error))

    def _on_broken(self, broken: Broken) -> None:
        request_id = self._session.meant(broken.id) if broken.id is not None else None
        if broken.id is not None and request_id is None:
            self._program.runtime.counters.dropped_answers += 1
            return
        failure = response_failure(broken.error, alone=request_id is not None or len(self._session) <= 1)
        failure.message = self._redact(failure.message)
        if not self._fail(request_id, failure):
            self._log.host(logging.WARNING, str(failure))
        self._made_room()

    def _fail(self, request_id: str | None, result: TaskFailure | Lost) -> int:
        """End the request, or all of them, without an answer; how many that were."""
        waiting = self._session.fail(request_id)
        for flight in waiting:
            flight.disarm()
            flight.land(result)
        return len(waiting)

    def _on_flood(self) -> None:
        limit = self._program.launch.limits.stdout_bytes
        text = f"the program printed more than {limit} bytes without an answer (limits.stdout_bytes)"
        alone = len(self._session) <= 1
        kind = Terminal if alone else Retry
        hint = "raise limits.stdout_bytes"
        self._fail(None, kind(text, reason="OutputTooLarge", code="output_too_large", hint=hint))
        self._kill("limit")

    def _kill(self, killed_by: str) -> None:
        if self._process.alive:
            self._process.killed_by = killed_by
            self._process.signal_group(signal.SIGKILL)

    def _on_stderr(self, chunk: bytes) -> None:
        self._tail.add(chunk)
        self._log.stderr(chunk)

    # ---- the end ----

    def _made_room(self) -> None:
        if self.alone and self.idle:
            self.alone = False
        if self.retired:
            self._stop_if_done()
        else:
            self._owner.freed()

    def _stop_if_done(self) -> None:
        done = self.retired and not self.reserved and not self._session.owners
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
        if self._hello is not None and self._hello.shutdown:
            self._process.stdin.write(SHUTDOWN_LINE)
        self._process.stdin.close_when_written()

    def _on_stdout_end(self) -> None:
        if self._process.alive and not self._stopping:
            self._loop.call_later(EOF_SECONDS, self._kill, "it closed its stdout")

    def _on_exit(self, exited: asyncio.Future[Exit]) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.drain(PIPE_BYTES_MAX)
        self._process.stderr.drain(PIPE_BYTES_MAX)
        for line in self._lines.end():
            self._on_line(line)
        self._log.end()
        if self._hint is not None:
            self._hint.cancel()
        lost = {flight.request.resource.uid for flight in self._session.owners}
        told = self._shown_tail()[-DIAGNOSIS_CHARACTERS_MAX:]
        self.diagnosis = with_tail(f"the program ended: {exited.result()}", told)
        self._fail_lost(exited.result())
        if not self._stopping:
            self._stopping = True
            self._program.runtime.release(self._process)
        self._owner.ended(self, lost)

    def _fail_lost(self, ended: Exit) -> None:
        """One request in flight is to blame; of several nobody knows which."""
        if len(self._session.owners) > 1:
            self._fail(None, LOST)
            return
        message = f"the program died while it held this request: {ended}"
        failure = Retry(with_tail(message, self._shown_tail()), reason="ProgramDied", code="program_died")
        self._fail(None, failure)

    def _shown_tail(self) -> str:
        return shown_tail(self._tail.value(), self._program.launch.limits.stderr_tail_bytes, self._redact)
