"""When a resource is due to run again by itself."""

from __future__ import annotations

from collections.abc import Callable
from random import random

from stdworker.engine.reconcile.kinds import Kind

JITTER = 0.25  # of the interval


def instant(kind: Kind | None, now_ms: int, *, draw: Callable[[], float] = random) -> int | None:
    """When a resource that has run now is due again."""
    seconds = kind.resync_seconds if kind else 0
    return now_ms + int(seconds * 1000 * (1 + JITTER * draw())) if seconds else None


def spread(kind: Kind | None, now_ms: int, *, draw: Callable[[], float] = random) -> int | None:
    """When a resource is due whose kind has just got another interval: any time within it."""
    seconds = kind.resync_seconds if kind else 0
    return now_ms + int(seconds * 1000 * draw()) if seconds else None
