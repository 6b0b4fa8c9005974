"""What a broker reports of its workers."""

import asyncio

import pytest

from stdworker.engine.broker import membership
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_gap(monkeypatch):
    monkeypatch.setattr(membership, "GAP_SECONDS", 0.0)
    monkeypatch.setattr(membership, "REPORT_SECONDS", 3_600.0)


def workers(scene):
    return [worker for member in scene.engine.members.values() for worker in member.workers]


async def test_a_broker_reports_itself_before_any_worker_comes(scene):
    await scene.engine.until(lambda: scene.engine.members)
    [member] = scene.engine.members.values()
    assert (member.id, member.draining, member.workers) == (scene.broker.id, False, [])


async def test_a_worker_is_reported_with_what_it_says_of_itself_until_it_goes(scene):
    info = pb.WorkerInfo(name="host/7", version="1.2", hostname="host\n", pid=7)
    worker = scene.worker()
    await worker.send(
        subscribe=pb.Subscribe(
            kinds=["leaf", "other"], kind_versions=[1, 2], max_inflight=10, worker_info=info, pair_inflight=[3, 20]
        )
    )
    await scene.engine.until(lambda: workers(scene))
    [seen] = workers(scene)
    assert seen.name.startswith("host/7#")
    assert (seen.version, seen.hostname, seen.pid, seen.inflight_max) == ("1.2", "host?", 7, 10)
    assert [(str(k.pair), k.ready, k.inflight_max) for k in seen.kinds] == [("leaf@1", True, 3), ("other@2", True, 10)]

    await worker.half_close()
    await scene.engine.until(lambda: not workers(scene))


async def test_a_change_of_readiness_is_reported_with_its_reason(scene):
    worker = await scene.worker().subscribe()
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=False, reason="db is down"))
    await scene.engine.until(lambda: workers(scene) and not workers(scene)[0].kinds[0].ready)
    assert workers(scene)[0].kinds[0].reason == "db is down"

    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=True))
    await scene.engine.until(lambda: workers(scene)[0].kinds[0].ready)
    assert workers(scene)[0].kinds[0].reason == ""


async def test_a_base_worker_that_says_nothing_of_itself_is_reported_too(scene):
    await scene.worker(base=True).subscribe()
    await scene.engine.until(lambda: workers(scene))
    [seen] = workers(scene)
    assert (seen.version, seen.hostname, seen.pid) == ("", "", 0)
    assert seen.name


async def test_a_report_is_bounded_and_counts_whom_it_leaves_out(scene, monkeypatch):
    monkeypatch.setattr(membership, "PAIRS_MAX", 3)
    for kinds in (["a", "b"], ["c"], ["d"]):
        known = len(scene.broker.sessions)
        scene.clock.now += 1
        await scene.worker().subscribe(*kinds)
        await scene.engine.until(lambda known=known: len(workers(scene)) > known or known == 2)
    await scene.engine.until(lambda: any(m.unlisted_workers for m in scene.engine.members.values()))
    assert [[k.pair.kind for k in worker.kinds] for worker in workers(scene)] == [["a", "b"], ["c"]]


async def test_what_a_worker_says_holds_no_control_characters(scene):
    worker = await scene.worker().subscribe()
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, reason="\x1b[31m" + "x" * 10_000))
    await scene.engine.until(lambda: workers(scene) and workers(scene)[0].kinds[0].reason)
    reason = workers(scene)[0].kinds[0].reason
    assert reason.startswith("?[31mx")
    assert len(reason) == 500


async def test_the_ages_are_those_at_the_report(scene):
    await scene.worker().subscribe()
    await scene.engine.until(lambda: workers(scene))
    scene.clock.now += 2.5
    [seen] = scene.broker._membership.report().workers
    assert (seen.connected_age_ms, seen.heard_age_ms) == (2_500, 2_500)


async def test_a_broker_that_drains_says_so_and_then_is_listed_no_more(scene):
    worker = await scene.worker().subscribe()
    scene.engine.queue("a")
    task = await worker.task()
    draining = asyncio.create_task(scene.broker.drain(20, asyncio.Event()))
    await scene.engine.until(lambda: [m for m in scene.engine.members.values() if m.draining])
    await worker.complete(task)
    await draining
    assert scene.engine.members == {}


async def test_a_report_that_is_under_way_does_not_outlast_the_goodbye(scene, monkeypatch):
    """A store with several writers may store what it was given later first."""
    report = scene.engine.report_member
    under_way, go_on, stored = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(member):
        under_way.set()
        await go_on.wait()
        await report(member)
        stored.set()

    monkeypatch.setattr(scene.engine, "report_member", slow)
    scene.broker._membership.changed()
    await under_way.wait()
    leaving = asyncio.create_task(scene.broker._membership.leave())
    await asyncio.wait({leaving}, timeout=0.01)
    go_on.set()
    await stored.wait()
    await leaving
    assert scene.engine.members == {}
