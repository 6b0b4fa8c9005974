"""`converge serve`: the engine, its REST API and its broker on one event loop, or a part of these."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from stdworker.engine.api import Access, build_app, build_probes
from stdworker.engine.listening import is_loopback, listen, rest_url
from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.settings import ServeSettings
from stdworker.engine.tls import ServerTls, identity_of
from stdworker.engine.workers import NoWorkers, Workers, WorkerSide

log = logging.getLogger("stdworker.server")

REQUESTS_SECONDS = 5.0  # for HTTP requests under way at the end


class Server:
    """An open engine with its listeners bound. Use as an async context manager, then `run`."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._resources = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Server:
        """Raises SettingsError for an address that can't be had and for TLS files that can't be used, StoreError for
        a store that can't be opened.
        """
        async with contextlib.AsyncExitStack() as opening:
            await self._open(opening)
            self._resources = opening.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._resources.aclose()

    async def _open(self, opening: contextlib.AsyncExitStack) -> None:
        settings = self._settings
        if settings.tls:
            settings.tls.context()
        variable, (self._host, port) = http_address(settings)
        self._listener = opening.enter_context(listen(variable, self._host, port))
        self._engine = await Engine.open(settings.database_url, engine_options(settings), read_url=settings.read_url)
        opening.push_async_callback(self._engine.close)
        side = NoWorkers if settings.role == "control" else Workers
        self._workers: WorkerSide = side(self._engine, settings)
        self._app = self._build_app()
        self._tls = settings.tls if settings.rest_tls and settings.role != "broker" else None
        self._http = HttpServer(http_config(self._app, self._tls))

    def _build_app(self) -> FastAPI:
        settings = self._settings
        hosts = (self._host, *settings.allowed_hosts)
        if settings.role == "broker":
            return build_probes(self._engine, access=Access(hosts))
        access = Access(hosts, settings.api_spiffe_ids, settings.cors_origins, settings.requests_per_second_max)
        return build_app(self._engine, store=database_kind(settings), access=access)

    async def run(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None:
        """Serve until `stop` is set, then drain: hand out nothing more, let results land, release the rest.

        `abort` ends the draining at once. Raises what ends a part of the server early.
        """
        await self._workers.start()
        async with asyncio.TaskGroup() as parts:
            abort = abort or asyncio.Event()
            endless = [self._engine.run(), self._workers.run(), self._hurry(abort)]
            running = [parts.create_task(part) for part in endless]
            http = parts.create_task(self._http.serve(sockets=[self._listener]))
            self._announce()
            await stop.wait()
            await self._drain(abort)
            self._http.should_exit = True
            await http
            for part in running:
                part.cancel()

    async def _hurry(self, abort: asyncio.Event) -> None:
        await abort.wait()
        self._http.force_exit = True

    def _announce(self) -> None:
        serves = "probes" if self._settings.role == "broker" else "REST and docs"
        address = rest_url(self._host, self._listener.getsockname()[1], tls=self._tls is not None)
        workers = f"broker on {self._workers.address}" if self._workers.address else "no broker"
        log.info("ready: %s on %s, %s, store %s", serves, address, workers, database_kind(self._settings))
        for what, variable in unguarded(self._settings):
            told = "%s listens beyond this machine without mutual TLS: whoever reaches it may change everything"
            log.warning(f"{told}; set %s to a loopback address, or TLS_CLIENT_CA_FILE", what, variable)

    async def _drain(self, abort: asyncio.Event) -> None:
        seconds = self._settings.drain_seconds
        log.info("draining for at most %g s", seconds)
        self._app.state.draining = True
        if self._app.state.feed:
            self._app.state.feed.close()
        await self._workers.drain(seconds, abort)
        log.info("drained")


class HttpServer(uvicorn.Server):
    """A uvicorn that leaves signals to its owner; the stock one would end open streams and raise them again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Identified(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Tells the application who opened the connection, which ASGI has no word for."""

    app_state: dict[str, Any]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        if connection and (certificate := connection.getpeercert()):
            self.app_state = {**self.app_state, "identity": identity_of(certificate)}


def http_config(app: FastAPI, tls: ServerTls | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Identified,
        ssl_context_factory=(lambda *_: tls.context()) if tls else None,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(REQUESTS_SECONDS),
    )


def engine_options(settings: ServeSettings) -> EngineOptions:
    return EngineOptions(
        liveness_seconds=settings.liveness_seconds,
        retry_base_seconds=settings.retry_base_seconds,
        retry_cap_seconds=settings.retry_cap_seconds,
        revisions_keep=settings.revisions_keep,
        events_keep=settings.events_keep,
        events_keep_seconds=settings.events_keep_seconds,
        sqlite_synchronous=settings.sqlite_synchronous,
    )


def database_kind(settings: ServeSettings) -> str:
    return "sqlite" if settings.database_url.startswith("sqlite") else "postgres"


def http_address(settings: ServeSettings) -> tuple[str, tuple[str, int]]:
    """Where HTTP is served, REST or the probes of a process without it, and which variable says so."""
    return ("HEALTH_ADDR", settings.health) if settings.role == "broker" else ("LISTEN_ADDR", settings.rest)


def unguarded(settings: ServeSettings) -> Iterator[tuple[str, str]]:
    """What can be changed by whoever reaches this machine, and which variable says so."""
    is_mutual = settings.tls is not None and settings.tls.is_mutual
    if settings.role != "broker" and not is_loopback(settings.rest[0]) and not (settings.rest_tls and is_mutual):
        yield "REST", "LISTEN_ADDR"
    if settings.role != "control" and not is_loopback(settings.broker) and not (settings.broker_tls and is_mutual):
        yield "the broker", "BROKER_ADDR_LISTEN"
