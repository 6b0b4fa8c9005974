"""What the host and one persistent program say to each other: requests, answers, notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from stdworker.bridge.flight import LOST, Flight, Lost
from stdworker.bridge.program import Program
from stdworker.bridge.result import flood_failure, response_failure, silence_failure, timeout_failure
from stdworker.errors import ResponseError, TaskFailure
from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import (
    Answer,
    Broken,
    Hello,
    Log,
    Message,
    Progress,
    Ready,
    Stray,
    read_line,
    repeated_id,
)
from stdworker.framing.request import PROTOCOL, SHUTDOWN_LINE, cancel_line, config_line
from stdworker.framing.response import excerpt, is_response, not_a_response
from stdworker.framing.session import Action, Session
from stdworker.model.json_text import RawJson, members
from stdworker.model.task import ReactionRequest

NOISE_LINES_READ_MAX = 200  # of what is written at once
HINT_SECONDS = 5.0  # of silence after the first request, then block-buffering is suspected


class Listener(Protocol):
    """Who acts on what was said: the peer."""

    def made_room(self) -> None:
        """A request has ended."""

    def answered(self) -> None:
        """A request got its answer."""

    def ready_changed(self) -> None:
        """The program said whether it wants work."""

    def retire(self, *, killed_by: str) -> None:
        """The peer can't be trusted with another request."""

    def kill(self, killed_by: str) -> None:
        """The peer must end now."""


