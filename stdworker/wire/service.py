"""The service's methods for grpc, client and server side, without generated stubs.

Stubs made by grpcio-tools refuse every grpcio older than themselves; paths and (de)serializers are all that
they hold.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from stdworker.wire.generated import worker_pb2 as pb

SERVICE = "converge.worker.v1.WorkerService"
WORK_STREAM = f"/{SERVICE}/WorkStream"
GET_PROVIDER_CONFIG = f"/{SERVICE}/GetProviderConfig"

EXTENSIONS_KEY = "converge-extensions"
EXTENSIONS = ("batch", "cancel", "drain", "progress", "settled", "alive")


def encode_extensions(names: tuple[str, ...] = EXTENSIONS) -> tuple[tuple[str, str], ...]:
    """The metadata that lists what this side understands."""
    return ((EXTENSIONS_KEY, ",".join(names)),) if names else ()


def decode_extensions(metadata: Any) -> frozenset[str]:
    """The extensions that a peer listed in its metadata; none from a peer that knows only the base contract."""
    listed = [value for key, value in metadata or () if key.lower() == EXTENSIONS_KEY]
    return frozenset(name.strip() for value in listed for name in str(value).split(","))


def _as_is(frame: bytes) -> bytes:
    return frame


class WorkerClient:
    """The two methods on a channel. `work_stream` writes frames that are already serialized."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.work_stream = channel.stream_stream(
            WORK_STREAM,
            request_serializer=_as_is,
            response_deserializer=pb.WorkStreamServerMsg.FromString,
        )
        self.get_provider_config = channel.unary_unary(
            GET_PROVIDER_CONFIG,
            request_serializer=pb.GetProviderConfigRequest.SerializeToString,
            response_deserializer=pb.GetProviderConfigResponse.FromString,
        )


WorkStream = Callable[
    [AsyncIterable[pb.WorkStreamClientMsg], "grpc.aio.ServicerContext[Any, Any]"],
    Any,
]
GetProviderConfig = Callable[
    [pb.GetProviderConfigRequest, "grpc.aio.ServicerContext[Any, Any]"],
    Awaitable[pb.GetProviderConfigResponse],
]


def service_handler(work_stream: WorkStream, get_provider_config: GetProviderConfig) -> grpc.GenericRpcHandler:
    """What `Server.add_generic_rpc_handlers` takes; frames sent may be messages or already serialized."""
    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "WorkStream": grpc.stream_stream_rpc_method_handler(
                work_stream,
                request_deserializer=pb.WorkStreamClientMsg.FromString,
                response_serializer=_serialize,
            ),
            "GetProviderConfig": grpc.unary_unary_rpc_method_handler(
                get_provider_config,
                request_deserializer=pb.GetProviderConfigRequest.FromString,
                response_serializer=pb.GetProviderConfigResponse.SerializeToString,
            ),
        },
    )


def _serialize(frame: pb.WorkStreamServerMsg | bytes) -> bytes:
    return frame if isinstance(frame, bytes) else frame.SerializeToString()
