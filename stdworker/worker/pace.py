"""How often a worker does things, and how long it waits."""

from __future__ import annotations

import random
from dataclasses import dataclass

JITTER = 0.25


@dataclass(frozen=True, slots=True)
class Pace:
    """Every interval and bound of a session, in seconds. Tests shorten them, nobody else does."""

    heartbeat_seconds: float = 5.0
    silence_seconds: float = 30.0  # a broker that promised `alive` and says nothing for so long is gone
    stand_seconds: float = 1.0  # a stream that stands so long is taken, also by a broker that says nothing
    settle_seconds: float = 5.0  # a base broker has stored a result when the stream lived on for so long
    progress_seconds: float = 1.0  # at most one progress frame of a task in this time
    readiness_seconds: float = 2.0
    readiness_gap_seconds: float = 0.05  # … at the least, however often a provider says that it changed
    ready_seconds: float = 10.0  # `ready()` that takes longer is a no
    on_config_seconds: float = 30.0  # tasks wait for `on_config` no longer
    pull_seconds: float = 60.0
    pull_base_seconds: float = 25.0  # also the probe of a broker without `alive`
    pull_answer_seconds: float = 15.0
    retry_first_seconds: float = 1.0
    retry_max_seconds: float = 30.0
    hurry_seconds: float = 1.0  # between dials while tasks are held …
    hurry_for_seconds: float = 15.0  # … for the time that a broker keeps their leases
    stop_seconds: float = 10.0  # for providers to stop when the drain budget is spent, and to close
    abort_seconds: float = 2.0


class Backoff:
    """The wait before the next dial: doubles from the first to the longest, ±25 %, so that no fleet moves in step."""

    def __init__(self, pace: Pace, random_: random.Random | None = None) -> None:
        self._pace = pace
        self._delay = pace.retry_first_seconds
        self._random = random_ or random.Random()  # noqa: S311 - spreads load, guards nothing

    def lived(self, seconds: float) -> None:
        """A session ended that lived so long: a long one resets the delay."""
        if seconds > self._delay:
            self._delay = self._pace.retry_first_seconds

    def next(self, *, hurried: bool) -> float:
        """Seconds to wait now; `hurried` while leases can still be saved."""
        if hurried:
            return self._pace.hurry_seconds * self._random.uniform(0.5, 1.0)
        delay = self._delay
        self._delay = min(delay * 2, self._pace.retry_max_seconds)
        return delay * self._random.uniform(1 - JITTER, 1 + JITTER)
