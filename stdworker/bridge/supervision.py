"""When a persistent program that died may start again, and when its kind stops taking work. No I/O, no clock."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Set

DELAY_SECONDS_MIN = 1.0
DELAY_SECONDS_MAX = 60.0
JITTER = 0.25
STABLE_SECONDS = 60.0  # of uptime after which the delays begin anew
DEATHS_MAX = 5
DEATHS_WITHIN_SECONDS = 120.0
PROBE_SECONDS = 5.0  # a probe that lives this long closes the breaker


class Supervision:
    """Counts the deaths of one pool.

    A death counts when the process was idle. One with a single request in flight counts only when two or more
    resources did this without a success in between: else that resource is to blame, not the program, and the
    process starts again at once for the others. One with several in flight says nothing: they run again alone.
    """

    def __init__(self, random: random.Random) -> None:
        self.open = False
        self._random = random
        self._deaths: deque[float] = deque(maxlen=DEATHS_MAX)
        self._streak = 0
        self._lost: set[str] = set()

    def succeeded(self) -> None:
        """A request got its answer."""
        if self._lost or self.open:
            self._lost.clear()
            self._close()

    def stayed_up(self) -> None:
        """A process has been up for `PROBE_SECONDS`."""
        if self.open:
            self._close()

    def died(self, now: float, uptime_seconds: float, resources: Set[str]) -> float:
        """A process ended unasked while it held requests of these resources: seconds until the next start."""
        if len(resources) > 1:
            return 0.0
        self._lost |= resources
        if resources and len(self._lost) < 2:
            return 0.0
        if uptime_seconds >= STABLE_SECONDS:
            self._streak = 0
        self._deaths.append(now)
        if len(self._deaths) == DEATHS_MAX and now - self._deaths[0] <= DEATHS_WITHIN_SECONDS:
            self.open = True
        delay = min(DELAY_SECONDS_MAX, DELAY_SECONDS_MIN * 2.0 ** min(self._streak, 10))
        self._streak += 1
        return delay * self._random.uniform(1 - JITTER, 1 + JITTER)

    def _close(self) -> None:
        self.open = False
        self._deaths.clear()
