"""The program under test at the other end of pipes or of a socket: bytes go in, and all that comes out is kept."""

from __future__ import annotations

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable

from stdworker.bridge.launch import Limits
from stdworker.framing.lines import LineBuffer, Overlong
from stdworker.framing.messages import Answer, Message, Notice, Stray, read_line, read_notice
from stdworker.process.exits import Exit
from stdworker.process.spawn import Process
from stdworker.process.tail import Tail

LINGER_SECONDS = 1.0  # a descendant that outlives the program may still write


class Peer(ABC):
    """What a program says, and the waits for it, each bounded by the seconds that it is given.

    `asked` are the ids of the requests so far. `exit` stays None for a program that is not ours.
    """

    def __init__(self, limits: Limits) -> None:
        self.stdout = bytearray()
        self.stderr = Tail(limits.stderr_tail_bytes)
        self.lines: list[bytes | Overlong] = []
        self.flooded = False
        self.asked: set[str] = set()
        self._limits = limits
        self._buffer = LineBuffer(limits.line_bytes)
        self._messages: list[Message] = []
        self._lines_read = 0
        self._changed = asyncio.Event()
        self._output_ended = False

    @property
    def exit(self) -> Exit | None:
        return None

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self._output_ended

    @abstractmethod
    def write(self, line: bytes) -> None: ...

    @abstractmethod
    def close_input(self) -> None:
        """Say that there will be no more requests."""

    async def ended(self, seconds: float) -> bool:
        """Wait for the end of the program, or of the connection to it."""
        return await self.until(lambda: self.over, seconds)

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

    def _on_bytes(self, chunk: bytes) -> None:
        if self.flooded:
            return
        self.stdout += chunk
        self.lines += self._buffer.feed(chunk)
        self.flooded = len(self.stdout) > self._limits.stdout_bytes
        self._changed.set()

    def _on_end(self) -> None:
        self._output_ended = True
        self.lines += self._buffer.end()
        self._changed.set()


class ProcessPeer(Peer):
    """A process of the program, which this one has started."""

    def __init__(self, process: Process, limits: Limits) -> None:
        super().__init__(limits)
        self._process = process
        process.read(self._on_bytes, self.stderr.add, self._on_end)
        process.exited.add_done_callback(self._on_exit)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit(self) -> Exit | None:
        return self._process.exited.result() if self._process.exited.done() else None

    @property
    def over(self) -> bool:
        return self.exit is not None and self._output_ended

    def write(self, line: bytes) -> None:
        self._process.stdin.write(line)

    def close_input(self) -> None:
        self._process.stdin.close_when_written()

    def close_output(self) -> None:
        """Read no more, as if the host had died."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._on_end()

    def terminate(self) -> None:
        self._process.signal_group(signal.SIGTERM)

    async def ended(self, seconds: float) -> bool:
        """Wait for the end of the process, and a moment for output that somebody else still holds open."""
        if not await self.until(lambda: self.exit is not None, seconds):
            return False
        await self.until(lambda: self.over, LINGER_SECONDS)
        return True

    def _on_exit(self, _: asyncio.Future[Exit]) -> None:
        for reader in (self._process.stdout, self._process.stderr):
            if reader is not None:
                reader.drain()
        self._changed.set()


class SocketPeer(Peer, asyncio.Protocol):
    """A connection to a program that serves a socket and is not ours."""

    transport: asyncio.Transport

    def write(self, line: bytes) -> None:
        self.transport.write(line)

    def close_input(self) -> None:
        if not self.transport.is_closing():
            self.transport.write_eof()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._on_bytes(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, _: Exception | None) -> None:
        self._on_end()


def _is_notice(line: bytes | Overlong) -> bool:
    if isinstance(line, Overlong) or not line.lstrip().startswith(b"{"):
        return False
    notice = read_notice(line)
    return isinstance(notice, Notice) and not isinstance(notice, Stray)
