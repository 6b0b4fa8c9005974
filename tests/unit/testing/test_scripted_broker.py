"""The broker that tests of workers speak to tells them what goes wrong in it."""

import asyncio

import pytest

from stdworker.testing import ScriptedBroker
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient

TOLD = "failed to read a stream: ValueError"


async def subscribe_wrongly(broker, channel):
    """With a kind too many, which this broker can't read; waits for the end of the stream."""
    call = WorkerClient(channel).work_stream()
    await call.write(pb.WorkStreamClientMsg(subscribe=pb.Subscribe(kinds=["leaf"])).SerializeToString())
    await call.code()


def test_who_waits_for_a_stream_that_the_broker_failed_to_read_is_told_why():
    async def scenario():
        async with ScriptedBroker() as broker, broker.channel() as channel:
            subscribing = asyncio.create_task(subscribe_wrongly(broker, channel))
            with pytest.raises(AssertionError, match=TOLD):
                await broker.stream()
            await subscribing

    asyncio.run(scenario())


def test_who_waits_for_nothing_more_is_told_when_the_broker_stops():
    async def scenario():
        async with ScriptedBroker() as broker, broker.channel() as channel:
            await subscribe_wrongly(broker, channel)

    with pytest.raises(AssertionError, match=TOLD):
        asyncio.run(scenario())


def test_a_stream_that_the_test_cuts_is_no_failure():
    async def scenario():
        async with ScriptedBroker() as broker, broker.channel() as channel:
            broker.cut_at("subscribe")
            await subscribe_wrongly(broker, channel)

    asyncio.run(scenario())
