"""Who gets how much work, and when."""

from __future__ import annotations

import asyncio

import pytest

from stdworker.model.kind import KindVersion
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio

LEAF, OTHER = KindVersion("leaf", 1), KindVersion("other", 1)


def names(tasks):
    return [task.work_req.resource.name for task in tasks]


async def settled(scene, count):
    await scene.engine.until(lambda: len(scene.engine.settled) == count)


async def test_a_stream_never_holds_more_than_its_credit_and_gets_more_as_soon_as_it_returns(scene):
    scene.engine.queue(*"abcd")
    worker = await scene.worker().subscribe(most=2)

    first = await worker.tasks(2)
    await worker.complete(first[0])
    third = await worker.task()
    await worker.complete(first[1])
    fourth = await worker.task()

    assert [*names(first), *names([third, fourth])] == list("abcd")
    assert all(want.credit <= 2 for wants in scene.engine.claims_made for want in wants)


async def test_without_credit_a_stream_is_not_claimed_for(scene):
    scene.engine.queue(*"abc")
    worker = await scene.worker().subscribe(most=1)
    task = await worker.task()
    asked = len(scene.engine.claims_made)

    scene.engine.queue("d")
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["gone"], claim_epoch=[1]))
    await worker.next("cancel")

    assert len(scene.engine.claims_made) == asked
    await worker.complete(task)


async def test_a_worker_that_says_no_number_gets_one_task_at_a_time(scene):
    scene.engine.queue(*"ab")
    worker = await scene.worker().subscribe(most=0)
    task = await worker.task()
    await worker.complete(task)
    await worker.task()

    assert {want.credit for wants in scene.engine.claims_made for want in wants} == {1}


async def test_each_pair_has_its_own_credit_when_the_worker_tells_it(scene):
    scene.engine.queue(*"abcdef")
    scene.engine.queue("x", pair=OTHER)
    worker = await scene.worker().subscribe("leaf", "other", most=5, each=[2, 3])

    tasks = await worker.tasks(3)

    assert sorted(names(tasks)) == ["a", "b", "x"]


async def test_pairs_share_a_streams_credit_so_that_none_starves(scene):
    scene.engine.queue(*"abcdefgh")
    scene.engine.queue(*"uvwxyz", pair=OTHER)
    worker = await scene.worker().subscribe("leaf", "other", most=4)

    tasks = await worker.tasks(4)

    assert sorted(names(tasks)) == ["a", "b", "u", "v"]


async def test_a_pair_alone_with_work_takes_the_whole_credit(scene):
    worker = await scene.worker().subscribe("leaf", "other", most=4)
    scene.engine.queue(*"abcd")

    assert sorted(names(await worker.tasks(4))) == list("abcd")


async def test_a_pair_that_is_not_ready_gets_nothing_until_it_is(scene):
    worker = await scene.worker().subscribe("leaf", "other")
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=False))
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["mark"], claim_epoch=[1]))
    await worker.next("cancel")  # the interest was read before this
    scene.engine.queue("a")
    scene.engine.queue("x", pair=OTHER)

    assert names([await worker.task()]) == ["x"]
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=True))
    assert names([await worker.task()]) == ["a"]


async def test_an_interest_with_credit_moves_the_pairs_limit(scene):
    worker = await scene.worker().subscribe("leaf", most=10, each=[1])
    await worker.send(interest=pb.Interest(kind="leaf", kind_version=1, has_worker=True, credit=3))
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["mark"], claim_epoch=[1]))
    await worker.next("cancel")
    scene.engine.queue(*"abcd")

    assert names(await worker.tasks(3)) == list("abc")


async def test_an_interest_in_a_pair_that_was_not_subscribed_changes_nothing(scene):
    worker = await scene.worker().subscribe("leaf")
    await worker.send(interest=pb.Interest(kind="other", kind_version=1, has_worker=True))
    scene.engine.queue("x", pair=OTHER)
    scene.engine.queue("a")

    assert names([await worker.task()]) == ["a"]


async def test_tasks_go_exactly_to_the_version_that_a_worker_serves(scene):
    scene.engine.queue("one")
    scene.engine.queue("two", pair=KindVersion("leaf", 2))
    worker = await scene.worker().subscribe("leaf", versions=[2])

    assert names([await worker.task()]) == ["two"]


async def test_streams_take_turns_at_being_asked_first(scene):
    one = await scene.worker().subscribe(most=1)
    two = await scene.worker().subscribe(most=1)
    for name in "abcd":
        scene.engine.queue(name)
    both = [*await one.tasks(1), *await two.tasks(1)]

    assert sorted(names(both)) == ["a", "b"]


async def test_work_whose_hint_was_lost_is_found_by_the_poll(scene):
    worker = await scene.worker().subscribe()
    scene.engine.queue("first")
    await worker.task()
    scene.engine.watches.publish = lambda hints: None
    scene.engine.queue("hidden")

    assert names([await worker.task()]) == ["hidden"]


async def test_claiming_goes_on_after_the_store_was_away(scene):
    scene.engine.failing = {"claim"}
    worker = await scene.worker().subscribe()
    scene.engine.queue("a")
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["mark"], claim_epoch=[1]))
    await worker.next("cancel")

    scene.engine.failing = set()

    assert names([await worker.task()]) == ["a"]


async def test_work_that_comes_while_a_claim_runs_that_found_less_than_it_may_is_claimed_next(scene, monkeypatch):
    monkeypatch.setattr("stdworker.engine.broker.broker.POLL_SECONDS", 3_600)
    claim, claiming, go_on = scene.engine.claim, asyncio.Event(), asyncio.Event()

    async def slow_claim(wants, broker):
        claims = await claim(wants, broker)
        claiming.set()
        await go_on.wait()
        return claims

    scene.engine.claim = slow_claim
    worker = await scene.worker().subscribe()
    await claiming.wait()
    scene.engine.queue("a")
    await asyncio.sleep(0.01)  # time enough for the hint to be followed
    go_on.set()

    assert names([await worker.task()]) == ["a"]
