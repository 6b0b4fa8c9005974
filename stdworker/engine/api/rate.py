"""How often one client may ask: an even rate with a second's worth at once (the generic cell rate algorithm)."""

from __future__ import annotations

from collections import OrderedDict

CLIENTS_MAX = 10_000
BURST_SECONDS = 1.0


class RateLimit:
    """Counts by client; of those beyond `CLIENTS_MAX` whoever asked longest ago is forgotten."""

    def __init__(self, requests_per_second: int) -> None:
        self._interval_seconds = 1 / requests_per_second
        self._due: OrderedDict[str, float] = OrderedDict()

    def wait_seconds(self, client: str, now: float) -> float:
        """0 lets the request pass and counts it; else how long until one would."""
        due = max(self._due.get(client, 0.0), now)
        early = due + self._interval_seconds - now - max(BURST_SECONDS, self._interval_seconds)
        if early > 1e-9:
            return early
        self._due[client] = due + self._interval_seconds
        self._due.move_to_end(client)
        if len(self._due) > CLIENTS_MAX:
            self._due.popitem(last=False)
        return 0.0
