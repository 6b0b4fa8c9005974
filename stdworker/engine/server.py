"""`converge serve`: the engine, its REST API and its broker on one event loop, or a part of these."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from stdworker.engine.api import Access, build_app, build_probes
from stdworker.engine.listening import Crowded, is_loopback, listen, rest_url
from stdworker.engine.reconcile import Engine
from stdworker.engine.settings import ServeSettings
from stdworker.engine.store.sqlite_lock import alone
from stdworker.engine.tls import ServerTls, identity_of
from stdworker.engine.workers import NoWorkers, Workers, WorkerSide

log = logging.getLogger("stdworker.server")

REQUESTS_SECONDS = 5.0  # for HTTP requests under way at the end
# An idle connection that both ends close at once loses a request: proxies keep theirs for 60 s as a rule.
IDLE_SECONDS = 75
HEAD_SECONDS = 30.0  # until the line and the headers of a request are there


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
        bound = [
            (variable, opening.enter_context(listen(variable, *address)))
            for variable, address in http_addresses(settings)
        ]
        if settings.database_url.startswith("sqlite:"):
            opening.enter_context(alone(Path(settings.database_url.removeprefix("sqlite:///"))))
        self._engine = await Engine.open(settings.database_url, settings, read_url=settings.read_url)
        opening.push_async_callback(self._engine.close)
        side = NoWorkers if settings.role == "control" else Workers
        self._workers: WorkerSide = side(self._engine, settings)
        self._sites = [
            self._probes(listener) if variable == "HEALTH_ADDR" else self._rest(listener)
            for variable, listener in bound
        ]

    def _rest(self, listener: socket.socket) -> Site:
        settings = self._settings
        hosts = (settings.rest[0], *settings.allowed_hosts)
        access = Access(hosts, settings.api_spiffe_ids, settings.cors_origins, settings.requests_per_second_max)
        app = build_app(self._engine, store=database_kind(settings), access=access)
        return Site("REST and docs", app, settings.rest[0], listener, settings.tls if settings.rest_tls else None)

    def _probes(self, listener: socket.socket) -> Site:
        assert self._settings.health is not None
        host = self._settings.health[0]
        app = build_probes(self._engine, access=Access((host, *self._settings.allowed_hosts)))
        return Site("probes", app, host, listener)

    async def run(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None:
        """Serve until `stop` is set, then drain: hand out nothing more, let results land, release the rest.

        `abort` ends the draining at once. Raises what ends a part of the server early.
        """
        asyncio.get_running_loop().set_exception_handler(Crowded())
        await self._workers.start()
        async with asyncio.TaskGroup() as parts:
            abort = abort or asyncio.Event()
            endless = [self._engine.run(), self._workers.run(), self._hurry(abort)]
            running = [parts.create_task(part) for part in endless]
            serving = [parts.create_task(site.serve([site.listener])) for site in self._sites]
            self._announce()
            await stop.wait()
            await self._drain(abort)
            for site in self._sites:
                site.should_exit = True
            await asyncio.wait(serving)
            for part in running:
                part.cancel()

    async def _hurry(self, abort: asyncio.Event) -> None:
        await abort.wait()
        for site in self._sites:
            site.force_exit = True

    def _announce(self) -> None:
        sites = ", ".join(f"{site.what} on {site.url}" for site in self._sites)
        workers = f"broker on {self._workers.address}" if self._workers.address else "no broker"
        log.info("ready: %s, %s, store %s", sites, workers, database_kind(self._settings))
        for what, variable in unguarded(self._settings):
            told = "%s listens beyond this machine without mutual TLS: whoever reaches it may change everything"
            log.warning(f"{told}; set %s to a loopback address, or TLS_CLIENT_CA_FILE", what, variable)

    async def _drain(self, abort: asyncio.Event) -> None:
        seconds = self._settings.drain_seconds
        log.info("draining for at most %g s", seconds)
        for site in self._sites:
            site.app.state.draining = True
            if site.app.state.feed:
                site.app.state.feed.close()
        await self._workers.drain(seconds, abort)
        log.info("drained")


class Site(uvicorn.Server):
    """An application on a bound address; `what` and `url` are told to people.

    It leaves signals to its owner; the stock server would end open streams and raise them again.
    """

    def __init__(
        self, what: str, app: FastAPI, host: str, listener: socket.socket, tls: ServerTls | None = None
    ) -> None:
        super().__init__(http_config(app, tls))
        self.what = what
        self.app = app
        self.url = rest_url(host, listener.getsockname()[1], tls=tls is not None)
        self.listener = listener

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Tells the application who opened it, which ASGI has no word for; is closed when no whole head comes."""

    app_state: dict[str, Any]
    awaited: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        if connection and (certificate := connection.getpeercert()):
            self.app_state = {**self.app_state, "identity": identity_of(certificate)}
        self.await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.await_head()

    def await_head(self) -> None:
        """The stock protocol bounds only how long it is idle after an answer."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.awaited is None:
            self.awaited = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif not is_idle and self.awaited is not None:
            self.awaited.cancel()
            self.awaited = None


def http_config(app: FastAPI, tls: ServerTls | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ssl_context_factory=(lambda *_: tls.context()) if tls else None,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(REQUESTS_SECONDS),
    )


def database_kind(settings: ServeSettings) -> str:
    return "sqlite" if settings.database_url.startswith("sqlite") else "postgres"


def http_addresses(settings: ServeSettings) -> Iterator[tuple[str, tuple[str, int]]]:
    """Where HTTP is served, and which variable says so."""
    if settings.role != "broker":
        yield "LISTEN_ADDR", settings.rest
    if settings.health:
        yield "HEALTH_ADDR", settings.health


def unguarded(settings: ServeSettings) -> Iterator[tuple[str, str]]:
    """What can be changed by whoever reaches this machine, and which variable says so."""
    is_mutual = settings.tls is not None and settings.tls.is_mutual
    if settings.role != "broker" and not is_loopback(settings.rest[0]) and not (settings.rest_tls and is_mutual):
        yield "REST", "LISTEN_ADDR"
    if settings.role != "control" and not is_loopback(settings.broker) and not (settings.broker_tls and is_mutual):
        yield "the broker", "BROKER_ADDR_LISTEN"
