"""`converge serve`: the engine, its REST API and its broker on one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI

from stdworker.engine.api import build_app
from stdworker.engine.broker import Broker, BrokerOptions, GrpcServer
from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.settings import ServeSettings
from stdworker.errors import SettingsError

log = logging.getLogger("stdworker.server")

REQUESTS_SECONDS = 5.0  # for HTTP requests under way at the end
BACKLOG = 1_024
LOOPBACK = ("localhost", "127.", "::1", "[::1]", "unix:")


class Server:
    """An open engine with both listeners bound. Use as an async context manager, then `run`."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._resources = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Server:
        """Raises SettingsError for an address that can't be had, StoreError for a store that can't be opened."""
        async with contextlib.AsyncExitStack() as opening:
            await self._open(opening)
            self._resources = opening.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._resources.aclose()

    async def _open(self, opening: contextlib.AsyncExitStack) -> None:
        settings = self._settings
        self._listener = opening.enter_context(listen("LISTEN_ADDR", *settings.rest))
        self._engine = await Engine.open(settings.database_url, engine_options(settings))
        opening.push_async_callback(self._engine.close)
        self._broker = Broker(self._engine, BrokerOptions(settings.reconnect_seconds, settings.liveness_seconds))
        self._grpc = GrpcServer(self._broker)
        self.rest_address = rest_url(settings.rest[0], self._listener.getsockname()[1])
        self.broker_address = broker_url(settings.broker, self._listen_grpc())
        hosts = (settings.rest[0], *settings.allowed_hosts)
        self._app = build_app(self._engine, store=database_kind(settings), hosts=hosts)
        self._http = HttpServer(http_config(self._app))

    def _listen_grpc(self) -> int:
        """Bind the broker's address; a plain socket is tried first, because grpc doesn't say why it can't."""
        address = self._settings.broker
        if not address.startswith("unix:"):
            host, _, port = address.rpartition(":")
            listen("BROKER_ADDR_LISTEN", "" if host == "[::]" else host.strip("[]"), int(port)).close()
        try:
            return self._grpc.listen(address)
        except OSError as error:
            reason = str(error).partition(";")[0]
            raise SettingsError("BROKER_ADDR_LISTEN", address, "an address that is free", hint=reason) from None

    async def run(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None:
        """Serve until `stop` is set, then drain: hand out nothing more, let results land, release the rest.

        `abort` ends the draining at once. Raises what ends a part of the server early.
        """
        await self._grpc.start()
        async with asyncio.TaskGroup() as parts:
            abort = abort or asyncio.Event()
            endless = [self._engine.run(), self._broker.run(), self._hurry(abort)]
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
        store = database_kind(self._settings)
        log.info("ready: REST and docs on %s, broker on %s, store %s", self.rest_address, self.broker_address, store)
        if not (is_loopback(self._settings.rest[0]) and is_loopback(self._settings.broker)):
            log.warning("listening beyond this machine without TLS: whoever reaches the ports may change everything")

    async def _drain(self, abort: asyncio.Event) -> None:
        seconds = self._settings.drain_seconds
        log.info("draining for at most %g s", seconds)
        self._app.state.draining = True
        self._app.state.feed.close()
        refusing = asyncio.create_task(self._grpc.stop(seconds + REQUESTS_SECONDS))
        await self._broker.drain(seconds, abort)
        await refusing
        log.info("drained")


class HttpServer(uvicorn.Server):
    """A uvicorn that leaves signals to its owner; the stock one would end open streams and raise them again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
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
        events_keep=settings.events_keep,
        events_keep_seconds=settings.events_keep_seconds,
        sqlite_synchronous=settings.sqlite_synchronous,
    )


def database_kind(settings: ServeSettings) -> str:
    return "sqlite" if settings.database_url.startswith("sqlite") else "postgres"


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


def rest_url(host: str, port: int) -> str:
    """Where a browser on this machine finds it."""
    host = host or "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def broker_url(address: str, port: int) -> str:
    """What a worker on this machine sets as BROKER_ADDR."""
    if address.startswith("unix:"):
        return address
    host = address.rpartition(":")[0]
    return f"http://{'localhost' if host == '[::]' else host}:{port}"


def is_loopback(address: str) -> bool:
    return address.startswith(LOOPBACK)
