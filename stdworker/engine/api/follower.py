"""One stream of changes as server-sent events: bounded in what waits, and resumable from its last id."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from stdworker.engine.api.shapes.common import encode
from stdworker.engine.api.shapes.events import WatchEnd
from stdworker.engine.reconcile import changes
from stdworker.engine.reconcile.changes import Traits
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import RequestError
from stdworker.model.resource import Ref

if TYPE_CHECKING:
    from stdworker.engine.api.feed import Feed, Page

HEARTBEAT_SECONDS = 15.0
RECONNECT_MS = 1_000
WAITING_BYTES_MAX = 16 << 20
WAITING_ITEMS_MAX = 10_000

End = Literal["draining", "too_slow", "expired"]
_ENDS: dict[End, str] = {
    "draining": "this process of the engine is shutting down; resume here later, or at another at once",
    "too_slow": "changes come faster than they are read; resume to get those that were not sent",
    "expired": "changes that were not sent are no longer kept: list the resources, then watch from now on",
}


class Item(NamedTuple):
    """A change as it is sent."""

    seq: int
    ref: Ref
    traits: Traits
    text: bytes


class Follower:
    """Someone who watches the changes of one resource, or of those that a filter lets through.

    `pieces` is to be used inside of it as a context manager.
    """

    def __init__(self, feed: Feed, where: ResourceFilter, ref: Ref | None = None) -> None:
        self.ref = ref
        self._feed = feed
        self._where = where
        self._seen = 0
        """All events up to this one were looked at; what waits is among them."""
        self._sent = 0
        self._waiting: deque[Item] = deque()
        self._waiting_bytes = 0
        self._stirred = asyncio.Event()
        self._end: End | None = None

    def __enter__(self) -> Follower:
        self._feed.admit(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._feed.dismiss(self)

    def may_want(self, ref: Ref) -> bool:
        return ref == self.ref if self.ref else changes.may_match(self._where, ref)

    def wants(self, item: Item) -> bool:
        return self.may_want(item.ref) and changes.matches(self._where, item.traits)

    # ---- the stream ----

    async def pieces(self, seq: int, page: Page) -> AsyncIterator[bytes]:
        """The text of a stream that begins after an event, with the page that follows it, until it must end."""
        self._sent = seq
        yield b"retry: %d\n%b" % (RECONNECT_MS, self._mark())
        async for text in self._catch_up(page):
            yield text
        while not self._end:
            yield await self._next()
        end = WatchEnd(self._end, _ENDS[self._end], self._sent)
        yield b"event: end\ndata: %b\n\n" % encode(end)

    async def _catch_up(self, page: Page) -> AsyncIterator[bytes]:
        """Read on by oneself until the feed can take over."""
        while not self._end:
            if told := [item.text for item in page.items if self.wants(item)]:
                yield b"".join(told)
            self._seen = self._sent = page.last
            if await self._feed.join(self, page):
                return
            try:
                page = await self._feed.read(page.last, self.may_want)
            except RequestError:
                self.end("expired")

    async def _next(self) -> bytes:
        """What was handed out since the last call; a heartbeat when there was nothing for a while."""
        if not self._waiting:
            self._stirred.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._stirred.wait()
            except TimeoutError:
                self._sent = self._seen
                return b": heartbeat\n" + self._mark()
        return self._take() if not self._end else b""

    def _take(self) -> bytes:
        told = b"".join(item.text for item in self._waiting)
        self._sent = self._waiting[-1].seq
        self._waiting.clear()
        self._waiting_bytes = 0
        return told

    def _mark(self) -> bytes:
        """No event, but from where to resume."""
        return b"id: %d\n\n" % self._sent

    # ---- called by the feed ----

    def hand(self, items: Iterable[Item], last: int) -> None:
        """All events up to `last`, of which these may be wanted. Too much for it ends it."""
        for item in items:
            if item.seq <= self._seen or not self.wants(item):
                continue
            self._waiting.append(item)
            self._waiting_bytes += len(item.text)
            if len(self._waiting) > WAITING_ITEMS_MAX or self._waiting_bytes > WAITING_BYTES_MAX:
                self.end("too_slow")
                return
        self._seen = max(self._seen, last)
        if self._waiting:
            self._stirred.set()

    def end(self, reason: End) -> None:
        """Have the stream end; what waits is left to whoever resumes it."""
        self._end = self._end or reason
        self._waiting.clear()
        self._stirred.set()
