"""One process of the program under test: bytes go in, and all that comes out is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stdworker.bridge.launch import Limits
from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import Answer, Message, Notice, Stray, read_line, read_notice
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.tail import Tail

PIPE_BYTES_MAX = 1 << 20  # the most that Linux keeps in a pipe
LINGER_SECONDS = 1.0  # a descendant that outlives the program may still write


class Peer:
    """A running program. Every wait is bounded by the seconds that it is given."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self.process = process
        self.stdout = bytearray()
        self.stderr = Tail(limits.stderr_tail_bytes)
        self.lines: list[bytes | Overlong] = []
        self.flooded = False
        self.asked: set[str] = set()  # the ids of the requests so far
        self._limits = limits
        self._buffer = LineBuffer(limits.line_bytes)
        self._messages: list[Message] = []
        self._lines_read = 0
        self._changed = asyncio.Event()
        self._stdout_ended = False
        process.read(self._on_stdout, self.stderr.add, self._on_stdout_end)
        process.exited.add_done_callback(self._on_exit)

    @property
    def exit(self) -> Exit | None:
        return self.process.exited.result() if self.process.exited.done() else None

    def write(self, line: bytes) -> None:
        self.process.stdin.write(line)

    def close_input(self) -> None:
        self.process.stdin.close_when_written()

    def close_output(self) -> None:
        """The host reads no more, as if it had died."""
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._on_stdout_end()

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until it holds; False when it doesn't in time, or when the program ended without."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not holds():
            self._changed.clear()
            left = deadline - loop.time()
            if left <= 0 or self.over:
                return holds()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                continue
        return True

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self.exit is not None and self._stdout_ended

    async def ended(self, seconds: float) -> bool:
        """Wait for the end of the process, and a moment for output that somebody else still holds open."""
        if not await self.until(lambda: self.exit is not None, seconds):
            return False
        await self.until(lambda: self._stdout_ended, LINGER_SECONDS)
        return True

    def messages(self) -> list[Message]:
        """What the lines so far mean to a host of persistent programs."""
        for line in self.lines[self._lines_read :]:
            message = read_line(line, line_bytes_max=self._limits.line_bytes)
            if message is not None:
                self._messages.append(message)
        self._lines_read = len(self.lines)
        return self._messages

    def answers(self) -> list[Answer]:
        return [message for message in self.messages() if isinstance(message, Answer)]

    def without_notices(self) -> bytes:
        """What a host of one-shot programs takes for the response, and stray text."""
        kept = [line.start if isinstance(line, Overlong) else line for line in self.lines if not _is_notice(line)]
        return b"\n".join([*kept, self._buffer.unfinished])

    def _on_stdout(self, chunk: bytes) -> None:
        if self.flooded:
            return
        self.stdout += chunk
        self.lines += self._buffer.feed(chunk)
        self.flooded = len(self.stdout) > self._limits.stdout_bytes
        self._changed.set()

    def _on_stdout_end(self) -> None:
        self._stdout_ended = True
        self.lines += self._buffer.end()
        self._changed.set()

    def _on_exit(self, _: asyncio.Future[Exit]) -> None:
        for reader in (self.process.stdout, self.process.stderr):
            if reader is not None:
                reader.drain(PIPE_BYTES_MAX)
        self._changed.set()


def _is_notice(line: bytes | Overlong) -> bool:
    if isinstance(line, Overlong) or not line.lstrip().startswith(b"{"):
        return False
    notice = read_notice(line)
    return isinstance(notice, Notice) and not isinstance(notice, Stray)
