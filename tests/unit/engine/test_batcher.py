"""Group commit: what shares a transaction, and what happens when one of several calls fails."""

import asyncio
import threading

import pytest

from stdworker.engine.reconcile import batcher as batching
from stdworker.engine.reconcile import state, verbs
from stdworker.engine.reconcile.batcher import Batcher, Verb
from stdworker.engine.reconcile.clock import SystemClock
from stdworker.engine.reconcile.watch import Hint, Watch, Watches
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.opening import open_database
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import StoreError
from stdworker.model.outcome import Outcome


@pytest.fixture
def run():
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def batcher(run, sqlite_url):
    database = open_database(sqlite_url)

    async def start():
        batcher = Batcher(database, SystemClock(), EngineOptions(), Watches(), verbs.FOLLOW_UP, "me")
        batcher.start()
        return batcher

    batcher = run(start())
    yield batcher
    batcher.close()
    batcher.join()


def test_calls_that_arrive_together_share_a_transaction(run, batcher):
    sizes = []
    count = Verb("count", lambda uow, calls: sizes.append(len(calls)) or calls)

    async def scenario():
        return await asyncio.gather(*(batcher.call(count, i) for i in range(100)))

    assert run(scenario()) == list(range(100))
    assert sum(sizes) == 100
    assert len(sizes) < 20


def test_who_begins_to_listen_before_a_commit_hears_of_it(run, batcher):
    async def scenario():
        loop, listening = asyncio.get_running_loop(), threading.Event()

        def change(uow, calls):
            """Nobody listens when the transaction begins; somebody does before it ends."""
            loop.call_soon_threadsafe(listening_begins.set)
            assert listening.wait(10)
            return calls

        listening_begins = asyncio.Event()
        call = asyncio.ensure_future(batcher.call(Verb("change", change), None))
        await listening_begins.wait()
        async with Watch(batcher.watches, frozenset(["resource"])) as watch:
            listening.set()
            await call
            return await watch.next(10)

    assert run(scenario()) == {Hint("resource")}


def test_a_call_that_fails_fails_alone(run, batcher, caplog):
    def divide(uow, calls):
        if 3 in calls:
            raise ZeroDivisionError("three")
        return calls

    fragile = Verb("fragile", divide)

    async def scenario():
        calls = (batcher.call(fragile, i) for i in range(6))
        return await asyncio.gather(*calls, return_exceptions=True)

    answers = run(scenario())
    assert [answer for answer in answers if not isinstance(answer, Exception)] == [0, 1, 2, 4, 5]
    assert isinstance(answers[3], StoreError)
    assert "fragile failed" in caplog.text


def test_nothing_of_a_failed_transaction_is_stored(world, monkeypatch):
    world.leaf()

    def broken(db, events):
        raise RuntimeError("disk full")

    with monkeypatch.context() as full:
        full.setattr("stdworker.engine.store.events.add", broken)
        with pytest.raises(StoreError, match="disk full"):
            world.apply("leaf", "a")
    assert world.do(world.engine.find(ResourceFilter())).items == []
    world.apply("leaf", "a")
    assert world.work() == ["work leaf/a"]


def test_a_lost_race_is_run_again(run, batcher, monkeypatch):
    races = [RuntimeError("deadlock"), RuntimeError("deadlock")]

    def race(uow, calls):
        if races:
            raise races.pop()
        return calls

    monkeypatch.setattr(type(batcher.database), "is_retryable", lambda self, error: True)
    assert run(batcher.call(Verb("racing", race), 7)) == 7


def test_results_land_before_what_was_asked_for_with_them_is_claimed(world):
    world.composite("both", {"name": "make", "trigger": "specChange", "emits": ["status"]})
    world.apply("both", "x")
    claim = world.claim_one()

    async def scenario():
        settled = world.engine.settle([Settlement(claim.lease, claim.stage, Outcome())])
        return await asyncio.gather(world.engine.voided("broker"), settled)

    assert world.do(scenario()) == [[], [True]]
    assert str(world.claim_one().stage) == "work"
    assert verbs.SETTLE.rank < verbs.APPLY.rank < verbs.CLAIM.rank


