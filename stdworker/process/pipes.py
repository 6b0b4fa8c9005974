"""The host's ends of a program's pipes, on the event loop. Nothing here blocks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

READ_BYTES = 262_144  # read at once; other pipes get their turn in between
PIPE_BYTES_MAX = 1 << 20  # the most that Linux keeps in a pipe


class PipeReader:
    """Reads what a program writes, as it comes. `on_bytes` gets each chunk, `on_end` follows the last one once."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_bytes: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loop = loop
        self.closed = False
        self._fd = fd
        self._on_bytes = on_bytes
        self._on_end = on_end
        os.set_blocking(self._fd, False)
        loop.add_reader(self._fd, self._read)

    def drain(self) -> None:
        """Read what is in the pipe now, without waiting for more; what is written meanwhile only up to a bound."""
        left = PIPE_BYTES_MAX
        while left > 0 and not self.closed:
            count = self._read()
            if not count:
                return
            left -= count

    def close(self) -> None:
        """Stop reading; `on_end` isn't called any more."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _read(self) -> int:
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            chunk = b""
        if chunk:
            self._on_bytes(chunk)
        else:
            self.close()
            self._on_end()
        return len(chunk)


class PipeWriter:
    """Writes to a program. What is written within one turn of the loop goes out together.

    A program that closes its input, or ends, isn't an error here: what it didn't take is dropped, `broken` says so,
    and `on_broken` hears of it once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self.broken = False
        self.closed = False
        self.on_broken: Callable[[], None] | None = None
        self._loop = loop
        self._fd = fd
        self._pending: list[bytes | memoryview] = []
        self._waiting = False  # for the pipe to take more
        self._scheduled = False
        self._closing = False
        os.set_blocking(self._fd, False)

    def write(self, data: bytes) -> None:
        if self.closed or self._closing:
            return
        self._pending.append(data)
        if not self._scheduled and not self._waiting:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def write_last(self, data: bytes) -> None:
        """Write, now if the pipe takes it, then close."""
        self._pending.append(data)
        self.close_when_written()

    def close_when_written(self) -> None:
        self._closing = True
        if not self._waiting:
            self._flush()

    def close(self) -> None:
        """Close at once; what was not written is dropped."""
        if self.closed:
            return
        self.closed = True
        self._pending.clear()
        if self._waiting:
            self._loop.remove_writer(self._fd)
            self._waiting = False
        os.close(self._fd)

    def _flush(self) -> None:
        self._scheduled = False
        if self.closed:
            return
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending.clear()
        written = self._write(memoryview(data))
        if self.broken or (written == len(data) and self._closing):
            self.close()
            if self.broken and self.on_broken is not None:
                self.on_broken()
        elif written < len(data):
            self._pending.append(memoryview(data)[written:])
            self._wait()
        elif self._waiting:
            self._loop.remove_writer(self._fd)
            self._waiting = False

    def _write(self, data: memoryview) -> int:
        written = 0
        while written < len(data):
            try:
                written += os.write(self._fd, data[written:])
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.broken = True
                break
        return written

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._fd, self._flush)
