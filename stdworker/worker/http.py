"""A small HTTP server in a thread: it answers while the event loop is stuck, too."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn, UnixStreamServer
from typing import Any, NamedTuple

REQUEST_SECONDS = 5.0
POLL_SECONDS = 0.1  # how long closing takes

log = logging.getLogger("stdworker.worker")


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    content_type: str
    body: bytes


Routes = Mapping[str, Callable[[], Answer]]
"""What answers a GET of each path."""


class HttpThread:
    """Serves routes on a TCP address or, in `path`, on a Unix socket. Raises OSError when it can't listen."""

    def __init__(self, address: tuple[str, int] | Path, routes: Routes) -> None:
        handler = type("Handler", (_Handler,), {"routes": routes})
        self._server: _TcpServer | _UnixServer
        if isinstance(address, Path):
            self._server = _UnixServer(str(address), handler)
        else:
            self._server = _TcpServer(address, handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), name="probes", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.socket.getsockname()[1])

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Blocks for POLL_SECONDS."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


class _Threads(ThreadingMixIn):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no trouble of ours."""
        log.debug("a request to the probes broke off", exc_info=True)


class _TcpServer(_Threads, TCPServer):
    """Not http.server's own, which looks its name up in the DNS before it listens."""

    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)


class _UnixServer(_Threads, UnixStreamServer):
    pass


class _Handler(BaseHTTPRequestHandler):
    routes: Routes
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:  # the name that http.server looks for
        answer = self._answer()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815

    def _answer(self) -> Answer:
        route = self.routes.get(self.path.partition("?")[0])
        if route is None:
            return Answer(404, "text/plain", b"not found\n")
        try:
            return route()
        except Exception:
            log.exception("%s failed, which is a fault of this program", self.path)
            return Answer(500, "text/plain", b"failed\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Probes come every few seconds; nobody wants them in a log."""
