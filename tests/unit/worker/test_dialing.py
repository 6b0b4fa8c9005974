"""What is said of an address where no broker can be spoken to."""

import asyncio

import pytest

from stdworker.model.settings import BrokerAddress
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.grpc_transport import Dialer
from stdworker.worker.transport import Unreachable

HANG_SECONDS = 30


async def complaint(tls: bool) -> str:
    """About a server that speaks HTTP/1 without TLS, as REST does."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = Dialer(BrokerAddress(f"127.0.0.1:{port}", tls))()
    try:
        with pytest.raises(Unreachable) as refused:
            await transport.pull(pb.GetProviderConfigRequest(), HANG_SECONDS)
    finally:
        await transport.close()
        server.close()
    return refused.value.hint


def test_who_dials_rest_or_speaks_tls_to_who_does_not_is_told_so():
    assert asyncio.run(complaint(tls=False)) == "what listens there is no broker; REST has an address of its own"
    assert asyncio.run(complaint(tls=True)) == "no TLS is spoken there; try http:// in place of https://"
