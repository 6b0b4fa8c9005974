"""A session's connection over gRPC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

import grpc
import grpc.aio

from stdworker.model.settings import BrokerAddress
from stdworker.wire.channel import KEEPALIVE_CAUTIOUS_SECONDS, KEEPALIVE_SECONDS, TlsFiles, open_channel
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient, decode_extensions, encode_extensions
from stdworker.worker.transport import Unreachable

T = TypeVar("T")

_HINTS = (
    ("http1.x server", "what listens there is no broker; REST has an address of its own"),
    ("WRONG_VERSION_NUMBER", "no TLS is spoken there; try http:// in place of https://"),
    ("CERTIFICATE_VERIFY_FAILED", "name whom to trust in BROKER_CA_FILE"),
)
"""What gRPC says of an address that is another one, or spoken to otherwise, than was meant."""

log = logging.getLogger("stdworker.worker")


class GrpcStream:
    """See `Stream`. Cancelling a task that awaits a read or a write of grpc.aio cancels the whole RPC."""

    def __init__(self, client: WorkerClient) -> None:
        self._call = client.work_stream(metadata=encode_extensions())

    async def extensions(self) -> frozenset[str]:
        return decode_extensions(await _reached(self._call.initial_metadata()))

    async def read(self) -> pb.WorkStreamServerMsg | None:
        message = await _reached(self._call.read())
        return None if message is grpc.aio.EOF else message

    async def write(self, frame: bytes) -> None:
        await _reached(self._call.write(frame))

    async def half_close(self) -> None:
        await _reached(self._call.done_writing())

    def cancel(self) -> None:
        self._call.cancel()


class GrpcTransport:
    """See `Transport`. A channel that the caller gave stays open when the session ends."""

    def __init__(self, channel: grpc.aio.Channel, *, owned: bool) -> None:
        self._channel = channel
        self._owned = owned
        self._client = WorkerClient(channel)

    def open(self) -> GrpcStream:
        return GrpcStream(self._client)

    async def pull(self, request: pb.GetProviderConfigRequest, timeout_seconds: float) -> pb.GetProviderConfigResponse:
        answer: pb.GetProviderConfigResponse = await _reached(
            self._client.get_provider_config(request, timeout=timeout_seconds)
        )
        return answer

    async def close(self) -> None:
        if self._owned:
            await self._channel.close()


class Dialer:
    """Makes a new channel at each call, and pings less often once a server said that it was too often."""

    def __init__(self, address: BrokerAddress, tls: TlsFiles | None = None) -> None:
        self._address = address
        self._tls = tls
        self._keepalive_seconds = KEEPALIVE_SECONDS

    def __str__(self) -> str:
        return self._address.target

    def __call__(self) -> GrpcTransport:
        channel = open_channel(self._address, self._tls, keepalive_seconds=self._keepalive_seconds)
        return GrpcTransport(channel, owned=True)

    def note(self, error: Unreachable) -> None:
        """Learn from how a session ended."""
        if "too_many_pings" in error.message and self._keepalive_seconds == KEEPALIVE_SECONDS:
            self._keepalive_seconds = KEEPALIVE_CAUTIOUS_SECONDS
            log.info("the broker allows fewer keepalive pings: one every %d s from now on", self._keepalive_seconds)


class GivenChannel:
    """The channel of a caller, again at each dial; gRPC itself connects it anew."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def __str__(self) -> str:
        return "the other end of the given channel"

    def __call__(self) -> GrpcTransport:
        return GrpcTransport(self._channel, owned=False)

    def note(self, error: Unreachable) -> None:
        """Its options are the caller's."""


async def _reached(answer: Awaitable[T]) -> T:
    """Await a gRPC call; whatever it fails with is Unreachable."""
    try:
        return await answer
    except grpc.aio.AioRpcError as error:
        timed_out = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        told = f"{error.code().name.lower()}: {error.details()}"
        hint = next((hint for sign, hint in _HINTS if sign in told), "")
        raise Unreachable(told, timed_out=timed_out, hint=hint) from None
    except asyncio.InvalidStateError as error:  # written after the stream's end
        raise Unreachable(str(error)) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Unreachable("the broker cancelled the stream") from None  # grpc.aio says it this way
