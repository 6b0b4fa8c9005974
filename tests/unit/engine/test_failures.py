"""Failures: what is tried again and when, what stops, and what ends a failure."""

import pytest

from stdworker.engine.reconcile import Engine, verbs
from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.reconcile.retry import delay_ms
from stdworker.engine.reconcile.ticks import Reaper
from stdworker.engine.store import tasks
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.tasks import LeaseRow
from stdworker.errors import Retry, Terminal
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Condition, Outcome

STORES = "both"


def failing(failure):
    def handler(claim):
        raise failure

    return handler


@pytest.fixture
def leaf(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    return world


def test_backoff_doubles_up_to_its_cap_and_is_jittered_over_all_of_it():
    assert [delay_ms(n, 2, 300, draw=lambda: 1.0) for n in (1, 2, 3, 8, 9, 500)] == [
        2_000,
        4_000,
        8_000,
        256_000,
        300_000,
        300_000,
    ]
    assert delay_ms(3, 2, 300, draw=lambda: 0.0) == 0
    assert all(0 <= delay_ms(4, 2, 300) <= 16_000 for _ in range(200))


def test_a_failure_may_ask_for_its_own_delay_within_the_cap():
    assert delay_ms(1, 2, 300, asked_ms=7_000) == 7_000
    assert delay_ms(1, 2, 300, asked_ms=10**9) == 300_000


def test_the_conditions_of_a_failure_are_of_the_generation_that_failed(leaf):
    leaf.work()
    leaf.on("leaf", failing(Terminal("no")))
    leaf.apply("leaf", "a", {"n": 2})
    assert observed(leaf) == [1, 1]
    leaf.work()
    assert observed(leaf) == [2, 2]
    leaf.apply("leaf", "a", {"n": 3})
    assert observed(leaf) == [2, 2]


def observed(leaf):
    return [leaf.condition("leaf/a", name).observed_generation for name in ("Synced", "Ready")]


def test_a_transient_failure_is_tried_again_when_its_time_has_come(leaf):
    leaf.on("leaf", failing(Retry("busy", after=3)))
    leaf.work()
    record = leaf.get("leaf/a")
    assert (record.phase, record.failure_message, record.failure_terminal) == ("Failed", "busy", False)
    assert record.next_attempt_at_ms == leaf.clock.ms + 3_000
    leaf.clock.advance(2.9)
    assert leaf.work() == []
    leaf.clock.advance(0.1)
    assert leaf.work() == ["work leaf/a"]


def test_attempts_are_counted_and_a_success_ends_the_failure(leaf):
    leaf.on("leaf", failing(Retry("busy", after=1)))
    for attempts in (1, 2, 3):
        leaf.work()
        assert leaf.get("leaf/a").failure_attempts == attempts
        leaf.clock.advance(1)
    leaf.on("leaf", lambda claim: Outcome())
    leaf.work()
    record = leaf.get("leaf/a")
    assert (record.phase, record.failure_attempts, record.failure_message) == ("Ready", 0, "")


def test_a_terminal_failure_stops_until_the_generation_changes(leaf):
    leaf.on("leaf", failing(Terminal("no such region", reason="NoRegion")))
    leaf.work()
    record = leaf.get("leaf/a")
    assert (record.phase, record.failure_terminal, record.failure_reason) == ("Failed", True, "NoRegion")
    leaf.clock.advance(10_000)
    assert leaf.work() == []
    leaf.on("leaf", lambda claim: Outcome())
    leaf.apply("leaf", "a", {"n": 2})
    assert leaf.phase("leaf/a") == "Reconciling"
    assert leaf.work() == ["work leaf/a"]
    assert leaf.phase("leaf/a") == "Ready"


def test_the_last_allowed_attempt_turns_a_transient_failure_terminal(world):
    world.leaf(max_transient_attempts=2)
    world.on("leaf", failing(Retry("busy", after=1)))
    world.apply("leaf", "a")
    world.work()
    assert not world.get("leaf/a").failure_terminal
    world.clock.advance(1)
    world.work()
    assert world.get("leaf/a").failure_terminal
    world.clock.advance(1000)
    assert world.work() == []


def test_a_new_generation_does_not_wait_for_the_old_ones_backoff(leaf):
    leaf.on("leaf", failing(Retry("busy", after=100)))
    leaf.work()
    leaf.on("leaf", lambda claim: Outcome())
    leaf.apply("leaf", "a", {"n": 2})
    assert leaf.work() == ["work leaf/a"]


def test_a_failure_after_compose_goes_on_where_it_failed(world):
    world.leaf()
    world.composite("both", {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]})
    world.on("both", failing(Retry("busy", after=1)))
    world.apply("both", "x", {"children": [["leaf/a"]]})
    assert world.work() == ["compose both/x", "work both/x", "work leaf/a"]
    world.on("both", lambda claim: Outcome())
    world.clock.advance(1)
    assert world.work() == ["work both/x"]
    assert world.phase("both/x") == "Ready"


