"""Serving providers from start to drain."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable

import grpc.aio

from stdworker.errors import PluginError, SettingsError
from stdworker.host import dispatch
from stdworker.host.registry import Registry
from stdworker.model.settings import BROKER_FORMS, WorkerSettings
from stdworker.model.task import Provider
from stdworker.wire.channel import TlsFiles
from stdworker.worker.connection import Connection
from stdworker.worker.grpc_transport import Dialer, GivenChannel
from stdworker.worker.http import HttpThread
from stdworker.worker.local_socket import LocalSocket
from stdworker.worker.options import WorkerOptions
from stdworker.worker.probes import listen, probe_routes
from stdworker.worker.status import Status
from stdworker.worker.transport import Dial
from stdworker.worker.waiting import within
from stdworker.worker.watchdog import Watchdog
from stdworker.worker.worker import Worker

DRAIN_TICK_SECONDS = 0.2

log = logging.getLogger("stdworker.worker")

Providers = Iterable[Provider] | Registry


async def serve(
    providers: Providers,
    *,
    stop: asyncio.Event | None = None,
    settings: WorkerSettings | None = None,
    options: WorkerOptions | None = None,
) -> None:
    """Serve providers until `stop` is set, then drain and return.

    Reads the environment (see `WorkerSettings`) unless `settings` are given; `options` default to what these
    say. A `Registry` is served as it is, WORKER_KINDS limits any other iterable.

    Touches no signals and never exits the process. Cancelling it drains as well, then raises CancelledError;
    cancelling it while it drains stops everything at once. Raises SettingsError and PluginError before
    anything is started.
    """
    settings = settings or WorkerSettings.from_environment(os.environ)
    if settings.broker is None:
        raise SettingsError("BROKER_ADDR", None, BROKER_FORMS)
    registry = providers if isinstance(providers, Registry) else _registry(providers).only(settings.kinds)
    tls = TlsFiles.of(settings)
    if settings.broker.tls:
        tls.credentials()
    await _serve(registry, Dialer(settings.broker, tls), options or WorkerOptions.of(settings), stop)


async def run_worker(
    channel: grpc.aio.Channel,
    providers: Providers,
    options: WorkerOptions = WorkerOptions(),  # noqa: B008 - it is frozen
    *,
    stop: asyncio.Event | None = None,
) -> None:
    """The same over a channel that the caller holds, and closes afterwards. Reads no environment."""
    registry = providers if isinstance(providers, Registry) else _registry(providers)
    await _serve(registry, GivenChannel(channel), options, stop)


async def _serve(providers: Registry, dial: Dial, options: WorkerOptions, stop: asyncio.Event | None) -> None:
    if not providers:
        raise PluginError("there is no provider to serve", hint="install a plugin or name kinds", code="no_provider")
    stop = stop or asyncio.Event()
    life = asyncio.create_task(_live(Worker(providers, options), dial, stop))
    try:
        await asyncio.shield(life)
    except asyncio.CancelledError:
        await _end(life, stop)
        raise


async def _end(life: asyncio.Task[None], stop: asyncio.Event) -> None:
    """Drain; or, if it drains already or this is cancelled too, stop at once."""
    try:
        if not stop.is_set():
            stop.set()
            await asyncio.wait({life})
    finally:
        life.cancel()
        await asyncio.wait({life})


async def _live(worker: Worker, dial: Dial, stop: asyncio.Event) -> None:
    watchdog = Watchdog(worker.metrics)
    connection = Connection(worker, dial)
    servers = _servers(worker, watchdog, Status(worker, connection, watchdog))
    watchdog.start()
    connected = asyncio.create_task(_stay_connected(worker, connection))
    patience = worker.pace.abort_seconds
    try:
        await _until_stopped(stop, connected)
        await _drain(worker)
        patience = worker.pace.stop_seconds
    finally:
        if worker.ledger.open:
            await worker.stop_running(patience)
        await connection.finish(patience)
        connected.cancel()
        await asyncio.gather(connected, return_exceptions=True)
        watchdog.stop()
        for server in servers:
            await dispatch.call(worker.threads, server.close)
        await worker.close(patience)


def _servers(worker: Worker, watchdog: Watchdog, status: Status) -> list[HttpThread | LocalSocket]:
    """The probes on HEALTH_ADDR, and the same for this machine's user on a local socket."""

    def live() -> list[str]:
        return [f"the event loop has not turned for {watchdog.silent_seconds:.0f} s"] if watchdog.stuck else []

    options = worker.options
    routes = probe_routes(live=live, ready=worker.missing, metrics=worker.metrics.registry, status=status.document)
    servers: list[HttpThread | LocalSocket] = []
    if options.health_address is not None:
        servers.append(listen(options.health_address, routes))
    if options.socket_folders:
        servers.append(LocalSocket(options.socket_folders, routes))
    for server in servers:
        server.start()
    return servers


async def _stay_connected(worker: Worker, connection: Connection) -> None:
    log.info("serving %s", ", ".join(map(str, worker.providers)))
    await connection.prime()
    worker.readiness.start()
    await worker.configs.told(worker.pace.readiness_seconds)
    await within(worker.pace.readiness_seconds, worker.readiness.known())
    worker.readiness.introduce()
    await connection.run()


async def _until_stopped(stop: asyncio.Event, connected: asyncio.Task[None]) -> None:
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({stopped, connected}, return_when=asyncio.FIRST_COMPLETED)
        if connected.done():
            connected.result()
    finally:
        stopped.cancel()


async def _drain(worker: Worker) -> None:
    """Let running tasks finish within the budget, stop the others, and see the results stored."""
    log.info("draining for %g s at most", worker.options.drain_seconds)
    deadline = time.monotonic() + worker.options.drain_seconds
    worker.drain()
    if not await within(deadline - time.monotonic(), worker.ledger.quiet.wait()):
        log.warning("%d tasks are stopped: the drain budget is spent", len(worker.ledger.open))
        await worker.stop_running(worker.pace.stop_seconds)
    await _until_settled(worker, max(deadline, time.monotonic() + worker.pace.settle_seconds + 1))


async def _until_settled(worker: Worker, deadline: float) -> None:
    """The stream lives until its results are stored; one that is lost meanwhile is dialled again."""
    while time.monotonic() < deadline:
        if await within(DRAIN_TICK_SECONDS, worker.ledger.empty.wait()):
            return
        if worker.session is not None:
            worker.session.settle_by_age()
    log.warning("%d results were not taken by any broker", worker.ledger.results)


def _registry(providers: Iterable[Provider]) -> Registry:
    return Registry((p, f"{type(p).__module__}.{type(p).__qualname__}") for p in providers)
