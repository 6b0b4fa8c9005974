"""Whether the store can be used: said once when it stops, once when it works again, and to whoever asks."""

from __future__ import annotations

import logging

from stdworker.errors import StoreUnavailable

log = logging.getLogger(__name__)

LASTING = frozenset({"store_corrupt"})  # a write that succeeds elsewhere in the file proves nothing


class Health:
    """What the last write, or reading, has shown of the store."""

    def __init__(self) -> None:
        self._outage: StoreUnavailable | None = None

    @property
    def outage(self) -> StoreUnavailable | None:
        """Why the store can't be used now, as an error of the caller's own to raise."""
        told = self._outage
        return told and StoreUnavailable(told.message, hint=told.hint, code=told.code)

    def failed(self, error: StoreUnavailable) -> None:
        """The store can't be used: this is why."""
        before, self._outage = self._outage, self._outage if self._is_lasting() else error
        if before is None or before.code != error.code:
            log.error("nothing is stored until the store can be used again: %s", error)

    def works(self) -> None:
        """Something was written just now."""
        if self._outage is not None and not self._is_lasting():
            self._outage = None
            log.warning("the store works again")

    def _is_lasting(self) -> bool:
        return self._outage is not None and self._outage.code in LASTING
