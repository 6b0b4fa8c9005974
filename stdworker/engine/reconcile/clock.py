"""Where the engine reads the time: instants from the wall clock, silences from one that never jumps."""

from __future__ import annotations

import time
from typing import Protocol

SLOWED_BY = 2


class Clock(Protocol):
    """Two readings; tests bring their own."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for measuring silence."""
        ...


class SystemClock:
    """The machine's clocks.

    When the wall clock is set back, time neither goes back nor stands still: it runs slower until the wall clock
    has caught up. Else a retry that is seconds away would be as far away as the clock was set back.
    """

    def __init__(self) -> None:
        self._seen = 0, time.monotonic_ns()  # what was told, and when: in nanoseconds, read and written as one

    def now_ms(self) -> int:
        (told, at), now = self._seen, time.monotonic_ns()
        told = max(time.time_ns(), told + (now - at) // SLOWED_BY)
        self._seen = told, now
        return told // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
