"""What comes due by itself, and makes no noise of its own: retries, resyncs, orphans whose grace is over."""

from __future__ import annotations

from typing import NamedTuple

from stdworker.engine.reconcile.positions import POSITIONS_PER_MS, until
from stdworker.engine.store import catalog, nodes, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.model.kind import KindVersion


class Due(NamedTuple):
    """Pairs with a task that may run now, whether there are resources to resync or orphans to expire, and what is next.

    `again_ms`: no more comes due before that instant, but by a commit.
    """

    pairs: list[KindVersion]
    resync: bool
    expired: bool
    again_ms: int


def look(db: Connection, now_ms: int) -> Due:
    """One reading for all that comes due."""
    pairs, last = catalog.pairs(db), until(now_ms)
    ready = tasks.have_ready(db, pairs, last)
    retry = tasks.next_position(db, pairs, last)
    retry_ms = FOREVER_MS if retry is None else retry // POSITIONS_PER_MS
    resync_ms, thaw_ms = nodes.first_resync(db) or FOREVER_MS, nodes.first_thaw(db) or FOREVER_MS
    again_ms = now_ms if ready else min(retry_ms, resync_ms, thaw_ms)
    return Due(ready, resync_ms <= now_ms, thaw_ms <= now_ms, again_ms)
