"""Addresses of `converge serve`: binding them, and telling them."""

from __future__ import annotations

import socket

from stdworker.errors import SettingsError

BACKLOG = 1_024
LOOPBACK = ("localhost", "127.", "::1", "[::1]", "unix:")


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
    return listener


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
