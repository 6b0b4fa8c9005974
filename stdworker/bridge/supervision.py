"""When a program that went away may be started, or dialed, again; when its kind stops taking work. No I/O, no clock."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Set

from stdworker.errors import ConfigError

DELAY_SECONDS_MIN = 1.0
DELAY_SECONDS_MAX = 60.0
JITTER = 0.25
STABLE_SECONDS = 60.0  # of uptime after which the delays begin anew
DEATHS_MAX = 5
DEATHS_WITHIN_SECONDS = 120.0
PROBE_SECONDS = 5.0  # a probe that lives this long closes the breaker
MISTAKES_MAX = 3


class Backoff:
    """Seconds until the next attempt: each time twice as many, jittered, anew after a stable time."""

    def __init__(self, random: random.Random) -> None:
        self.attempts = 0
        self._random = random

    def reset_if_stable(self, uptime_seconds: float) -> None:
        if uptime_seconds >= STABLE_SECONDS:
            self.attempts = 0

    def next(self) -> float:
        delay = min(DELAY_SECONDS_MAX, DELAY_SECONDS_MIN * 2.0 ** min(self.attempts, 10))
        self.attempts += 1
        return delay * self._random.uniform(1 - JITTER, 1 + JITTER)


class Supervision:
    """Counts the deaths of one pool.

    A death counts when the process was idle. One with a single request in flight counts only when two or more
    resources did this without a success in between: else that resource is to blame, not the program, and the
    process starts again at once for the others. One with several in flight says nothing: they run again alone.
    """

    def __init__(self, random: random.Random) -> None:
        self.open = False
        self._backoff = Backoff(random)
        self._deaths: deque[float] = deque(maxlen=DEATHS_MAX)
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
        self._backoff.reset_if_stable(uptime_seconds)
        self._deaths.append(now)
        if len(self._deaths) == DEATHS_MAX and now - self._deaths[0] <= DEATHS_WITHIN_SECONDS:
            self.open = True
        return self._backoff.next()

    def _close(self) -> None:
        self.open = False
        self._deaths.clear()


class Redials:
    """Spaces out the attempts to reach a program that we don't run.

    Most lost connections are a restart or a limit of the other side, of idle time or of requests, so the first attempt
    follows at once.
    Connections that are lost, or refused, together were one loss: what began before the last loss adds nothing.
    No breaker is needed: without a connection the kind takes no work, and one attempt is made at a time.
    """

    def __init__(self, random: random.Random) -> None:
        self._backoff = Backoff(random)
        self._first = True
        self._failed_at = float("-inf")
        self._next_at = float("-inf")

    def succeeded(self) -> None:
        """A request got its answer: what follows is a loss like the first."""
        self._first = True
        self._backoff.attempts = 0

    def failed(self, now: float, age_seconds: float) -> float:
        """A connection, or an attempt at one, of this age came to nothing: seconds until the next attempt."""
        if age_seconds >= STABLE_SECONDS:
            self.succeeded()
        if now - age_seconds <= self._failed_at:
            return max(0.0, self._next_at - now)
        delay = 0.0 if self._first else self._backoff.next()
        self._first = False
        self._failed_at, self._next_at = now, now + delay
        return delay


class Mistakes:
    """Counts starts in a row that failed for a reason which only an operator can mend."""

    def __init__(self) -> None:
        self._count = 0
        self._last: ConfigError | None = None

    @property
    def any(self) -> bool:
        return self._count > 0

    @property
    def reason(self) -> str:
        """What is wrong, once it went wrong `MISTAKES_MAX` times."""
        return str(self._last) if self._count >= MISTAKES_MAX else ""

    def made(self, error: ConfigError) -> bool:
        """True when this one makes the kind unready."""
        self._count += 1
        self._last = error
        return self._count == MISTAKES_MAX

    def mended(self) -> bool:
        """A start succeeded. True when the kind was unready."""
        was_unready = bool(self.reason)
        self._count = 0
        return was_unready