def test_a_closed_engine_says_so_to_who_writes_and_to_who_reads(world):
    world.leaf()
    world.do(world.engine.close())
    for call in (world.engine.apply([ApplyDocument("leaf", 1, "a")], "test"), world.engine.kinds()):
        with pytest.raises(StoreError) as refused:
            world.do(call)
        assert refused.value.code == "engine_closed"


def test_what_an_engine_does_by_the_clock_ends_with_it_and_says_nothing(world, monkeypatch, caplog):
    ticks = world.engine.ticks
    follow = ticks.follow

    async def close_in_between():
        await world.engine.close()
        return await follow()

    monkeypatch.setattr(ticks, "follow", close_in_between)

    world.do(world.engine.run())

    assert caplog.messages == []


def test_a_follow_up_that_is_asked_for_while_the_engine_closes_is_let_be(run, batcher, monkeypatch):
    """It is asked for after a commit, whose answers are still to be given."""

    class ClosesBehind(threading.Condition):
        def __exit__(self, *exc_info):
            super().__exit__(*exc_info)
            monkeypatch.undo()
            batcher.close()

    monkeypatch.setattr(batcher, "_arrived", ClosesBehind())
    batcher.follow()


def test_a_caller_that_went_away_disturbs_nobody(world):
    world.leaf()

    async def scenario():
        gone = asyncio.create_task(world.engine.apply([ApplyDocument("leaf", 1, "a")], "test"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        return await world.engine.apply([ApplyDocument("leaf", 1, "b")], "test")

    [done] = world.do(scenario())
    assert done.result == "created"


def test_a_batch_is_bounded(run, batcher, monkeypatch):
    monkeypatch.setattr(batching, "BATCH_WEIGHT_MAX", 10)
    weights = []
    heavy = Verb("heavy", lambda uow, calls: weights.append(sum(calls)) or calls)

    async def scenario():
        await asyncio.gather(*(batcher.call(heavy, 4, 4) for _ in range(20)))

    run(scenario())
    assert sum(weights) == 80
    assert max(weights) <= 10


def test_one_resource_that_cannot_be_looked_at_holds_up_no_other(world, monkeypatch, caplog):
    world.leaf()
    world.composite()
    count_child = state.count_child

    def fragile(owner, child):
        if child.name == "odd":
            raise ZeroDivisionError("odd")
        return count_child(owner, child)

    monkeypatch.setattr(state, "count_child", fragile)
    for name in ("a", "b", "c"):
        world.group(name, [f"leaf/{name}-1"], ["leaf/odd" if name == "b" else f"leaf/{name}-2"])
    world.work()

    assert [world.phase(f"group/{name}") for name in ("a", "c")] == ["Ready", "Ready"]
    told = [event for event in world.events("leaf/odd") if event.reason == "RecheckFailed"]
    assert told
    assert told[0].type == "Warning"
    assert "ZeroDivisionError" in caplog.text


def test_where_several_transactions_write_at_a_time_each_is_of_one_verb_and_one_actor(run, batcher, monkeypatch):
    """Locks are taken in one order then; a second verb would begin again, and meet others half way."""
    shared: list[tuple[str, list[str]]] = []
    first = Verb("first", lambda uow, calls: shared.append(("first", calls)) or calls)
    second = Verb("second", lambda uow, calls: shared.append(("second", calls)) or calls, by_actor=True)
    asked = [(verb, (actor,)) for verb, actor in [(first, "ada"), (second, "ada"), (second, "eve"), (first, "eve")] * 9]
    monkeypatch.setattr(batcher.database, "writers", 3)

    async def scenario():
        return await asyncio.gather(*(batcher.call(verb, argument) for verb, argument in asked))

    assert run(scenario()) == [argument for _, argument in asked]
    assert sum(len(calls) for _, calls in shared) == len(asked)
    assert len(shared) < len(asked)
    assert all(len(set(calls)) == 1 for verb, calls in shared if verb == "second")
