"""The broker on gRPC.

A coroutine that waits for a read or a write must not be cancelled: grpc then cancels the whole call. So each call
has one reading and one writing task, and whoever waits for them does so with `asyncio.wait`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from stdworker.engine.broker.broker import Broker
from stdworker.engine.broker.session import Session
from stdworker.engine.broker.subscription import Subscription, parse_subscribe
from stdworker.engine.tls import Identity, Pems, ServerTls, identity, is_allowed
from stdworker.errors import ProtocolError, StdworkerError
from stdworker.model.kind import KindVersion
from stdworker.wire.channel import LIMITS, MESSAGE_BYTES_MAX
from stdworker.wire.convert import encode_config_entry
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import decode_extensions, encode_extensions, service_handler

log = logging.getLogger("stdworker.broker")

SUBSCRIBE_SECONDS = 30.0  # from the start of a call to its first frame
FAREWELL_SECONDS = 5.0  # from a goodbye to the end: for storing and telling the last results
CANCELLED_SECONDS = 0.1  # a broken stream reads like a goodbye first; its cancellation follows
COMPRESS_BYTES = 256 * 1024  # below, compressing takes longer than sending

OPTIONS = (
    *LIMITS,
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
)

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class GrpcServer:
    """The worker service on a grpc.aio server."""

    def __init__(self, broker: Broker, tls: ServerTls | None = None, spiffe_ids: Collection[str] = ()) -> None:
        """`spiffe_ids` are the workers that are served, all if there are none."""
        self._broker = broker
        self._tls = tls
        self._spiffe_ids = spiffe_ids
        self._server = grpc.aio.server(options=OPTIONS)
        self._server.add_generic_rpc_handlers((service_handler(self._work_stream, self._get_provider_config),))

    def listen(self, address: str) -> int:
        """Bind `host:port` or `unix:///path`; the port that was bound.

        Raises OSError when it can't be, SettingsError for TLS files that can't be used.
        """
        credentials = server_credentials(self._tls) if self._tls else None
        try:
            port: int = (
                self._server.add_secure_port(address, credentials)
                if credentials
                else self._server.add_insecure_port(address)
            )
        except RuntimeError as error:
            raise OSError(str(error)) from None
        return port

    async def start(self) -> None:
        await self._server.start()

    async def stop(self, seconds: float) -> None:
        """Refuse new calls at once; give open ones so long to end by themselves."""
        await self._server.stop(seconds)

    # ---- methods ----

    async def _get_provider_config(
        self, request: pb.GetProviderConfigRequest, context: Context
    ) -> pb.GetProviderConfigResponse:
        await self._admit(context)
        versions = [*request.kind_versions, *[1] * len(request.kinds)]
        pairs = [KindVersion(kind, max(1, version)) for kind, version in zip(request.kinds, versions, strict=False)]
        try:
            configs = await self._broker.defaults(pairs)
        except StdworkerError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        return pb.GetProviderConfigResponse(entries=[encode_config_entry(pair, configs[pair]) for pair in configs])

    async def _admit(self, context: Context) -> None:
        if self._spiffe_ids and not is_allowed(who := _identity(context), self._spiffe_ids):
            log.warning("turned away a worker at %s: %s is none of WORKER_AUTHZ_SPIFFE_IDS", context.peer(), who.actor)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, f"{who.actor} may not work for this engine")

    async def _work_stream(self, _requests: object, context: Context) -> None:
        await self._admit(context)
        context.set_compression(grpc.Compression.Gzip)
        await context.send_initial_metadata(encode_extensions())
        session = await self._open(context)
        reading = asyncio.create_task(self._read(session, context))
        writing = asyncio.create_task(self._write(session, context))
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
            if session.outbox.closed:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the broker is shutting down")
            if reading.done() and not writing.done():
                await self._end(session, context, reading, writing)
        finally:
            self._broker.close(session, goodbye=False)
            await _stop(reading, writing)

    async def _open(self, context: Context) -> Session:
        try:
            subscription = await self._subscription(context)
            return await self._broker.open(subscription)
        except ProtocolError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except StdworkerError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        raise AssertionError("abort raises")

    async def _subscription(self, context: Context) -> Subscription:
        first = asyncio.create_task(_next_frame(context))
        await asyncio.wait({first}, timeout=SUBSCRIBE_SECONDS)
        if not first.done():
            raise ProtocolError(f"no frame came within {SUBSCRIBE_SECONDS:.0f} s; expected Subscribe")
        message = first.result() or pb.WorkStreamClientMsg()
        return parse_subscribe(message, decode_extensions(context.invocation_metadata()), context.peer())

    async def _read(self, session: Session, context: Context) -> None:
        """Take frames in until the stream ends."""
        while (message := await _next_frame(context)) is not None:
            await self._broker.receive(session, message)

    async def _write(self, session: Session, context: Context) -> None:
        """Write what waits until the session is closed and nothing does."""
        while (frame := await self._told(session)) is not None:
            if len(frame) > MESSAGE_BYTES_MAX:
                log.error("a frame of %d bytes for worker %s is too large to be sent", len(frame), session.worker)
                continue
            if len(frame) < COMPRESS_BYTES:
                context.disable_next_message_compression()
            await context.write(frame)

    async def _told(self, session: Session) -> bytes | None:
        """What to tell next. That it can't be said is our own fault and logged, as no broken connection is."""
        try:
            return await session.outbox.next()
        except Exception:
            log.exception("what is to be told to worker %s can't be said, and its stream ends", session.worker)
            raise

    async def _end(
        self, session: Session, context: Context, reading: asyncio.Task[None], writing: asyncio.Task[None]
    ) -> None:
        """The worker sends no more: store and tell its last results, release what it still holds."""
        error = reading.exception()
        if isinstance(error, ProtocolError):
            log.warning("worker %s breaks the contract: %s", session.worker, error)
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if error is not None:
            log.error("reading from worker %s failed", session.worker, exc_info=error)
            await context.abort(grpc.StatusCode.INTERNAL, "the broker failed")
        if session.running:
            await asyncio.sleep(CANCELLED_SECONDS)  # this call is cancelled now if the stream broke
        await session.wait_settled(FAREWELL_SECONDS)
        self._broker.close(session, goodbye=True)
        await asyncio.wait({writing}, timeout=FAREWELL_SECONDS)


def server_credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Credentials that follow the files; a rotation is seen at the next handshake."""
    told = tls.pems()

    def renewed() -> Any:
        nonlocal told
        if (now := tls.pems()) == told:
            return None
        told = now
        return _configuration(now)

    return grpc.dynamic_ssl_server_credentials(_configuration(told), renewed, tls.is_mutual)


def _configuration(pems: Pems) -> Any:
    return grpc.ssl_server_certificate_configuration([(pems.key, pems.cert)], pems.client_ca)


def _identity(context: Context) -> Identity:
    shown = context.auth_context()
    uris = [uri.decode(errors="replace") for uri in shown.get("peer_uri", ())]
    return identity(uris, b"".join(shown.get("x509_common_name", ())).decode(errors="replace"))


async def _next_frame(context: Context) -> pb.WorkStreamClientMsg | None:
    """The next frame, None at the end. Raises ProtocolError for bytes that are none."""
    try:
        message = await context.read()
    except DecodeError as error:
        raise ProtocolError(f"a frame can't be decoded: {error}", code="bad_frame") from None
    return None if message is grpc.aio.EOF else message


async def _stop(*tasks: asyncio.Task[None]) -> None:
    """End the tasks of a call that is over; how they end says nothing new."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
