"""Where the engine reads the time: instants from the wall clock, silences from one that never jumps."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings; tests bring their own."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for measuring silence."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
