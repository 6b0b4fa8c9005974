"""Each edge of a provider's readiness reaches the broker once."""

import asyncio
import threading
from dataclasses import replace

import pytest

from stdworker.errors import Released
from stdworker.model.kind import KindVersion
from stdworker.testing import make_request

NOT_READY = ("thing@1", False, 100)
READY = ("thing@1", True, 100)


def a_task():
    return make_request(KindVersion("thing"))


def test_a_pair_that_is_ready_from_the_start_needs_no_frame(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        await stream.run(a_task())
        return stream.interests

    assert play(scenario) == []


def test_a_pair_that_is_not_ready_says_so_after_subscribe_and_each_edge_is_told_once(play, noop):
    async def scenario(ground):
        provider = noop()
        provider.is_ready = False
        ground.serve(provider, noop("always"))
        stream = await ground.stream()
        await stream.until(lambda: NOT_READY in stream.interests)
        provider.is_ready = True
        await stream.until(lambda: READY in stream.interests)
        provider.is_ready = False
        await stream.until(lambda: stream.interests[-1] == NOT_READY)
        beats = len(stream.heartbeats)
        await stream.until(lambda: len(stream.heartbeats) > beats + 2)
        return stream.interests

    assert play(scenario) == [NOT_READY, READY, NOT_READY]


def test_a_task_for_a_pair_that_is_not_ready_is_given_back(play, noop):
    async def scenario(ground):
        provider = noop()
        provider.is_ready = False
        ground.serve(provider)
        stream = await ground.stream()
        return (await stream.run(a_task())).failure

    failure = play(scenario)
    assert isinstance(failure, Released)
    assert failure.reason == "NotReady"


def test_each_session_is_told_anew(play, noop):
    async def scenario(ground):
        provider = noop()
        provider.is_ready = False
        ground.serve(provider)
        (await ground.stream()).cut()
        new = await ground.stream(1)
        await new.until(lambda: NOT_READY in new.interests)
        return new.interests

    assert play(scenario) == [NOT_READY]


@pytest.mark.parametrize("error", [ValueError("db is down"), SystemExit(2), asyncio.CancelledError()])
def test_ready_that_raises_is_a_no_and_ends_nothing(play, noop, error, logged):
    async def scenario(ground):
        class Moody(noop):
            trouble = error

            async def ready(self):
                if self.trouble is not None:
                    raise self.trouble
                return True

        provider = Moody()
        ground.serve(provider)
        stream = await ground.stream()
        await stream.until(lambda: NOT_READY in stream.interests)
        provider.trouble = None
        await stream.until(lambda: READY in stream.interests)
        return await logged("ready() failed")

    assert type(error).__name__ in play(scenario)


def test_a_ready_that_hangs_is_a_no_and_is_not_asked_a_second_time(play, noop):
    release = threading.Event()

    async def scenario(ground):
        class Hanging(noop):
            asked = 0

            def ready(self):
                Hanging.asked += 1
                if Hanging.asked == 2:
                    release.wait(20)
                return True

        ground.pace = replace(ground.pace, ready_seconds=0.05)
        ground.serve(Hanging())
        stream = await ground.stream()
        await stream.until(lambda: NOT_READY in stream.interests)
        beats = len(stream.heartbeats)
        await stream.until(lambda: len(stream.heartbeats) > beats + 2)
        asked = Hanging.asked
        release.set()
        await stream.until(lambda: READY in stream.interests)
        return asked

    assert play(scenario) == 2
