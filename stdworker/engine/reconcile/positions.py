"""Places in the queue: from when a task may run, and who comes first."""

from __future__ import annotations

POSITIONS_PER_MS = 1_000_000


class Positions:
    """Places in the queue: the instant from which a task may run, then the order of arrival."""

    def __init__(self) -> None:
        self._last = 0

    def at(self, now_ms: int) -> int:
        """The next place of those that may run from this instant on."""
        self._last = max(self._last + 1, now_ms * POSITIONS_PER_MS)
        return self._last


def until(now_ms: int) -> int:
    """The last position that may run at an instant."""
    return (now_ms + 1) * POSITIONS_PER_MS - 1
