"""Addresses of `converge serve`: binding them, and telling them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import socket
from pathlib import Path
from typing import Any

from stdworker.errors import SettingsError

BACKLOG = 1_024
CONNECT_SECONDS = 1.0
TAKE_MS = 60_000  # how long what was sent may go untaken
FILES_MAX = 65_536
TOLD_SECONDS = 10.0
LOOPBACK = ("localhost", "127.", "::1", "[::1]", "unix:")

log = logging.getLogger(__name__)


def listen(variable: str, host: str, port: int) -> socket.socket:
    """A listening TCP socket; an empty host means all interfaces. Raises SettingsError when it can't be had."""
    everywhere = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if everywhere or ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=everywhere)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # what follows names the address again
        raise SettingsError(variable, f"{host}:{port}", "an address that is free", hint=reason) from None
    # Connections inherit it. asyncio sets it only where the protocol is named, else small answers wait 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A peer that is gone without a word, or takes nothing of its answer, holds what was written for it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TAKE_MS)
    return listener


def allow_connections() -> None:
    """Each connection is an open file: as many as this process may have, where a shell gives it few to begin with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Crowded:
    """A loop's exception handler; that no file is left for a connection is told once in `TOLD_SECONDS`.

    asyncio tells it of each of thousands of attempts a second, with a traceback.
    """

    def __init__(self) -> None:
        self._tell_at = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif loop.time() >= self._tell_at:
            self._tell_at = loop.time() + TOLD_SECONDS
            log.error("connections wait: %s; raise the limit (ulimit -n), or look who opens so many", error.strerror)


def try_unix(variable: str, address: str) -> None:
    """Raises SettingsError where no socket can be made: grpc doesn't say why, and takes that of a living process."""
    path = Path(address.removeprefix("unix://"))
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            if path.is_socket():
                _refuse_heard(probe, path)
            else:
                probe.bind(str(path))
                path.unlink()
    except OSError as error:
        expected = "a path at which a socket can be made"
        raise SettingsError(variable, address, expected, hint=error.strerror or str(error)) from None


def _refuse_heard(probe: socket.socket, path: Path) -> None:
    """What a process left behind that was killed is in nobody's way."""
    probe.settimeout(CONNECT_SECONDS)
    with contextlib.suppress(ConnectionRefusedError):
        probe.connect(str(path))
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def rest_url(host: str, port: int, *, tls: bool) -> str:
    """Where a browser on this machine finds it."""
    host = host or "localhost"
    return f"{_scheme(tls)}://[{host}]:{port}" if ":" in host else f"{_scheme(tls)}://{host}:{port}"


def broker_url(address: str, port: int, *, tls: bool) -> str:
    """What a worker on this machine sets as BROKER_ADDR."""
    if address.startswith("unix:"):
        return address
    host = address.rpartition(":")[0]
    return f"{_scheme(tls)}://{'localhost' if host == '[::]' else host}:{port}"


def _scheme(tls: bool) -> str:
    return "https" if tls else "http"


def is_loopback(address: str) -> bool:
    return address.startswith(LOOPBACK)
