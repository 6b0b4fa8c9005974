"""A network that can be made bad: a TCP proxy that cuts, slows, or forwards nothing and says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

CHUNK_BYTES = 65_536
HANG_SECONDS = 10


class Proxy:
    """Forwards a port of loopback to another, on a thread of its own."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._stranded: set[asyncio.StreamWriter] = set()
        self._delay_seconds = 0.0
        self._server = self._run(asyncio.start_server(self._connected, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End every connection at once, without a goodbye."""
        self._do(self._cut)

    def freeze(self) -> None:
        """Connections stay, and nothing goes through them: half open."""
        self._do(self._flows.clear)

    def strand(self) -> None:
        """Nothing goes through the connections of now, ever again, and nobody is told; new ones work."""
        self._do(lambda: self._stranded.update(self._writers))

    def slow(self, delay_seconds: float) -> None:
        """Each piece comes so much later."""
        self._delay_seconds = delay_seconds

    def heal(self) -> None:
        self._delay_seconds = 0.0
        self._do(self._flows.set)

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANG_SECONDS)
        self._loop.close()

    def _do(self, act: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(act)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_SECONDS)

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self._cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._join(reader, writer)
        writer.transport.abort()
        self._writers.discard(writer)
        self._stranded.discard(writer)
        self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._flows.wait()
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers.add(to_writer)
        flows = (self._forward(reader, to_writer), self._forward(to_reader, writer))
        ways = [asyncio.create_task(flow) for flow in flows]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            to_writer.transport.abort()
            self._writers.discard(to_writer)
            self._stranded.discard(to_writer)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._flows.wait()
            if self._delay_seconds:
                await asyncio.sleep(self._delay_seconds)
            if writer in self._stranded:
                continue
            writer.write(data)
            await writer.drain()
