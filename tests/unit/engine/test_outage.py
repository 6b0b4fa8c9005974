"""While the store can't be used nothing is stored, and nothing counts as if it had been."""

import asyncio
import sqlite3

import pytest

from stdworker.engine.reconcile import recheck
from stdworker.engine.reconcile.batcher import Verb
from stdworker.engine.store.sqlite import SqliteConnection
from stdworker.errors import StoreUnavailable
from stdworker.model.outcome import Outcome


def full_disk(*_, **__):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


@pytest.fixture
def leaf(world):
    world.leaf()
    world.apply("leaf", "a")
    return world


@pytest.fixture
def outage(monkeypatch):
    """The disk is full at each commit, until `over` is called."""

    class Outage:
        def begin(self):
            monkeypatch.setattr(SqliteConnection, "commit", full_disk)

        def over(self):
            monkeypatch.undo()

    return Outage()


def test_a_claim_that_could_not_be_stored_hands_out_nothing_and_the_task_is_still_there(leaf, outage):
    outage.begin()
    with pytest.raises(StoreUnavailable, match="is full"):
        leaf.claim()
    outage.over()
    assert leaf.get("leaf/a").work.claimed_by is None
    assert leaf.settle(leaf.claim_one())


def test_a_result_that_could_not_be_stored_lands_when_it_is_brought_again(leaf, outage):
    claim = leaf.claim_one()
    outage.begin()
    with pytest.raises(StoreUnavailable):
        leaf.settle(claim, Outcome(status={"n": 1}))
    assert leaf.phase("leaf/a") == "Reconciling"
    outage.over()
    assert leaf.settle(claim, Outcome(status={"n": 1}))
    assert leaf.phase("leaf/a") == "Ready"


def test_an_outage_fails_a_batch_at_once_and_not_call_by_call(leaf, outage):
    runs = []
    count = Verb("count", lambda uow, calls: runs.append(len(calls)) or calls)

    async def scenario():
        calls = (leaf.engine._batcher.call(count, i) for i in range(50))
        return await asyncio.gather(*calls, return_exceptions=True)

    outage.begin()
    answers = leaf.do(scenario())
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert sum(runs) == 50


@pytest.mark.parametrize("sweeps", [1, 10])
def test_a_lease_is_not_reaped_for_a_silence_in_which_nothing_could_be_stored(leaf, outage, sweeps):
    claim, ticks = leaf.claim_one(), leaf.engine.ticks
    for _ in range(4):
        leaf.do(ticks.reap())
        leaf.clock.advance(3)
    outage.begin()
    with pytest.raises(StoreUnavailable):
        leaf.do(leaf.engine.attest([claim.lease], "broker", "worker"))
    for _ in range(sweeps):
        leaf.do(ticks.reap())
        leaf.clock.advance(3)
    outage.over()
    leaf.do(ticks.probe())

    for _ in range(4):
        leaf.do(ticks.reap())
        leaf.clock.advance(3)
    assert leaf.settle(claim)


def test_a_row_is_not_set_aside_because_the_disk_was_full(world, monkeypatch):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.answer(world.claim_one())
    child = world.claim_one()
    with monkeypatch.context() as broken:
        broken.setattr(recheck, "consume", full_disk)
        with pytest.raises(StoreUnavailable):
            world.settle(child)

    world.work()

    assert world.phase("group/g") == "Ready"
    assert [event for event in world.events() if event.reason == "RecheckFailed"] == []


def test_what_fails_for_the_caller_alone_is_no_outage(leaf):
    def divide(uow, calls):
        raise ZeroDivisionError

    with pytest.raises(Exception, match="failed"):
        leaf.do(leaf.engine._batcher.call(Verb("divide", divide), 1))
    leaf.do(leaf.engine.ping())
