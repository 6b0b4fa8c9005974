"""One process for one request: its exit status decides first, then what it printed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from enum import Enum, auto

from stdworker.bridge.program import OFF_LOOP_BYTES, Program, task_variables
from stdworker.bridge.result import (
    EXIT_TERMINAL,
    BridgeResult,
    exit_failure,
    flood_failure,
    program_failure,
    response_failure,
    silence_failure,
    timeout_failure,
)
from stdworker.errors import ResponseError, TaskFailure, Terminal
from stdworker.framing.document import Document, is_whole, read_document
from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import Log, Progress, Stray, read_notice
from stdworker.framing.response import excerpt
from stdworker.model.task import ReactionRequest
from stdworker.process.diagnose import crlf_shebang
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.stop import terminate

LINGER_SECONDS = 1.0  # how long a descendant that holds stdout may still add a response after the leader's exit

_NOTICE = re.compile(rb'[ \t]*\{[ \t]*"(?:log|progress|ready|reason|hello)"')


class End(Enum):
    """Why we stopped listening."""

    EXITED = auto()
    DEADLINE = auto()
    SILENT = auto()
    FLOOD = auto()


async def run_oneshot(program: Program, request: ReactionRequest) -> BridgeResult:
    """Run one request in a process of its own; afterwards its whole group is gone, however this ends.

    Raises ConfigError or Retry when it can't be started.
    """
    process = await program.start(task_variables(request))
    listener = _Listener(program, process, request)
    try:
        limit = program.time_limit(request)
        listener.listen(limit)
        process.stdin.write_last(program.line(program.runtime.new_id(), request, limit))
        end = await listener.ended
    except BaseException:
        listener.close()
        await program.runtime.stop(process, (terminate(process, program.launch.grace_seconds),), killed_by="cancel")
        raise
    listener.close()
    if end is End.EXITED:
        program.runtime.release(process)
    else:
        killed_by = "limit" if end is End.FLOOD else "deadline"
        patience = () if end is End.FLOOD else (terminate(process, program.launch.grace_seconds),)
        await program.runtime.stop(process, patience, killed_by=killed_by)
    return await listener.result(end)


class _Listener:
    """Takes in what the process says until there is nothing more to wait for."""

    def __init__(self, program: Program, process: Process, request: ReactionRequest) -> None:
        self.ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._program = program
        self._process = process
        self._request = request
        self._sideband = program.sideband()
        self._sideband.begin(request, program.redact, alone=True)
        self._lines = LineBuffer(program.launch.limits.stdout_bytes)
        self._kept = bytearray()  # not a list: an object for each of millions of short lines costs gigabytes
        self._size = 0
        self._limit: float | None = None
        self._timers: dict[End, asyncio.TimerHandle] = {}

    def listen(self, limit: float | None) -> None:
        self._limit = limit
        self._arm(End.DEADLINE, limit)
        self._arm(End.SILENT, self._program.launch.progress_timeout_seconds)
        self._process.read(self._on_stdout, self._sideband.stderr, self._on_stdout_end)
        self._process.exited.add_done_callback(self._on_exit)

    def close(self) -> None:
        """Listen no more; what is in the pipe of stderr still counts."""
        for timer in self._timers.values():
            timer.cancel()
        self._process.exited.remove_done_callback(self._on_exit)
        if self._process.stderr is not None:
            self._process.stderr.drain()
        self._sideband.log.end()

    def _arm(self, end: End, seconds: float | None) -> None:
        if seconds is not None:
            self._timers[end] = self.ended.get_loop().call_later(max(0.0, seconds), self._finish, end)

    def _finish(self, end: End) -> None:
        if not self.ended.done():
            self.ended.set_result(end)

    def _on_stdout(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._program.launch.limits.stdout_bytes:
            return self._finish(End.FLOOD)
        if self._request.transcript is not None or b"{" in chunk or b"\r" in chunk:
            return self._read_lines(chunk)
        # Whole lines that can be no notice are kept as they are: floods of short lines must be cheap.
        begin = chunk.find(b"\n") + 1 if len(self._lines) else 0
        end = chunk.rfind(b"\n") + 1
        self._read_lines(chunk[:begin])
        self._kept += chunk[begin:end]
        return self._read_lines(chunk[end:])

    def _read_lines(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            self._on_line(line)

    def _on_line(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            return
        self._sideband.record([line], [self._request])
        notice = read_notice(line) if _NOTICE.match(line) else None
        if isinstance(notice, Log):
            self._sideband.log.notice(notice)
        elif isinstance(notice, Progress):
            self._on_progress(notice)
        elif notice is None or isinstance(notice, Stray):
            self._kept += line
            self._kept += b"\n"

    def _on_progress(self, progress: Progress) -> None:
        timer = self._timers.pop(End.SILENT, None)
        if timer is not None:
            timer.cancel()
            self._arm(End.SILENT, self._program.launch.progress_timeout_seconds)
        self._request.progress(progress.fraction, self._program.redact(progress.message or ""))

    def _on_stdout_end(self) -> None:
        if not self._process.alive:
            self._finish(End.EXITED)

    def _on_exit(self, _: asyncio.Future[Exit]) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        stdout.drain()
        if stdout.closed or is_whole(bytes(self._kept + self._lines.unfinished)):
            self._finish(End.EXITED)
        else:
            self._arm(End.EXITED, LINGER_SECONDS)

    # ---- what it meant ----

    async def result(self, end: End) -> BridgeResult:
        for line in self._lines.end():
            self._on_line(line)
        tail = self._sideband.shown_tail()
        ended = self._process.exited.result() if self._process.exited.done() else None
        if end is End.EXITED:
            assert ended is not None
            result = await self._judge(ended, tail)
        else:
            result = BridgeResult(failure=self._program.redacted(self._cut_off(end, tail, ended)))
        result.exit = ended
        return result

    def _cut_off(self, end: End, tail: str, ended: Exit | None) -> TaskFailure:
        launch = self._program.launch
        if end is End.DEADLINE:
            return timeout_failure(max(0.0, self._limit or 0.0), tail, ended)
        if end is End.SILENT:
            return silence_failure(launch.progress_timeout_seconds or 0.0)
        return flood_failure(launch.limits.stdout_bytes)

    async def _judge(self, ended: Exit, tail: str) -> BridgeResult:
        text = bytes(self._kept)
        try:
            document = await _off_loop(read_document, text)
        except ResponseError as error:
            if ended.code != 0:
                return BridgeResult(failure=self._failed(ended, tail, text))
            return BridgeResult(failure=self._program.redacted(response_failure(error, tail)))
        failure = self._judge_stray(document, ended)
        if failure is not None:
            result = BridgeResult(failure=failure)
        elif ended.code != 0:
            result = BridgeResult(failure=await self._failed_with(document, ended, tail))
        elif document.response is None:
            result = await self._program.read(b"{}", self._request, self._sideband)
        else:
            result = await self._program.read(document.response, self._request, self._sideband)
        result.stray_lines = document.stray_lines
        return result

    def _judge_stray(self, document: Document, ended: Exit) -> TaskFailure | None:
        for line in document.stray:
            self._sideband.stray(line, len(line))
        self._sideband.pass_over(document.stray_lines - len(document.stray))
        if not document.stray or not self._program.launch.strict or ended.code != 0:
            return None
        first = excerpt(document.stray[0])
        text = f"{document.stray_lines} lines of output are not part of a response, the first is: {first}"
        hint = "print them on stderr, or unset strict"
        return self._program.redacted(Terminal(text, reason="StrayOutput", code="stray_output", hint=hint))

    async def _failed_with(self, document: Document, ended: Exit, tail: str) -> TaskFailure:
        """A failing program may have said why; how bad it is, its exit status says."""
        try:
            response = await self._program.parse(document.response or b"{}")
        except ResponseError:
            return self._failed(ended, tail, document.response or b"")
        if response.error is None:
            failure = self._failed(ended, tail)
        else:
            failure = self._program.redacted(program_failure(response.error, terminal=ended.code == EXIT_TERMINAL))
        failure.status = response.outcome.status
        return failure

    def _failed(self, ended: Exit, tail: str, printed: bytes = b"") -> TaskFailure:
        path = self._program.command().path
        hint = ""
        if ended.code == 127 and crlf_shebang(path):
            hint = f"the #! line of {path} ends in a carriage return; save it with Unix line endings"
        return self._program.redacted(exit_failure(ended, tail, printed.strip(), hint=hint))


async def _off_loop(read: Callable[[bytes], Document], text: bytes) -> Document:
    return read(text) if len(text) <= OFF_LOOP_BYTES else await asyncio.to_thread(read, text)
