"""What programs say beside their answers goes to the log `stdworker.program`, in bounded amounts."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import Log
from stdworker.framing.response import CUT

LINES_A_SECOND_MAX = 200
LINE_BYTES_MAX = 16_384

log = logging.getLogger("stdworker.program")

LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "fatal": logging.CRITICAL,
}


class ProgramLog:
    """The log of one process. `name` is the resource that it works for now, "" when that is none or several."""

    def __init__(
        self, kind: str, name: str, redact: Callable[[str], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self._kind = kind
        self._redact = redact
        self._clock = clock
        self._second = -1
        self._count = 0
        self._dropped = 0
        self._stderr = LineBuffer(LINE_BYTES_MAX)

    def stderr(self, chunk: bytes) -> None:
        """Lines are log lines; one that is a JSON object with a level keeps it."""
        end = chunk.rfind(b"\n") + 1
        if end and self._is_full():
            self._dropped += chunk.count(b"\n") - 1
            self._stderr = LineBuffer(LINE_BYTES_MAX)
            chunk = chunk[end:]
        for line in self._stderr.feed(chunk):
            if line and not self._is_full():
                self._stderr_line(line)

    def end(self) -> None:
        for line in self._stderr.end():
            self._stderr_line(line)
        self._tell_dropped()

    def notice(self, notice: Log) -> None:
        if not self._is_full():
            self._write(LEVELS.get(notice.level, logging.INFO), notice.message, notice.fields)

    def stray(self, start: bytes, size: int) -> None:
        if not self._is_full():
            text = start[:LINE_BYTES_MAX].decode("utf-8", "replace")
            cut = CUT if size > min(len(start), LINE_BYTES_MAX) else ""
            self._write(logging.WARNING, f"stray output, {size} bytes: {text}{cut}", {})

    def pass_over(self, lines: int) -> None:
        """So many lines are not told."""
        self._dropped += lines

    def host(self, level: int, message: str) -> None:
        """Something that the bridge itself has to say about the process."""
        self._write(level, message, {})

    def _stderr_line(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            self._write(logging.INFO, f"{line.start.decode('utf-8', 'replace')}{CUT} ({line.size} bytes)", {})
        elif line.strip():
            level, message = _leveled(line)
            self._write(level, message, {})

    def _write(self, level: int, message: str, fields: dict[str, Any]) -> None:
        if not self._admitted() or not log.isEnabledFor(level):
            return
        told = "".join(f" {key}={json.dumps(value)}" for key, value in fields.items())
        text = self._redact(message + told)
        if len(text) > LINE_BYTES_MAX:
            text = f"{text[:LINE_BYTES_MAX]}… ({len(text)} characters)"
        self._tell(level, "%s: %s", text)

    def _is_full(self) -> bool:
        """Has this second all its lines? Then the next one is counted without a look: a flood must be cheap."""
        full = self._count >= LINES_A_SECOND_MAX and int(self._clock()) == self._second
        self._dropped += full
        return full

    def _admitted(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            self._second, self._count = second, 0
            self._tell_dropped()
        self._count += 1
        self._dropped += self._count > LINES_A_SECOND_MAX
        return self._count <= LINES_A_SECOND_MAX

    def _tell_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            text = "%s: %d more lines in one second, over the limit of %d"
            self._tell(logging.WARNING, text, dropped, LINES_A_SECOND_MAX)

    def _tell(self, level: int, form: str, *arguments: Any) -> None:
        origin = f"{self._kind}/{self.name}" if self.name else self._kind
        log.log(level, form, origin, *arguments, extra={"kind": self._kind, "resource": self.name})


def _leveled(line: bytes) -> tuple[int, str]:
    text = line.decode("utf-8", "replace")
    if line[:1] == b"{" and line[-1:] == b"}":
        try:
            found = json.loads(text).get("level")
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, str):
            return LEVELS.get(found.lower(), logging.INFO), text
    return logging.INFO, text
