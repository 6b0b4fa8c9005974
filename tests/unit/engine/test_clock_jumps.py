"""The wall clock is set forward and back: nothing is taken from its worker, and nothing waits for an hour to come."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import clock as clocks
from stdworker.engine.reconcile.clock import SystemClock
from stdworker.errors import Retry
from stdworker.model.kind import Stage
from tests.unit.engine.conftest import FakeClock, reaction

STORES = "both"

HOUR_MS = 3_600_000
LIVENESS_SECONDS = 15


class SetClock(FakeClock):
    """A clock whose wall is set, which its monotonic part doesn't notice."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return self.ms + self.ahead_ms


@pytest.fixture(name="clock")
def set_clock():
    return SetClock()


@pytest.fixture
def leaf(world):
    world.leaf()
    return world


def restarted(world):
    world.close()
    world.open()


def hasten(world):
    world.do(world.engine.ticks.hasten())


def reap(world, seconds):
    """Let so much time pass, with the sweeps that belong to it."""
    for _ in range(seconds):
        world.clock.advance(1)
        world.do(world.engine.ticks.reap())


@pytest.mark.parametrize("ahead_ms", [HOUR_MS, -HOUR_MS])
def test_a_lease_lives_on_whatever_the_wall_clock_says_and_ends_with_its_silence(leaf, ahead_ms):
    leaf.apply("leaf", "a")
    claim = leaf.claim_one()
    reap(leaf, 1)
    leaf.clock.ahead_ms = ahead_ms
    reap(leaf, 2)
    assert leaf.claim() == []

    reap(leaf, LIVENESS_SECONDS)

    assert not leaf.settle(claim)


def test_what_was_queued_by_a_clock_that_was_ahead_runs_once_it_is_set_right(leaf):
    leaf.clock.ahead_ms = HOUR_MS
    leaf.apply("leaf", "a")
    leaf.clock.ahead_ms = 0
    restarted(leaf)
    assert leaf.claim() == []

    hasten(leaf)

    assert leaf.work() == ["work leaf/a"]
    assert leaf.phase("leaf/a") == "Ready"


def test_all_of_it_runs_at_once_however_much_there_is(leaf, monkeypatch):
    monkeypatch.setattr("stdworker.engine.reconcile.hasten.PIECE_TASKS", 2)
    leaf.clock.ahead_ms = HOUR_MS
    for name in "abcde":
        leaf.apply("leaf", name)
    leaf.clock.ahead_ms = 0
    restarted(leaf)

    while leaf.do(leaf.engine.ticks.hasten()) == 0:
        pass

    assert len(leaf.claim()) == 5


def test_operations_and_deletions_are_no_exception(world):
    pull = reaction("pull", "operation", ["operationOutput"], verb="pull")
    drop = reaction("drop", "deleteRequested", ["finalizer"], finalizer="drop")
    world.kind("leaf", reaction("make", "specChange", ["status"]), pull, drop)
    for name in ("a", "b"):
        world.apply("leaf", name)
    world.work()
    world.clock.ahead_ms = HOUR_MS
    world.operate("leaf/a", "pull")
    world.delete("leaf/b")
    world.clock.ahead_ms = 0
    restarted(world)

    hasten(world)

    assert sorted(world.work()) == ["delete leaf/b", "operate leaf/a"]


def test_a_retry_waits_for_its_time_though_it_is_as_long_as_any(leaf):
    def fail(claim):
        raise Retry("busy", after=1_000)

    leaf.on("leaf", fail, Stage.WORK)
    leaf.apply("leaf", "a")
    leaf.work()
    hasten(leaf)
    leaf.clock.advance(299)
    assert leaf.claim() == []
    leaf.clock.advance(1)
    assert len(leaf.claim()) == 1


# ---- the clock of a process ----


@pytest.fixture
def machine(monkeypatch):
    """The machine's clocks, in nanoseconds."""

    class Machine:
        wall, monotonic = 1_700_000_000 * 10**9, 5 * 10**9

        def time_ns(self):
            return self.wall

        def monotonic_ns(self):
            return self.monotonic

        def pass_seconds(self, seconds):
            self.wall += seconds * 10**9
            self.monotonic += seconds * 10**9

    machine = Machine()
    monkeypatch.setattr(clocks, "time", machine)
    return machine


def test_the_clock_of_a_process_follows_the_wall_clock_also_forward(machine):
    read = SystemClock()
    for step in (0, 7 * 10**9, HOUR_MS * 10**6):
        machine.wall += step
        assert read.now_ms() == machine.wall // 10**6


def test_set_back_it_goes_on_slower_and_never_back_until_the_wall_clock_has_caught_up(machine):
    read = SystemClock()
    begun = read.now_ms()
    machine.wall -= 20 * 10**9
    assert read.now_ms() == begun
    for _ in range(30):
        machine.pass_seconds(1)
        read.now_ms()
    assert read.now_ms() == begun + 15_000
    machine.pass_seconds(10)
    assert read.now_ms() == begun + 20_000 == machine.wall // 10**6
    machine.pass_seconds(10)
    assert read.now_ms() == machine.wall // 10**6
