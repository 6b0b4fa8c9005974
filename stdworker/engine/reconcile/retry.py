"""When a failed task is tried again."""

from __future__ import annotations

from collections.abc import Callable
from random import random

from stdworker.engine.reconcile.kinds import Kind

DOUBLINGS_MAX = 40


def is_last(kind: Kind | None, attempts: int) -> bool:
    """Does the kind allow no further attempt after so many? A limit of 0 is none."""
    limit = kind.policy.max_transient_attempts if kind else 0
    return 0 < limit <= attempts


def delay_ms(
    attempt: int, base_seconds: float, cap_seconds: float, *, asked_ms: int = 0, draw: Callable[[], float] = random
) -> int:
    """Exponential backoff with full jitter: anything up to base × 2ⁿ, at most the cap.

    `attempt` counts from 1. A delay that the failure asked for is taken as it is, within the cap.
    """
    cap_ms = cap_seconds * 1000
    if asked_ms > 0:
        return int(min(asked_ms, cap_ms))
    ceiling = min(cap_ms, base_seconds * 1000 * 2 ** min(attempt - 1, DOUBLINGS_MAX))
    return int(ceiling * draw())
