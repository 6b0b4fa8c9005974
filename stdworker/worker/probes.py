"""/livez, /readyz and /metrics over plain HTTP, from a thread: they answer while the loop is stuck, too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from stdworker.errors import SettingsError

REQUEST_SECONDS = 5.0
POLL_SECONDS = 0.1  # how long closing takes

Check = Callable[[], list[str]]
"""What is missing, a sentence each; nothing is good."""


class Probes:
    """The HTTP server of HEALTH_ADDR."""

    def __init__(self, address: tuple[str, int], *, live: Check, ready: Check, metrics: CollectorRegistry) -> None:
        routes = {
            "/livez": lambda: _verdict(live()),
            "/readyz": lambda: _verdict(ready()),
            "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(metrics)),
        }
        try:
            self._server = _Server(address, type("Handler", (_Handler,), {"routes": routes}))
        except OSError as error:
            text = f"{address[0]}:{address[1]}"
            raise SettingsError("HEALTH_ADDR", text, "an address that can be bound", hint=str(error)) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), name="probes", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Blocks for POLL_SECONDS."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingTCPServer):
    """Not http.server's own, which looks its name up in the DNS before it listens."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)


class _Handler(BaseHTTPRequestHandler):
    routes: dict[str, Callable[[], tuple[int, str, bytes]]]
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:  # the name that http.server looks for
        answer = self.routes.get(self.path.partition("?")[0])
        status, content_type, body = answer() if answer else (404, "text/plain", b"not found\n")
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Probes come every few seconds; nobody wants them in a log."""


def _verdict(missing: list[str]) -> tuple[int, str, bytes]:
    body = "\n".join(missing) or "ok"
    return (503 if missing else 200), "text/plain; charset=utf-8", f"{body}\n".encode()
