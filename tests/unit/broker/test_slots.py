"""A slot is taken until its task's one result has come, whatever becomes of the lease meanwhile (decision 11)."""

from __future__ import annotations

import pytest

from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio


def lease_of(task):
    return Lease(task.lease_token, task.claim_epoch)


@pytest.fixture
async def busy(scene):
    """A worker with one slot, and its task; another one waits."""
    worker = await scene.worker().subscribe(most=1)
    scene.engine.queue("a", deadline_ms=10_000)
    task = await worker.task()
    scene.engine.queue("b")
    return worker, task


async def overdue(scene, task):
    scene.pass_time(16)


async def superseded(scene, task):
    scene.engine.void(lease_of(task), "generation 2 replaced generation 1")


async def lost(scene, task):
    """The store knows the lease no more, as the next heartbeat shows."""
    del scene.engine.leases[lease_of(task)]
    await scene.workers[0].send(
        heartbeat=pb.WorkHeartbeat(lease_token=[task.lease_token], claim_epoch=[task.claim_epoch])
    )


@pytest.mark.parametrize("end", [overdue, superseded, lost])
async def test_a_task_that_is_cancelled_fills_its_slot_until_its_worker_has_ended_it(scene, busy, end):
    worker, task = busy
    await end(scene, task)
    assert (await worker.next("cancel")).lease_token == task.lease_token
    (session,) = scene.broker.sessions
    assert [*session.running] == [task.lease_token]

    await worker.complete(task, error_message="cancelled", released=True)
    assert (await worker.task()).work_req.resource.name == "b"


async def test_a_deadline_ends_a_task_once(scene, busy):
    worker, task = busy
    await overdue(scene, task)
    await worker.next("settled")
    scene.pass_time(16)
    await worker.complete(task)
    await worker.next("settled")
    assert [settled.lease for settled in [*scene.engine.settled, *scene.engine.stale]] == [lease_of(task)] * 2
