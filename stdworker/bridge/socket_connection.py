"""A connection to a program that runs by itself and serves a socket: a sidecar, a daemon, a container."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from stdworker.bridge.peer import Owner, Peer
from stdworker.bridge.program import Program
from stdworker.errors import Released, Retry

P = TypeVar("P", bound=asyncio.BaseProtocol)

CONNECT_SECONDS = 5.0
SILENT_PEER_SECONDS = 30  # after which a TCP connection to a host that vanished is given up
KEEPALIVE_IDLE_SECONDS = 15
KEEPALIVE_INTERVAL_SECONDS = 5

_SILENT_HINT = "if it does answer, its output may wait in a buffer: flush it after each line"
_REASONS = {
    errno.ENOENT: "there is no such socket",
    errno.ECONNREFUSED: "nobody listens there",
    errno.EAGAIN: "its queue of connections is full",
    errno.EACCES: "this worker has no permission to open it",
    errno.ECONNRESET: "reset by the program's side",
    errno.EPIPE: "closed by the program's side",
}


class Connections:
    """Dials the address of a program."""

    owned = False

    def __init__(self, program: Program) -> None:
        assert program.launch.socket is not None
        self._program = program
        self._address = program.launch.socket

    def signature(self) -> tuple[()]:
        """A program that is not ours is replaced by whoever runs it."""
        return ()

    async def start(self, owner: Owner) -> Peer:
        """Raises Released, naming the address and why nobody can be reached there."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await self._dial(owner)
            connection.check()
        except (OSError, ValueError) as error:
            text = f"can't connect to {self._address}: {_reason(error)}"
            raise Released(text, reason="NotReady", code="not_connected") from None
        connection.listen()
        return connection

    async def _dial(self, owner: Owner) -> SocketConnection:
        return await dial(self._address, lambda: SocketConnection(self._program, owner, self._address))


async def dial(address: str, connection: Callable[[], P]) -> P:
    """Connect to `unix:/path` or `tcp:host:port`. Raises OSError, or ValueError for a port that can't be one."""
    loop = asyncio.get_running_loop()
    scheme, _, place = address.partition(":")
    if scheme == "unix":
        return (await loop.create_unix_connection(connection, place))[1]
    host, _, port = place.rpartition(":")
    return (await loop.create_connection(connection, host.strip("[]"), int(port)))[1]


class SocketConnection(Peer, asyncio.Protocol):
    """A running program that answers line by line over a socket.

    What is written within one turn of the loop goes out together.
    """

    def __init__(self, program: Program, owner: Owner, address: str) -> None:
        super().__init__(program, owner, self._write, silent_hint=_SILENT_HINT, signature=())
        self._address = address
        self._transport: asyncio.Transport | None = None
        self._pending: list[bytes] = []
        self._listening = False
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def alive(self) -> bool:
        return not self._lost.done()

    def kill(self, killed_by: str) -> None:
        self._killed_by = killed_by
        if self._transport is not None:
            self._transport.abort()

    def check(self) -> None:
        """Raise OSError if nobody else is there.

        asyncio takes a full queue of a Unix socket for success. And TCP connects to itself when the port that it
        happens to choose for this end is the one that is dialed: then the request would come back as its answer.
        """
        assert self._transport is not None
        peer = self._transport.get_extra_info("peername")
        if peer is None or peer == self._transport.get_extra_info("sockname"):
            self._transport.abort()
            number = errno.EAGAIN if peer is None else errno.ECONNREFUSED
            raise OSError(number, os.strerror(number))

    def listen(self) -> None:
        """Begin to read: not before there is somebody who cares."""
        assert self._transport is not None
        self._listening = True
        self._transport.resume_reading()

    def _where(self) -> tuple[int | None, str | None]:
        return None, self._address

    async def _stop(self) -> None:
        assert self._transport is not None
        if self._killed_by is None:
            self._said.tell_shutdown()
            self._flush()
            with suppress(OSError):  # the other side was faster
                self._transport.write_eof()
            await asyncio.wait({self._lost}, timeout=self._program.launch.grace_seconds)
        self._transport.abort()
        await asyncio.wait({self._lost})

    def _write(self, data: bytes) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append(data)

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        if self._transport is not None and pending and not self._transport.is_closing():
            self._transport.writelines(pending)

    # ---- what the transport calls ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        found = transport.get_extra_info("socket")
        if found.family != socket.AF_UNIX:
            _notice_vanished_host(found)

    def data_received(self, data: bytes) -> None:
        self._said.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._said.end()
        self._lost.set_result(None)
        why = f"closed by this worker ({self._killed_by})" if self._killed_by is not None else _reason(exc)
        text = f"the connection to {self._address} was lost"
        failure = Retry(f"{text} while it held this request: {why}", reason="ConnectionLost", code="connection_lost")
        if self._listening:  # else it was given up while it was made, and nobody has it
            self._end(f"{text}: {why}", failure)


def _notice_vanished_host(found: socket.socket) -> None:
    """Unanswered probes, and unacknowledged data, end a connection."""
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_SECONDS * 1_000)


def _reason(error: Exception | None) -> str:
    if error is None:
        return "closed by the program's side"
    if isinstance(error, TimeoutError) and not error.errno:
        return f"no answer within {CONNECT_SECONDS:g} s"
    if isinstance(error, OSError) and error.errno in _REASONS:
        return f"{_REASONS[error.errno]} ({errno.errorcode[error.errno]})"
    return getattr(error, "strerror", None) or str(error)