def test_a_handler_that_reports_not_ready_degrades_and_the_next_success_heals(leaf):
    leaf.on("leaf", lambda claim: Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")]))
    leaf.work()
    ready = leaf.condition("leaf/a", "Ready")
    assert (leaf.phase("leaf/a"), ready.reason, ready.message) == ("Degraded", "Sick", "db is down")
    leaf.on("leaf", lambda claim: Outcome())
    leaf.again("leaf/a")
    leaf.work()
    assert leaf.phase("leaf/a") == "Ready"


def test_failing_is_an_event_with_the_reason(leaf):
    leaf.on("leaf", failing(Terminal("no\x00pe", reason="Nope")))
    leaf.work()
    failed = [event for event in leaf.events("leaf/a") if event.type == "TaskFailed"]
    assert [(event.reason, event.message) for event in failed] == [("Nope", "no\ufffdpe")]


def test_a_terminal_failure_runs_once_more_when_a_config_of_its_kind_changes(leaf):
    leaf.on("leaf", failing(Terminal("bad credentials")))
    leaf.work()
    leaf.on("leaf", lambda claim: Outcome())
    leaf.do(leaf.engine.put_config(ConfigDeclaration("c", KindVersion("leaf"), is_default=True, bundle=b"key"), "test"))
    assert leaf.work() == ["work leaf/a"]
    assert leaf.phase("leaf/a") == "Ready"


# ---- the reaper ----


def lease(beat):
    return LeaseRow(4, "4-a", 1, beat)


def test_a_lease_is_lost_after_a_whole_window_of_silence_that_was_watched():
    reaper = Reaper(15)
    assert [reaper.silent([lease(1)], now) for now in (0, 3, 6, 9, 12, 14.9)] == [[]] * 6
    assert reaper.silent([lease(1)], 15) == [lease(1)]


def test_every_heartbeat_starts_the_window_again():
    reaper = Reaper(15)
    for now in range(0, 60, 3):
        assert reaper.silent([lease(now // 9)], now) == []


def test_a_gap_in_the_sweeps_grants_a_whole_window():
    reaper = Reaper(15)
    for now in (0, 3, 6, 9, 12):
        reaper.silent([lease(1)], now)
    assert reaper.silent([lease(1)], 40) == []
    for now in (43, 46, 49, 52):
        assert reaper.silent([lease(1)], now) == []
    assert reaper.silent([lease(1)], 55) == [lease(1)]


def test_a_silent_lease_is_taken_back_as_a_counted_attempt(leaf):
    claim = leaf.claim_one()
    ticks = leaf.engine.ticks
    for _ in range(6):
        leaf.do(ticks.reap())
        leaf.clock.advance(3)
    assert leaf.get("leaf/a").failure_reason == "WorkerLost"
    assert not leaf.settle(claim)
    leaf.clock.advance(300)
    assert leaf.work() == ["work leaf/a"]


def test_a_lease_that_was_renewed_meanwhile_is_left_alone(leaf):
    claim = leaf.claim_one()
    for _ in range(10):
        leaf.do(leaf.engine.ticks.reap())
        leaf.clock.advance(3)
        leaf.do(leaf.engine.attest([claim.lease], "broker", "worker"))
    assert leaf.settle(claim)


def test_a_lease_that_is_renewed_after_it_was_judged_is_left_alone(leaf):
    claim = leaf.claim_one()
    judged = leaf.do(leaf.engine.read(tasks.leases))
    leaf.clock.advance(1)
    leaf.do(leaf.engine.attest([claim.lease], "broker", "worker"))
    assert leaf.do(leaf.engine._batcher.call(verbs.REAP, judged)) == 0
    assert leaf.settle(claim)


def test_a_wall_clock_that_jumps_makes_no_lease_silent(leaf):
    claim = leaf.claim_one()
    leaf.clock.monotonic = lambda: 7.0
    for _ in range(10):
        leaf.do(leaf.engine.ticks.reap())
        leaf.clock.advance(3)
    assert leaf.settle(claim)


def test_what_a_killed_engine_left_to_be_looked_at_is_looked_at_by_the_next(world, store, monkeypatch):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"])
    world.answer(world.claim_one())
    claim = world.claim_one()
    with monkeypatch.context() as killed:
        killed.setattr(Batcher, "follow", lambda self: None)
        world.do(world.engine.settle([Settlement(claim.lease, claim.stage)]))
    assert world.phase("group/g") == "Reconciling"
    world.do(world.engine.close())

    other = world.do(Engine.open(store, clock=world.clock))
    world.do(other.ticks.follow())
    assert world.do(other.get(world.ref("group/g"))).phase == "Ready"
    world.do(other.close())
