"""What a program says beside its answers: log lines, stderr, text that is no message. None of it shows a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from stdworker.bridge.programlog import ProgramLog
from stdworker.bridge.redact import SECRET_BYTES_MAX, Redactor, SharedRedactor, shown_tail
from stdworker.bridge.runtime import Counters
from stdworker.framing.lines import Overlong
from stdworker.framing.response import CUT
from stdworker.model.task import ReactionRequest
from stdworker.process.tail import Tail


class Sideband:
    """That of one process or connection. `stray_lines` counts the lines that were no message."""

    def __init__(self, kind: str, redact: Redactor, tail_bytes_max: int, counters: Counters) -> None:
        self.stray_lines = 0
        self.redact = SharedRedactor(redact)
        self.log = ProgramLog(kind, "", self.redact)
        self._counters = counters
        self._tail_bytes_max = tail_bytes_max
        self._tail = Tail(tail_bytes_max + SECRET_BYTES_MAX)

    def begin(self, request: ReactionRequest, redact: Redactor, *, alone: bool) -> None:
        """A request is about to be sent; if it is alone, all that is said from now on is about it."""
        self.redact.add(redact)
        self.log.name = request.resource.name if alone else ""
        if alone:
            self._tail.clear()

    def stderr(self, chunk: bytes) -> None:
        self._tail.add(chunk)
        self.log.stderr(chunk)

    def shown_tail(self) -> str:
        """The end of stderr since the program was idle."""
        return shown_tail(self._tail.value(), self._tail_bytes_max, self.redact)

    def stray(self, start: bytes, size: int) -> None:
        """A line that is no message; `start` may be cut."""
        self._count(1)
        self.log.stray(start, size)

    def pass_over(self, lines: int) -> None:
        """So many stray lines are not told."""
        self._count(lines)
        self.log.pass_over(lines)

    def warn(self, message: str) -> None:
        """Something that the bridge itself has to say about the program."""
        self.log.host(logging.WARNING, message)

    def record(self, lines: Iterable[bytes | Overlong], requests: Iterable[ReactionRequest]) -> None:
        """For every request that may be meant: nobody knows for which of them a line was written."""
        transcripts = [request.transcript for request in requests if request.transcript is not None]
        if transcripts:
            for line in lines:
                shown = line.start + CUT.encode() if isinstance(line, Overlong) else line
                for transcript in transcripts:
                    transcript.received(shown, self.redact)

    def _count(self, lines: int) -> None:
        self.stray_lines += lines
        self._counters.stray_lines += lines
