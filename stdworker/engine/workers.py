"""The side of `converge serve` that workers see: the broker and its listener, or nothing but this process' name."""

from __future__ import annotations

import asyncio
from typing import Protocol

from stdworker.engine.broker import Broker, GrpcServer, Membership, member_id
from stdworker.engine.listening import broker_url, listen, try_unix
from stdworker.engine.reconcile import Engine
from stdworker.engine.settings import ServeSettings
from stdworker.errors import SettingsError

REFUSING_SECONDS = 5.0  # for calls that are still open when the drain is over: a worker may read nothing any more
CUT_SECONDS = 0.2  # for the same when nothing is waited for


class WorkerSide(Protocol):
    """`address` is what a worker on this machine dials, empty where none can."""

    address: str

    async def start(self) -> None: ...

    async def run(self) -> None:
        """Work until cancelled."""
        ...

    async def drain(self, seconds: float, abort: asyncio.Event) -> None:
        """Hand out nothing more and let results land for so long, at most; `abort` ends every wait."""
        ...


class Workers:
    """A broker whose address is bound. Raises SettingsError when that can't be had."""

    def __init__(self, engine: Engine, settings: ServeSettings) -> None:
        self._broker = Broker(
            engine,
            reconnect_seconds=settings.reconnect_seconds,
            liveness_seconds=settings.liveness_seconds,
            role=settings.role,
        )
        tls = settings.tls if settings.broker_tls else None
        self._grpc = GrpcServer(self._broker, tls, settings.worker_spiffe_ids)
        self.address = broker_url(settings.broker, self._listen(settings.broker), tls=settings.broker_tls)

    def _listen(self, address: str) -> int:
        """A plain socket is tried first, because grpc doesn't say why it can't."""
        if address.startswith("unix:"):
            try_unix("BROKER_ADDR_LISTEN", address)
        else:
            host, _, port = address.rpartition(":")
            listen("BROKER_ADDR_LISTEN", "" if host == "[::]" else host.strip("[]"), int(port)).close()
        try:
            return self._grpc.listen(address)
        except OSError as error:
            reason = str(error).partition(";")[0]
            raise SettingsError("BROKER_ADDR_LISTEN", address, "an address that is free", hint=reason) from None

    async def start(self) -> None:
        await self._grpc.start()

    async def run(self) -> None:
        await self._broker.run()

    async def drain(self, seconds: float, abort: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as stopping:
            stopping.create_task(self._grpc.stop(seconds + REFUSING_SECONDS))
            cutting = stopping.create_task(self._cut(abort))
            await self._broker.drain(seconds, abort)
            await self._grpc.stop(REFUSING_SECONDS)
            cutting.cancel()

    async def _cut(self, abort: asyncio.Event) -> None:
        await abort.wait()
        await self._grpc.stop(CUT_SECONDS)


class NoWorkers:
    """A process that serves REST alone is listed among the others all the same."""

    address = ""

    def __init__(self, engine: Engine, settings: ServeSettings) -> None:
        self._membership = Membership(engine, member_id(), role=settings.role)

    async def start(self) -> None:
        return None

    async def run(self) -> None:
        await self._membership.run()

    async def drain(self, seconds: float, abort: asyncio.Event) -> None:
        self._membership.drain()
        await self._membership.leave()
