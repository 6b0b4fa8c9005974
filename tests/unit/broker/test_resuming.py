"""Leases that move between streams and brokers: what a worker brings along, and what it doesn't come back for."""

from __future__ import annotations

import asyncio

import pytest

from stdworker.errors import StdworkerError
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio

LEAF = KindVersion("leaf")


def lease_of(task):
    return Lease(task.lease_token, task.claim_epoch)


@pytest.fixture
def held_up(scene):
    """Attests wait: `begun` says that one does, `go_on` lets all go on."""
    attest, begun, go_on = scene.engine.attest, asyncio.Event(), asyncio.Event()

    async def slow(leases, broker, worker):
        begun.set()
        await go_on.wait()
        return await attest(leases, broker, worker)

    scene.engine.attest = slow
    return begun, go_on


async def lose(scene, until, worker):
    await worker.cut()
    await until(lambda: not scene.broker.sessions)


async def test_a_stream_is_handed_nothing_before_what_it_resumes_is_known_to_be_its(scene, held_up):
    begun, go_on = held_up
    lease = scene.engine.lease_elsewhere("far")
    scene.engine.queue("a")
    worker = await scene.worker().subscribe(most=1, resumed=[lease])
    await begun.wait()
    (session,) = scene.broker.sessions
    assert session.credit(LEAF) == 0

    go_on.set()
    await worker.send(complete=pb.StageComplete(lease_token=lease.token, claim_epoch=lease.epoch, stage=pb.STAGE_WORK))
    assert (await worker.task()).work_req.resource.name == "a"
    assert [settled.lease for settled in scene.engine.settled] == [lease]


async def test_a_lease_whose_new_stream_broke_before_it_was_known_to_be_its_is_still_waited_for(scene, until, held_up):
    begun, go_on = held_up
    scene.engine.queue("a")
    first = await scene.worker().subscribe()
    task = await first.task()
    await lose(scene, until, first)
    second = await scene.worker().subscribe()
    await second.send(heartbeat=pb.WorkHeartbeat(lease_token=[task.lease_token], claim_epoch=[task.claim_epoch]))
    await begun.wait()
    await lose(scene, until, second)
    go_on.set()
    await scene.engine.until(lambda: scene.engine.attested)

    scene.pass_time(5)
    await scene.engine.until(lambda: scene.engine.released)
    assert scene.engine.released == [(lease_of(task), True)]


async def test_a_result_that_comes_on_the_old_stream_of_a_moved_task_frees_its_slot_on_the_new_one(scene):
    scene.engine.queue("a")
    old = await scene.worker().subscribe(most=1)
    task = await old.task()
    new = await scene.worker().subscribe(most=1, resumed=[lease_of(task)])
    await scene.engine.until(lambda: scene.engine.attested)
    await old.complete(task)
    await old.next("settled")
    scene.engine.queue("b", "c")

    names = [(await worker.task()).work_req.resource.name for worker in (old, new)]
    assert sorted(names) == ["b", "c"]


async def test_within_the_reconnect_window_nothing_is_given_back(scene, until):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    await lose(scene, until, worker)
    scene.pass_time(4.9)
    other = await scene.worker().subscribe()
    scene.engine.queue("b")

    assert (await other.task()).work_req.resource.name == "b"
    assert not scene.engine.released
    assert lease_of(task) in scene.engine.leases


async def test_leases_that_wait_for_their_worker_are_given_back_uncounted_when_the_broker_goes(scene, until):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    await lose(scene, until, worker)
    await scene.broker.drain(60, asyncio.Event())

    assert scene.engine.released == [(lease_of(task), False)]


async def test_a_worker_that_is_lost_while_the_broker_drains_costs_no_attempt(scene, until):
    scene.engine.queue("a", "b")
    lost, other = [await scene.worker().subscribe(most=1) for _ in range(2)]
    tasks = [await worker.task() for worker in (lost, other)]
    draining = asyncio.create_task(scene.broker.drain(60, asyncio.Event()))
    await other.next("drain")
    await lost.cut()
    await until(lambda: len(scene.broker.sessions) == 1)
    scene.pass_time(6)
    await scene.engine.until(lambda: scene.engine.released)
    await other.complete(tasks[1])
    await draining

    assert scene.engine.released == [(lease_of(tasks[0]), False)]


async def test_what_the_store_could_not_take_back_is_given_back_once_it_can(scene):
    release, refused = scene.engine.release, asyncio.Event()

    async def refuse(leases, broker, *, counted):
        refused.set()
        raise StdworkerError("the store is away")

    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    scene.engine.release = refuse
    await worker.half_close()
    await refused.wait()
    scene.engine.release = release
    await scene.engine.until(lambda: scene.engine.released)

    assert scene.engine.released == [(lease_of(task), False)]
