"""What an engine does by the clock costs nothing when nothing happened."""

import pytest

from stdworker.engine.reconcile import Engine


@pytest.fixture
def readings(monkeypatch):
    """What is read from the store, from now on."""
    found = []
    read = Engine.read

    async def spied(self, reading, *arguments):
        found.append(reading)
        return await read(self, reading, *arguments)

    monkeypatch.setattr(Engine, "read", spied)
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
