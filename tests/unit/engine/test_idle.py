"""What an engine does by the clock costs nothing when nothing happened."""

import pytest

from stdworker.engine.reconcile.reading import Readers


@pytest.fixture
def readings(monkeypatch):
    """What is read from the store, from now on."""
    found = []
    read = Readers.read

    async def spied(self, reading, *arguments):
        found.append(reading)
        return await read(self, reading, *arguments)

    monkeypatch.setattr(Readers, "read", spied)
    return found


def test_the_write_ahead_log_is_moved_once_after_commits_and_then_left_alone(world, readings):
    world.leaf()
    readings.clear()
    world.do(world.engine.ticks.checkpoint())
    assert len(readings) == 1
    world.do(world.engine.ticks.checkpoint())
    assert len(readings) == 1

    world.apply("leaf", "a")
    readings.clear()
    world.do(world.engine.ticks.checkpoint())
    assert len(readings) == 1


def test_one_that_is_alone_looks_for_what_is_due_when_something_is_or_happened(world, readings):
    world.leaf(resync_interval_secs=60)
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="busy", retry_after_ms=30_000)
    look = world.engine.ticks.look
    world.do(look())

    def looks(seconds):
        readings.clear()
        world.clock.advance(seconds)
        world.do(look())
        return len(readings)

    assert looks(29) == 0
    assert looks(2) == 1
    assert looks(0) == 1, "what may run now is hinted until it does"
    world.work()
    assert looks(0) == 1
    assert looks(1) == 0
    assert looks(100) == 1
    assert world.work() == ["work leaf/a"], "it was time to resync"
