"""The end of a worker: nothing is cut off that could finish, nothing waits without a bound."""

import asyncio
import threading
from dataclasses import replace

import pytest

from stdworker.errors import Released
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.testing import make_request
from stdworker.wire.generated import worker_pb2 as pb

BOTH = pytest.mark.parametrize("peer", [{}, {"extensions": ()}], ids=["extensions", "base"])
THING = KindVersion("thing")


def a_task(**parts):
    return make_request(THING, **parts)


@BOTH
def test_an_idle_worker_ends_at_once_with_a_half_close(play, noop, peer):
    async def scenario(ground):
        provider = noop()
        ground.serve(provider, drain_seconds=60)
        stream = await ground.stream()
        await ground.drained()
        return stream.half_closed, provider.closed, stream.interests

    half_closed, closed, interests = play(scenario, **peer)
    assert half_closed
    assert closed
    assert interests == [("thing@1", False, 100)]


@BOTH
def test_running_tasks_finish_with_heartbeats_and_their_results_are_taken(play, noop, peer):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()
            return Outcome(status="finished")

        ground.serve(noop(work=work), drain_seconds=60)
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        ground.stop.set()
        await stream.until(lambda: ("thing@1", False, 100) in stream.interests)
        beats = len(stream.heartbeats)
        await stream.until(lambda: stream.heartbeats[beats:].count([lease.token]) >= 3)
        release.set()
        result = await stream.result(lease)
        await ground.drained()
        return result.outcome.status, stream.half_closed

    assert play(scenario, **peer) == (b'"finished"', True)


def test_tasks_that_have_not_started_are_given_back_and_so_are_new_ones(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), max_parallel=1)
        stream = await ground.stream()
        running, queued = [await stream.send_task(a_task()) for _ in range(2)]
        await stream.until(lambda: [running.token, queued.token] in stream.heartbeats)
        ground.stop.set()
        released = await stream.result(queued)
        late = await stream.run(a_task())
        release.set()
        await stream.result(running)
        await ground.drained()
        return released.failure, late.failure

    released, late = play(scenario)
    assert isinstance(released, Released)
    assert isinstance(late, Released)


def test_to_a_base_broker_the_half_close_gives_them_back(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), max_parallel=1)
        stream = await ground.stream()
        running, queued = [await stream.send_task(a_task()) for _ in range(2)]
        await stream.until(lambda: [running.token, queued.token] in stream.heartbeats)
        ground.stop.set()
        await stream.until(lambda: bool(stream.interests))
        await stream.send_task(a_task())
        release.set()
        await stream.result(running)
        await ground.drained()
        return len(stream.results), stream.half_closed

    assert play(scenario, extensions=()) == (1, True)


@BOTH
@pytest.mark.parametrize("sync", [True, False])
def test_when_the_budget_is_spent_tasks_are_stopped_and_nothing_is_reported(play, noop, peer, sync):
    stopped = []

    def block(request):
        stopped.append(request.cancelled.wait(20))

    async def sleep(request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # what a child takes to end is waited for
            stopped.append(True)
            raise

    async def scenario(ground):
        provider = noop(work=block if sync else sleep)
        ground.serve(provider, drain_seconds=0.05)
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        await ground.drained()
        return stream.results, stream.half_closed, provider.closed

    assert play(scenario, **peer) == ([], True, True)
    assert stopped == [True]


def test_a_provider_that_never_stops_does_not_keep_the_worker(play, noop):
    release = threading.Event()

    async def scenario(ground):
        ground.pace = replace(ground.pace, stop_seconds=0.05)
        ground.serve(noop(work=lambda request: release.wait(30)), drain_seconds=0)
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        await ground.drained()

    play(scenario)
    release.set()


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3), None])
def test_a_provider_that_cannot_be_closed_is_left_behind(play, noop, error):
    async def close():
        if error is None:
            await asyncio.sleep(60)
        else:
            raise error

    async def scenario(ground):
        ground.pace = replace(ground.pace, stop_seconds=0.05)
        provider = noop()
        provider.close = close
        ground.serve(provider)
        await ground.stream()
        await ground.drained()

    play(scenario)


def test_a_second_word_stops_at_once(play, noop):
    async def scenario(ground):
        async def work(request):
            await asyncio.sleep(60)

        provider = noop(work=work)
        ground.serve(provider, drain_seconds=600)
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        ground.stop.set()
        await stream.until(lambda: bool(stream.interests))
        ground.worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ground.worker
        return stream.results, provider.closed, stream.half_closed

    assert play(scenario) == ([], True, True)


def test_cancelling_a_worker_drains_it_first(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), drain_seconds=60)
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        ground.worker.cancel()
        await stream.until(lambda: bool(stream.interests))
        release.set()
        await stream.result(lease)
        with pytest.raises(asyncio.CancelledError):
            await ground.worker
        return stream.half_closed

    assert play(scenario)


def test_a_stream_that_is_cut_during_the_drain_is_dialled_again_for_the_results(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), drain_seconds=60)
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.until(lambda: [lease.token] in old.heartbeats)
        ground.stop.set()
        await old.until(lambda: bool(old.interests))
        old.cut()
        new = await ground.stream(1)
        await new.until(lambda: ("thing@1", False, 100) in new.interests)
        release.set()
        await new.result(lease)
        await ground.drained()
        return new.half_closed

    assert play(scenario)


def test_results_nobody_settles_hold_a_drain_up_only_so_long(play, noop, logged):
    async def scenario(ground):
        ground.pace = replace(ground.pace, settle_seconds=0.01)
        ground.broker.settles = False
        ground.serve(noop(), drain_seconds=0)
        stream = await ground.stream()
        await stream.run(a_task())
        await ground.drained()
        await logged("1 results were not taken")

    play(scenario)


def test_a_worker_without_a_broker_ends_at_once(play, noop, logged):
    async def scenario(ground):
        await ground.broker.stop()
        ground.serve(noop(), drain_seconds=60)
        await logged("no broker")
        await ground.drained()

    play(scenario)


def test_a_worker_that_is_about_to_move_to_another_broker_leaves_both(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        old = await ground.stream()
        ground.broker.extensions = ()  # the next stream says nothing, so that the move can't be completed
        await old.send(pb.WorkStreamServerMsg(drain=pb.Drain()))
        new = await ground.stream(1)
        await ground.drained()
        await new.until(new.ended.is_set)
        return old.half_closed

    assert play(scenario)


def test_nothing_is_left_running_in_the_loop(play, noop):
    async def scenario(ground):
        before = asyncio.all_tasks()
        ground.serve(noop(), health_address=("127.0.0.1", 0))
        stream = await ground.stream()
        await stream.run(a_task())
        await ground.drained()
        await asyncio.sleep(0)
        return [task for task in asyncio.all_tasks() - before if "stdworker/worker" in repr(task)]

    assert play(scenario) == []
