"""What to do when no engine answers, by what there is evidence of."""

from __future__ import annotations

import socket
import ssl

import httpx

PROBE_SECONDS = 1.0

_HINTS = (
    ("WRONG_VERSION_NUMBER", "No TLS is spoken there; try http:// in place of https://."),
    ("CERTIFICATE_VERIFY_FAILED", "Name whom to trust with --tls-ca, or say --insecure to trust anybody."),
    ("CERTIFICATE_REQUIRED", "It wants to know who asks: --tls-cert and --tls-key."),
    ("illegal request line", "What listens there is not the REST API; the broker has an address of its own."),
)
_CLOSED = "closed"
_HUNG_UP = ("without sending a response", "Connection reset by peer")


def hint(reason: str, server: str) -> str:
    """What to do, by a part of the reason; who was hung up on without a word is told what a look at the place shows."""
    if any(part in reason for part in _HUNG_UP):
        return _hung_up(httpx.URL(server))
    meant = (told for part, told in _HINTS if part in reason)
    return next(meant, "Start one with `converge serve`, or name its address with --server or CONVERGE_SERVER.")


def _hung_up(server: httpx.URL) -> str:
    seen = _seen(server)
    if server.scheme == "http" and seen is not None:
        return "It speaks TLS: try https://."
    if server.scheme == "https" and "CERTIFICATE_REQUIRED" in (seen or ""):
        return "It wants to know who asks: --tls-cert and --tls-key."
    if server.scheme == "https" and seen == _CLOSED:
        return "It may want to know who asks: --tls-cert and --tls-key."
    return "The connection was cut: is it being restarted, or is there something between here and it?"


def _seen(server: httpx.URL) -> str | None:
    """What is said to a client of TLS that has no certificate, "" for nothing; None where no TLS is spoken.

    TLS 1.3 tells a client only after its handshake that it should have had one. Python's own servers just close then.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (server.host, server.port or (443 if server.scheme == "https" else 80))
    is_spoken = False
    try:
        with (
            socket.create_connection(address, PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=server.host) as secure,
        ):
            is_spoken = True
            if not secure.recv(1):
                return _CLOSED
    except ssl.SSLError as error:
        return str(error) if is_spoken or "ALERT" in str(error) else None
    except (OSError, ValueError):
        pass
    return "" if is_spoken else None
