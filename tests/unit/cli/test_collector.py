"""When commands look for garbage."""

import gc

import pytest

from stdworker.cli.collector import uncollected


@pytest.fixture
def collections():
    """What was told of each collection so far."""
    told = []

    def note(phase, _):
        told.append(phase)

    gc.callbacks.append(note)
    yield told
    gc.callbacks.remove(note)


def test_nothing_is_collected_while_modules_are_loaded_and_afterwards_it_is(collections):
    with uncollected():
        loaded = [[] for _ in range(100_000)]
    assert collections == []

    made = [[] for _ in range(100_000)]
    assert len(loaded) == len(made)
    assert collections
