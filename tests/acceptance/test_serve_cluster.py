"""Two `converge serve` processes on one Postgres are one engine: any broker, any worker, no other coordination."""

from __future__ import annotations

import asyncio
import signal

import httpx
import pytest

from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("one_loop"),
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.xdist_group("postgres"),
]

HANG_SECONDS = 60
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


@pytest.fixture
def pair(serve, postgres):
    """Both processes, on a database of their own."""
    url = postgres.create_database()
    return serve(DATABASE_URL=url), serve(DATABASE_URL=url)


@pytest.fixture
async def dial(scripted_worker):
    workers = []

    def dialled(engine):
        workers.append(scripted_worker(engine.broker.removeprefix("http://")))
        return workers[-1]

    yield dialled
    for worker in workers:
        await worker.close()


async def apply(engine, name):
    async with httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as http:
        (await http.put("/kinds/leaf/manifest", json=MANIFEST)).raise_for_status()
        body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {}}
        (await http.post("/resources", json=body)).raise_for_status()


async def status(engine, name):
    async with httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as http:
        return (await http.get(f"/resources/leaf/{name}")).raise_for_status().json()["status"]


async def members(engine, until):
    """The members that a process lists, once they are as they are to become."""
    async with asyncio.timeout(HANG_SECONDS), httpx.AsyncClient(base_url=f"{engine.rest}/api/v1") as http:
        while not until(found := (await http.get("/cluster-members")).raise_for_status().json()["members"]):
            await asyncio.sleep(0.02)
        return found


def lease_of(task):
    return Lease(task.lease_token, task.claim_epoch)


async def test_what_one_process_is_told_is_work_for_the_others_worker(pair, dial):
    here, there = pair
    worker = await dial(there).subscribe()
    await apply(here, "a")

    task = await worker.task()
    await worker.complete(task, status=b'{"n":1}')
    await worker.next("settled")

    assert await status(here, "a") == {"n": 1}


async def test_a_drain_moves_a_running_task_to_another_broker_where_its_result_lands(pair, dial):
    here, there = pair
    old = await dial(here).subscribe()
    await apply(here, "a")
    task = await old.task()

    here.signal(signal.SIGTERM)
    await old.next("drain")
    new = await dial(there).subscribe(resumed=[lease_of(task)])
    await new.send(heartbeat=pb.WorkHeartbeat(lease_token=[task.lease_token], claim_epoch=[task.claim_epoch]))
    await new.send(heartbeat=pb.WorkHeartbeat(lease_token=["mark"], claim_epoch=[1]))
    await new.next("cancel")  # the answer to the mark: the lease has moved
    await old.half_close()
    await old.ended()
    await new.complete(task, status=b'{"moved":true}')
    await new.next("settled")

    assert here.ended() == 0
    assert await status(there, "a") == {"moved": True}


async def test_after_kill_9_of_one_broker_its_worker_goes_on_at_the_other(pair, dial):
    here, there = pair
    worker = await dial(here).subscribe()
    await apply(here, "a")
    task = await worker.task()

    here.kill()
    returned = await dial(there).subscribe(resumed=[lease_of(task)])
    await returned.complete(task, status=b'{"survived":true}')
    await returned.next("settled")

    assert await status(there, "a") == {"survived": True}


async def test_a_newer_spec_told_to_one_process_cancels_the_task_that_the_other_handed_out(pair, dial):
    here, there = pair
    worker = await dial(there).subscribe()
    await apply(here, "a")
    task = await worker.task()

    async with httpx.AsyncClient(base_url=f"{here.rest}/api/v1", timeout=HANG_SECONDS) as http:
        body = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"n": 2}}
        (await http.post("/resources", json=body)).raise_for_status()

    assert (await worker.next("cancel")).lease_token == task.lease_token


async def test_a_control_and_a_broker_process_make_one_engine(serve, postgres, dial):
    url = postgres.create_database()
    control, broker = serve(DATABASE_URL=url, ROLE="control"), serve(DATABASE_URL=url, ROLE="broker")
    assert control.broker is None
    worker = await dial(broker).subscribe()
    await apply(control, "a")

    await worker.complete(await worker.task(), status=b'{"n":1}')
    await worker.next("settled")

    assert await status(control, "a") == {"n": 1}
    listed = await members(control, lambda found: len(found) == 2)
    assert {member["pid"]: member["role"] for member in listed} == {
        control.process.pid: "control",
        broker.process.pid: "broker",
    }
    async with httpx.AsyncClient(base_url=broker.rest, timeout=HANG_SECONDS) as probes:
        assert [(await probes.get(path)).status_code for path in ("/livez", "/readyz", "/docs")] == [200, 200, 404]
        assert 'converge_resources{kind="leaf",phase="Ready"} 1.0' in (await probes.get("/metrics")).text
    assert broker.stop() == 0
    await members(control, lambda found: [member["role"] for member in found] == ["control"])
    assert control.stop() == 0


async def test_every_process_lists_all_of_them_with_their_workers_and_one_that_ends_is_gone(pair, dial):
    here, there = pair
    worker = await dial(there).subscribe()
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=False, reason="db is down"))

    listed = await members(here, lambda found: any(w["kinds"][0]["reason"] for m in found for w in m["workers"]))
    assert len(listed) == 2
    assert {member["status"] for member in listed} == {"up"}
    [seen] = [w for member in listed for w in member["workers"]]
    assert (seen["kinds"][0]["kind"], seen["kinds"][0]["ready"]) == ("leaf", False)
    assert {member["pid"] for member in listed} == {here.process.pid, there.process.pid}

    await worker.half_close()
    assert there.stop() == 0
    [left] = await members(here, lambda found: len(found) == 1)
    assert left["pid"] == here.process.pid


async def test_who_watches_one_process_is_told_what_another_is_told(pair):
    here, there = pair
    await apply(here, "a")
    async with (
        asyncio.timeout(HANG_SECONDS),
        httpx.AsyncClient(base_url=f"{there.rest}/api/v1", timeout=HANG_SECONDS) as http,
        http.stream("GET", "/watch", params={"name": "b"}) as stream,
    ):
        lines = stream.aiter_lines()
        while not (await anext(lines)).startswith("id:"):
            pass
        await apply(here, "b")
        while not (line := await anext(lines)).startswith("data:"):
            pass
    assert line.startswith('data: {"type":"ADDED"')
    assert '"name":"b"' in line
