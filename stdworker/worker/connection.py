"""Keeps a worker connected: dials, moves over to another broker when one drains, backs off when none is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from stdworker.worker.pace import Backoff
from stdworker.worker.session import Session
from stdworker.worker.transport import Dial, Unreachable
from stdworker.worker.waiting import first
from stdworker.worker.worker import Worker

log = logging.getLogger("stdworker.worker")


class Link:
    """One dialled stream with its session. `task` ends when the stream does."""

    def __init__(self, worker: Worker, dial: Dial) -> None:
        self.opened = time.monotonic()
        self._worker = worker
        self._transport = dial()
        self.session = Session(self._transport.open(), worker.ledger, worker.inbound, worker.pace)
        worker.subscribe(self.session)
        self.task = asyncio.create_task(self._live())

    @property
    def error(self) -> Unreachable:
        """Why it ended."""
        error = self.task.exception()
        if isinstance(error, Unreachable):
            return error
        if error is not None:
            log.error("the session failed, which is a fault of this program", exc_info=error)
        return Unreachable(f"the session failed: {error}" if error else "the broker ended the stream")

    async def close(self) -> None:
        """Cut it."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def _live(self) -> None:
        parts = {asyncio.create_task(self.session.run()), asyncio.create_task(self._pull_forever())}
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            await self._transport.close()

    async def _pull_forever(self) -> None:
        """Read the configs back now and then. A broker without `alive` shows by it that it still answers."""
        pace = self._worker.pace
        while True:
            try:
                await self._worker.configs.pull(self._transport)
            except Unreachable as error:
                if error.timed_out and "alive" not in self.session.peer:
                    raise
                log.debug("the configs are not refreshed: %s", error)
            await asyncio.sleep(pace.pull_seconds if "alive" in self.session.peer else pace.pull_base_seconds)


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """How the connection is now. `error` is the last trouble with it, "" if there was none."""

    address: str
    connected: bool
    since_seconds: float
    sessions: int
    extensions: list[str]
    error: str
    error_seconds_ago: float | None


class Connection:
    """The links of a worker: one, or two while it moves from a broker that drains to another."""

    def __init__(self, worker: Worker, dial: Dial) -> None:
        self.link: Link | None = None
        self._worker = worker
        self._dial = dial
        self._pace = worker.pace
        self._backoff = Backoff(worker.pace)
        self._lost_at = self._changed_at = time.monotonic()
        self._told_trouble = False
        self._trouble: tuple[float, str] | None = None
        self._closing = False
        self._links: set[Link] = set()
        self._helpers: set[asyncio.Task[None]] = set()

    async def prime(self) -> None:
        """Read the configs before anything is served; goes on until a broker answers."""
        while True:
            transport = self._dial()
            try:
                return await self._worker.configs.pull(transport)
            except Unreachable as error:
                self._note_trouble(error)
            finally:
                await transport.close()
            await asyncio.sleep(self._backoff.next(hurried=False))

    async def run(self) -> None:
        """Stay connected until `finish`, or for ever."""
        try:
            while not self._closing:
                link = self._dial_link()
                if await self._take_over(link):
                    await first(link.task, link.session.drain_noticed)
                if link.task.done() and not self._closing:
                    await self._after(link)
        finally:
            await self._close()

    def view(self) -> ConnectionView:
        now = time.monotonic()
        session = self._worker.session
        return ConnectionView(
            address=str(self._dial),
            connected=self._worker.connected,
            since_seconds=now - self._changed_at,
            sessions=self._worker.metrics.sessions,
            extensions=sorted(session.peer) if session else [],
            error=self._trouble[1] if self._trouble else "",
            error_seconds_ago=now - self._trouble[0] if self._trouble else None,
        )

    async def finish(self, timeout_seconds: float) -> None:
        """Write what is left, half-close, and wait for the broker to end the stream."""
        self._closing = True
        if self.link is not None and not self.link.task.done():
            self.link.session.finish()
            await asyncio.wait({self.link.task}, timeout=timeout_seconds)

    def _dial_link(self) -> Link:
        link = Link(self._worker, self._dial)
        self._links.add(link)
        link.task.add_done_callback(lambda _: self._ended(link))
        return link

    def _ended(self, link: Link) -> None:
        if not link.task.cancelled():
            link.task.exception()  # while closing nobody asks why
        self._links.discard(link)
        self._worker.leave(link.session)
        if link.session.established.is_set():
            self._lost_at = time.monotonic()
            self._backoff.lived(self._lost_at - link.opened)
            if link is self.link:
                self._changed_at = self._lost_at

    async def _take_over(self, link: Link) -> bool:
        """Make this the link in use. While an old one still serves, only once the new broker has spoken."""
        old = self.link
        if old is not None and not old.task.done():
            link.session.carries_results = False
            await first(link.task, link.session.confirmed)
            if link.task.done():
                return False
            self._start(self._retire(old))
        self.link = link
        self._worker.adopt(link.session)
        self._start(self._greet(link))
        return True

    async def _greet(self, link: Link) -> None:
        await first(link.task, link.session.established)
        if link.session.established.is_set():
            self._told_trouble = False
            self._worker.metrics.sessions += 1
            self._changed_at = time.monotonic()
            log.info("connected to %s", self._dial)

    async def _retire(self, old: Link) -> None:
        """The old broker settles what it was told, then hears goodbye."""
        old.session.carries_results = False
        await asyncio.wait({old.task}, timeout=self._pace.settle_seconds)
        old.session.finish()
        await asyncio.wait({old.task}, timeout=self._pace.stop_seconds)
        await old.close()

    async def _after(self, link: Link) -> None:
        """A link is gone: wait before the next dial."""
        error = link.error
        self._dial.note(error)
        self._note_trouble(error)
        since_lost = time.monotonic() - self._lost_at
        hurried = len(self._worker.ledger) > 0 and since_lost < self._pace.hurry_for_seconds
        await asyncio.sleep(self._backoff.next(hurried=hurried))

    def _note_trouble(self, error: Unreachable) -> None:
        """One line when the broker goes away, not one for each dial."""
        self._trouble = time.monotonic(), str(error)
        if not self._told_trouble:
            self._told_trouble = True
            log.warning("no broker at %s, dialling again: %s", self._dial, error)

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)

    async def _close(self) -> None:
        for task in self._helpers:
            task.cancel()
        await asyncio.gather(*self._helpers, return_exceptions=True)
        await asyncio.gather(*(link.close() for link in self._links))