class Conversation:
    """The requests in flight and all that the program wrote. Knows no process: `write` sends, `feed` receives."""

    def __init__(self, program: Program, write: Callable[[bytes], None], listener: Listener, silent_hint: str) -> None:
        self.ready = Ready(True, "")
        self.sideband = program.sideband()
        self._program = program
        self._write = write
        self._listener = listener
        self._silent_hint = silent_hint
        self._loop = asyncio.get_running_loop()
        self._session: Session[Flight] = Session()
        self._hello = Hello()
        self._lines = LineBuffer(program.launch.limits.line_bytes)
        self._bytes_since_answer = 0
        self._has_written = False
        self._at_first_line = True
        self._hint: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """The requests that the program holds, those among them that were given up too."""
        return len(self._session)

    @property
    def flights(self) -> list[Flight]:
        """The requests whose caller still waits."""
        return self._session.owners

    @property
    def held(self) -> list[Flight]:
        """All that the program may be working on, those that were given up too."""
        return self._session.held

    # ---- sending ----

    def send(self, request: ReactionRequest, program: Program) -> Flight:
        """Ask for one request under its own settings; the flight's future gets what comes of it.

        Raises Terminal when the request can't be written.
        """
        request_id, limit = program.runtime.new_id(), program.time_limit(request)
        line = program.line(request_id, request, limit)
        self.sideband.begin(request, program.redact, alone=not len(self._session))
        if not len(self._session):
            self._bytes_since_answer = 0
            if self._lines.unfinished.lstrip().startswith(b"{"):  # an answer that began before it was asked
                self._session.doubtful = True
        flight = Flight(request_id, request, program, self._loop.create_future(), limit, self.sideband.stray_lines)
        if limit is not None:
            flight.deadline = self._loop.call_later(max(0.0, limit), self._expire, flight)
        self._arm_silence(flight)
        self._session.send(request_id, flight)
        self._write(line)
        if not self._has_written and self._hint is None:
            self._hint = self._loop.call_later(HINT_SECONDS, self._suspect_buffering)
        return flight

    def give_up(self, flight: Flight, killed_by: str) -> None:
        """Its caller waits no longer: tell the program if it wants to know, else the process is replaced."""
        flight.disarm()
        match self._session.give_up(flight.id):
            case Action.ASK:
                self._write(cancel_line(flight.id))
                grace = self._program.launch.grace_seconds
                flight.deadline = self._loop.call_later(grace, self._out_of_patience, flight, killed_by)
            case Action.REPLACE:
                self._listener.retire(killed_by=killed_by)
                self._listener.made_room()

    def tell_config(self, settings: RawJson | None) -> None:
        if self._hello.config:
            self._write(config_line(settings))

    def tell_shutdown(self) -> None:
        if self._hello.shutdown:
            self._write(SHUTDOWN_LINE)

    def fail(self, request_id: str | None, result: TaskFailure | Lost) -> int:
        """End the request, or all of them, without an answer; how many that were."""
        waiting = self._session.fail(request_id)
        for flight in waiting:
            flight.disarm()
            flight.land(result)
        self._loop.call_soon(self._note_idle)
        return len(waiting)

    def _arm_silence(self, flight: Flight) -> None:
        seconds = self._program.launch.progress_timeout_seconds
        if seconds is not None:
            flight.silence = self._loop.call_later(seconds, self._silent, flight)

    def _suspect_buffering(self) -> None:
        if not self._has_written and len(self._session):
            text = f"took a request and has written nothing for {HINT_SECONDS:g} s: {self._silent_hint}"
            self.sideband.warn(text)

    def _expire(self, flight: Flight) -> None:
        failure = timeout_failure(max(0.0, flight.limit_seconds or 0.0), self.sideband.shown_tail())
        flight.land(flight.program.redacted(failure))
        self.give_up(flight, "deadline")

    def _silent(self, flight: Flight) -> None:
        flight.land(silence_failure(self._program.launch.progress_timeout_seconds or 0.0))
        self.give_up(flight, "deadline")

    def _out_of_patience(self, flight: Flight, killed_by: str) -> None:
        if self._session.out_of_patience(flight.id) is Action.REPLACE:
            self._listener.retire(killed_by=killed_by)
            self._listener.made_room()

    # ---- receiving ----

    def feed(self, chunk: bytes) -> None:
        """Take in what the program wrote to stdout."""
        self._has_written = True
        self._bytes_since_answer += len(chunk)
        lines = self._lines.feed(chunk)
        read = len(lines) if b"{" in chunk else NOISE_LINES_READ_MAX
        for line in lines[:read]:
            self._on_line(line)
        if len(lines) > read:
            self._count_noise(lines[read:])
        if self._bytes_since_answer > self._program.launch.limits.stdout_bytes:
            self._on_flood()

    def end(self) -> None:
        """Nothing more will come: a last line without LF counts, unless the end cut it short."""
        for line in self._lines.end():
            if not isinstance(self._read(line), Broken):
                self._on_line(line)
        self.sideband.log.end()
        if self._hint is not None:
            self._hint.cancel()

    def _on_line(self, line: bytes | Overlong) -> None:
        message = self._read(line)
        if type(message) is Answer:
            self._on_object(message)
        elif message is not None:
            self._record([line])
            self._on_message(message)
        self._at_first_line = self._at_first_line and message is None

    def _record(self, lines: Iterable[bytes | Overlong]) -> None:
        """For every request in flight: nobody knows which of them they were written for."""
        self.sideband.record(lines, [flight.request for flight in self.flights])

    def _read(self, line: bytes | Overlong) -> Message | None:
        if not line:
            return None
        explained = len(self._session) > 0
        return read_line(line, line_bytes_max=self._lines.line_bytes_max, explained=explained)

    def _on_object(self, answer: Answer) -> None:
        """One with no field of a response is text like other, but where the one answer that is due should be."""
        names = None if answer.id is not None else members(answer.document)
        if names is None or is_response(names.keys()):
            self._on_answer(answer)
            return
        self._record([answer.document])
        if self._session.meant(None) is None:
            self._on_stray(Stray(answer.document, len(answer.document)))
        else:
            self._on_broken(Broken(None, not_a_response(names.keys(), answer.document)))

    def _on_answer(self, answer: Answer) -> None:
        request_id = self._session.meant(answer.id)
        if request_id is None:
            self._on_nobodys(answer)
            return
        self._bytes_since_answer = 0
        flight = self._session.owner(request_id)
        flight.disarm()
        self.sideband.record([answer.document], [flight.request])
        if self._session.answer(request_id) is Action.DELIVER:
            flight.land(answer.document)
            self._listener.answered()
        if not len(self._session):
            self._loop.call_soon(self._note_idle)
        self._listener.made_room()

    def _note_idle(self) -> None:
        """Not before what came on stderr together with the answer is logged."""
        if not len(self._session):
            self.sideband.log.name = ""

    def _on_nobodys(self, answer: Answer) -> None:
        """An answer that can't be matched: late, a second one, or without an id that it needs."""
        repeated = repeated_id(answer)
        if repeated is not None:
            self._on_broken(repeated)
            return
        self._program.runtime.counters.dropped_answers += 1
        if answer.id is not None:
            self.sideband.warn(f"dropped an answer with the id {answer.id!r}: nothing in flight has it")
        elif not len(self._session):
            self.sideband.warn("dropped an answer without id: nothing is in flight")
            self._session.doubtful = True  # out of step: the next one may be another's too
        elif self._session.doubtful:
            self.sideband.warn("dropped an answer without id: it may be late; the process is replaced")
            self.fail(None, LOST)
            self._listener.retire(killed_by="replaced")
        else:
            error = ResponseError(
                "an answer without id while several requests are in flight", code="bad_id", hint="echo the request's id"
            )
            self._on_broken(Broken(None, error))

    def _on_message(self, message: Message) -> None:
        match message:
            case Log():
                self.sideband.log.notice(message)
            case Progress():
                self._on_progress(message)
            case Ready():
                self._on_ready(Ready(message.ready, self.sideband.redact(message.reason)))
            case Hello():
                self._on_hello(message)
            case Stray():
                self._on_stray(message)
            case Broken():
                self._on_broken(message)

    def _on_ready(self, ready: Ready) -> None:
        if ready != self.ready:
            self.ready = ready
            self._listener.ready_changed()

    def _on_hello(self, hello: Hello) -> None:
        if not self._at_first_line:
            self.sideband.warn("ignored a hello that is not the first line")
            return
        self._hello = hello
        self._session.cancel_announced = hello.cancel
        if hello.protocol != PROTOCOL:
            self.sideband.warn(f"speaks protocol {hello.protocol}; this host speaks {PROTOCOL}")

    def _on_progress(self, progress: Progress) -> None:
        request_id = self._session.meant(progress.id)
        if request_id is None:
            return
        flight = self._session.owner(request_id)
        if flight.silence is not None:
            flight.silence.cancel()
            self._arm_silence(flight)
        flight.request.progress(progress.fraction, self.sideband.redact(progress.message or ""))

    def _on_stray(self, stray: Stray) -> None:
        self.sideband.stray(stray.start, stray.size)
        if self._program.launch.strict:
            text = f"a line that is no message: {excerpt(stray.start, stray.size)}"
            error = ResponseError(text, code="stray_output", hint="print it on stderr")
            self._on_broken(Broken(None, error))

    def _count_noise(self, lines: list[bytes | Overlong]) -> None:
        """Of a flood in which no line can be a message only the first ones are read."""
        self._record(lines)
        self.sideband.pass_over(len(lines) - lines.count(b""))

    def _on_broken(self, broken: Broken) -> None:
        request_id = self._session.meant(broken.id) if broken.id is not None else None
        if broken.id is not None and request_id is None:
            self._program.runtime.counters.dropped_answers += 1
            return
        failure = response_failure(broken.error, alone=request_id is not None or len(self._session) <= 1)
        failure.message = self.sideband.redact(failure.message)
        if not self.fail(request_id, failure):
            self.sideband.warn(str(failure))
        self._listener.made_room()

    def _on_flood(self) -> None:
        alone = len(self._session) <= 1
        self.fail(None, flood_failure(self._program.launch.limits.stdout_bytes, alone=alone))
        self._listener.retire(killed_by="limit")
        self._listener.kill("limit")
