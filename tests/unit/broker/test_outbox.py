"""What is joined into one frame, and what is not kept waiting for it."""

from __future__ import annotations

import asyncio

import pytest

from stdworker.engine.broker.outbox import BATCH_BYTES_MAX, BATCH_TASKS_MAX, SETTLED_AT_ONCE, Outbox
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio

HANG_SECONDS = 20


async def turns(count=10):
    for _ in range(count):
        await asyncio.sleep(0)


def told(frame):
    return pb.WorkStreamServerMsg.FromString(frame)


def leases(count, first=0):
    return [Lease(f"token-{n}", 1) for n in range(first, first + count)]


async def test_results_that_are_settled_one_after_the_other_are_told_in_one_frame():
    outbox = Outbox(frozenset({"settled"}))
    frame = asyncio.create_task(outbox.next())
    await turns()

    for n in range(3):
        outbox.put_settled(leases(1, first=n))
        await turns()

    settled = told(await asyncio.wait_for(frame, HANG_SECONDS)).settled
    assert list(settled.lease_token) == ["token-0", "token-1", "token-2"]


async def test_many_settled_results_and_those_of_a_closed_stream_are_told_at_once():
    outbox = Outbox(frozenset({"settled"}))
    frame = asyncio.create_task(outbox.next())
    outbox.put_settled(leases(SETTLED_AT_ONCE))
    await turns()
    assert frame.done()

    last = asyncio.create_task(outbox.next())
    outbox.put_settled(leases(1))
    outbox.close()
    await turns()
    assert list(told(last.result()).settled.lease_token) == ["token-0"]
    assert await outbox.next() is None


def task(name, size=0):
    return pb.StageTask(lease_token=name, provider_config=b"x" * size).SerializeToString()


async def written(outbox):
    """The frames of an outbox that closes, as what is in each: the names of tasks, or what else it is."""
    outbox.close()
    while (frame := await outbox.next()) is not None:
        message = told(frame)
        body = message.WhichOneof("body")
        tasks = message.tasks.tasks if body == "tasks" else [message.task] if body == "task" else []
        yield [task.lease_token for task in tasks] or body


async def test_tasks_travel_together_as_far_as_a_frame_may_reach():
    outbox = Outbox(frozenset({"batch"}))
    outbox.put_tasks(task(f"t{n}") for n in range(BATCH_TASKS_MAX + 1))
    frames = [frame async for frame in written(outbox)]
    assert list(map(len, frames)) == [BATCH_TASKS_MAX, 1]


async def test_a_large_task_travels_alone_and_nothing_overtakes_it():
    outbox = Outbox(frozenset({"batch"}))
    outbox.put_tasks([task("a"), task("b"), task("large", BATCH_BYTES_MAX), task("c"), task("d")])
    frames = [frame async for frame in written(outbox)]
    assert frames == [["a", "b"], ["large"], ["c", "d"]]


async def test_a_worker_that_knows_no_batches_is_handed_one_task_a_frame():
    outbox = Outbox(frozenset())
    outbox.put_tasks([task("a"), task("b")])
    assert [frame async for frame in written(outbox)] == [["a"], ["b"]]


async def test_a_config_and_the_word_to_drain_go_before_tasks():
    outbox = Outbox(frozenset({"batch", "drain"}))
    outbox.put_tasks([task("a")])
    outbox.put_config(KindVersion("leaf"), ProviderConfig())
    outbox.put_drain("bye")
    assert [frame async for frame in written(outbox)] == ["drain", "config", ["a"]]
