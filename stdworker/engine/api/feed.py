"""The event sequence, read and written out once for all who watch it.

Who joins reads the store by itself until it is as far as the feed, and is handed everything after that. So
nobody misses or repeats an event, and a thousand watchers cost one reading for each batch of changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stdworker.engine.api.context import now_ms
from stdworker.engine.api.follower import Follower, Item
from stdworker.engine.api.problems import Draining, Refused
from stdworker.engine.api.shapes.common import encode
from stdworker.engine.api.shapes.events import EventView, WatchEvent
from stdworker.engine.api.shapes.resources import ResourceView
from stdworker.engine.reconcile import Engine, changes
from stdworker.engine.reconcile.changes import Change
from stdworker.engine.store.contract import Connection
from stdworker.errors import RequestError, StdworkerError
from stdworker.model.resource import Ref

FOLLOWERS_MAX = 5_000
LOOK_SECONDS = 2.0  # without any hint, for changes whose hint was lost
GATHER_SECONDS = 0.01  # after a hint, so that many small commits are one reading
PAGE_BYTES_MAX = 4 << 20

_TYPES = {"Created": "ADDED", changes.REMOVED: "DELETED"}

log = logging.getLogger(__name__)


class Page(NamedTuple):
    """The changes among the events up to `last`; `whole`: there were no later ones when it was read."""

    last: int
    items: list[Item]
    whole: bool


class Feed:
    """Reads while somebody follows; only touched on the engine's event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._admitted: set[Follower] = set()
        self._joined: set[Follower] = set()
        self._position = 0
        self._reading: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """Held while a page is read: who joins meanwhile may want what the reading leaves out."""
        self._closed = False

    async def now(self) -> int:
        """The place of the youngest event."""
        return await self._engine.read(changes.last)

    async def read(self, seq: int, wanted: Callable[[Ref], bool]) -> Page:
        """The next changes after an event. Raises RequestError `events_expired`."""
        return await self._engine.read(_page, seq, wanted)

    def check_open(self) -> None:
        """Raises Refused when nobody may come any more, or for now."""
        if self._closed:
            raise Draining
        if len(self._admitted) >= FOLLOWERS_MAX:
            raise Refused(503, "too_many_watchers", f"this process has {FOLLOWERS_MAX:,} watchers; try another")

    def admit(self, follower: Follower) -> None:
        self._admitted.add(follower)
        if self._closed:
            follower.end("draining")

    def dismiss(self, follower: Follower) -> None:
        self._admitted.discard(follower)
        self._joined.discard(follower)
        if not self._joined:
            self._rest()

    async def join(self, follower: Follower, page: Page) -> bool:
        """Hand it everything from now on, if the page that it read last brought it as far as the feed is."""
        async with self._turn:
            if self._reading is None and page.whole and not self._closed:
                self._position = page.last
                self._reading = asyncio.create_task(self._read_on())
            is_there = self._reading is not None and page.last >= self._position
            if is_there:
                self._joined.add(follower)
            return is_there

    def close(self) -> None:
        """End all streams: the process is on its way out."""
        self._closed = True
        for follower in self._admitted:
            follower.end("draining")
        self._rest()

    def _rest(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    # ---- reading ----

    async def _read_on(self) -> None:
        async with self._engine.watch("event") as watch:
            while True:
                try:
                    async with self._turn:
                        page = await self.read(self._position, self._wanted())
                        self._hand_out(page)
                except RequestError:
                    self._expire()
                    return
                except StdworkerError as error:
                    log.warning("the changes for those who watch could not be read: %s", error)
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
                if page.whole and await watch.next(LOOK_SECONDS):
                    await asyncio.sleep(GATHER_SECONDS)

    def _wanted(self) -> Callable[[Ref], bool]:
        """What any follower may want; asked on a reader thread."""
        refs = {follower.ref for follower in self._joined}
        broad = [follower for follower in self._joined if follower.ref is None]
        return lambda ref: ref in refs or any(follower.may_want(ref) for follower in broad)

    def _hand_out(self, page: Page) -> None:
        by_ref: dict[Ref, list[Item]] = {}
        for item in page.items:
            by_ref.setdefault(item.ref, []).append(item)
        for follower in self._joined:
            follower.hand(page.items if follower.ref is None else by_ref.get(follower.ref, ()), page.last)
        self._position = page.last

    def _expire(self) -> None:
        for follower in self._joined:
            follower.end("expired")
        self._joined.clear()
        self._reading = None


def _page(db: Connection, seq: int, wanted: Callable[[Ref], bool]) -> Page:
    """On a reader thread, so that the event loop has only to pass the text on."""
    found = changes.after(db, seq, wanted)
    return _written(found.found, found.last, whole=found.whole)


def _written(found: Iterable[Change], last: int, *, whole: bool) -> Page:
    now = now_ms()
    items: list[Item] = []
    size = 0
    for change in found:
        items.append(_item(change, now))
        size += len(items[-1].text)
        if size > PAGE_BYTES_MAX:
            return Page(change.event.seq, items, whole=False)
    return Page(last, items, whole)


def _item(change: Change, now: int) -> Item:
    view = WatchEvent(
        type=_TYPES.get(change.event.type, "MODIFIED"),  # type: ignore[arg-type]
        event=EventView.of(change.event),
        uid=change.event.uid,
        resource=ResourceView.of(change.resource, now) if change.resource else None,
    )
    text = b"id: %d\ndata: %b\n\n" % (change.event.seq, encode(view))
    return Item(change.event.seq, change.ref, change.traits, text)
