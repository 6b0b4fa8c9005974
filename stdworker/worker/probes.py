"""What a worker answers over HTTP: /livez, /readyz, /metrics and /status."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from stdworker.errors import SettingsError
from stdworker.worker.http import Answer, HttpThread, Routes

Check = Callable[[], list[str]]
"""What is missing, a sentence each; nothing is good."""


def probe_routes(*, live: Check, ready: Check, metrics: CollectorRegistry, status: Callable[[], bytes]) -> Routes:
    """Each is called on a thread of the server."""
    return {
        "/livez": lambda: _verdict(live()),
        "/readyz": lambda: _verdict(ready()),
        "/metrics": lambda: Answer(200, CONTENT_TYPE_LATEST, generate_latest(metrics)),
        "/status": lambda: Answer(200, "application/json", status()),
    }


def listen(address: tuple[str, int], routes: Routes) -> HttpThread:
    """The server of HEALTH_ADDR. Raises SettingsError when the address can't be had."""
    try:
        return HttpThread(address, routes)
    except OSError as error:
        text = f"{address[0]}:{address[1]}"
        raise SettingsError("HEALTH_ADDR", text, "an address that can be bound", hint=str(error.strerror)) from None


def _verdict(missing: list[str]) -> Answer:
    body = "\n".join(missing) or "ok"
    return Answer(503 if missing else 200, "text/plain; charset=utf-8", f"{body}\n".encode())
