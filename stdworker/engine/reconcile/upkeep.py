"""Upkeep of the store that ticks do in their time, and that others can ask for at once."""

from __future__ import annotations

from stdworker.engine.reconcile import recheck, verbs
from stdworker.engine.reconcile.batcher import Batcher
from stdworker.errors import StoreError, StoreUnavailable


async def follow_up(batcher: Batcher) -> None:
    """Look at all that commits left to be looked at.

    What can't be looked at is narrowed down to one row, which is set aside with a warning event. Raises StoreError
    when the store can't be used.
    """
    rows_max = recheck.BATCH_ROWS
    while True:
        try:
            if not await batcher.call(verbs.FOLLOW_UP, rows_max):
                return
            rows_max = min(rows_max * 2, recheck.BATCH_ROWS)
        except StoreUnavailable:
            raise
        except StoreError as error:
            if rows_max == 1 and not await batcher.call(verbs.SET_ASIDE, error.message):
                raise
            rows_max = max(rows_max // 2, 1)


async def probe(batcher: Batcher) -> None:
    """Write something, which ends an outage if it succeeds. Raises StoreError if not."""
    await batcher.call(verbs.PROBE, None)
    batcher.health.works()
