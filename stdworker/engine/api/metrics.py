"""Counting requests, and what `/metrics` shows of the engine."""

from __future__ import annotations

import time

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CONTENT_TYPE_LATEST", "Measure", "exposition"]

_requests = Counter("converge_http_requests", "Requests answered.", ["method", "route", "status"])
_seconds = Histogram("converge_http_request_seconds", "How long requests took.", ["route"])
_resources = Gauge("converge_resources", "Resources by kind and phase.", ["kind", "phase"])
_deliveries = Gauge("converge_deliveries", "What reactors have not taken, by state: waiting, or dead.", ["state"])


class Measure:
    """ASGI middleware that counts and times each request by its route, not by its path."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500
        begun = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            _requests.labels(scope["method"], route, status).inc()
            _seconds.labels(route).observe(time.perf_counter() - begun)


def exposition(by_kind: dict[str, dict[str, int]], deliveries: dict[str, int]) -> bytes:
    """All metrics of this process as Prometheus text, with what the store counts now."""
    for state, count in deliveries.items():
        _deliveries.labels(state).set(count)
    _resources.clear()
    for kind, phases in by_kind.items():
        for phase, count in phases.items():
            _resources.labels(kind, phase).set(count)
    return generate_latest(REGISTRY)
