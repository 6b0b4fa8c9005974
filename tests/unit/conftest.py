"""Fixtures for what this process has open."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest


@pytest.fixture
def leaves_nothing() -> Iterator[None]:
    """At the end no descriptor is open that wasn't before."""
    before = open_descriptors()
    yield
    assert open_descriptors() <= before


def open_descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir() if os.path.lexists(entry)}


@pytest.fixture
def only_descriptors() -> Callable[[int], AbstractContextManager[None]]:
    """Inside, so many more can be opened."""

    @contextlib.contextmanager
    def limit(free: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        taken = []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(free):
            os.close(taken.pop())
        try:
            yield
        finally:
            for fd in taken:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return limit
