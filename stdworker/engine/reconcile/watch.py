"""Hints that something changed. A hint is never a fact: whoever gets one looks into the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

PENDING_HINTS_MAX = 10_000
ANNOUNCED_MAX = 50

Topic = Literal["work", "config", "resource", "voided", "event"]
TOPICS: frozenset[Topic] = frozenset(("work", "config", "resource", "voided", "event"))


class Hint(NamedTuple):
    """What may have changed.

    `work`: tasks of `pair` can be claimed. `config`: the default of `pair` was edited. `voided`: a leased
    task of `pair` lost its lease. `resource`: `ref` changed. `event`: the event sequence grew. An absent pair or
    ref means any.
    """

    topic: Topic
    pair: KindVersion | None = None
    ref: Ref | None = None


MISSED = frozenset(Hint(topic) for topic in TOPICS)
"""Anything may have changed."""


def encode(hints: Iterable[Hint], source: str) -> str:
    """Hints for other processes, without what would make them long: which resource."""
    told = sorted({(hint.topic, *(hint.pair if hint.topic != "resource" and hint.pair else ("", 0))) for hint in hints})
    if len(told) > ANNOUNCED_MAX:
        told = sorted({(topic, "", 0) for topic, _, _ in told})
    return json.dumps([source, told], separators=(",", ":"))


def decode(message: str) -> tuple[str, Collection[Hint]]:
    """The source and its hints. What isn't understood, as another version may say it, means anything."""
    try:
        source, told = json.loads(message)
        return source, {Hint(topic, KindVersion(kind, version) if kind else None) for topic, kind, version in told}
    except (ValueError, TypeError):
        return "", MISSED


class Watch:
    """One listener. Hints wait for it, each once, so a slow listener costs no more than a quick one."""

    def __init__(self, watches: Watches, topics: frozenset[Topic] = TOPICS) -> None:
        self._watches = watches
        self.topics = topics
        self._pending: set[Hint] = set()
        self._arrived = asyncio.Event()

    async def __aenter__(self) -> Watch:
        self._watches.add(self)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._watches.discard(self)

    async def next(self, timeout_seconds: float) -> set[Hint]:
        """The hints since the last call; waits for the first, and returns none when the time is over."""
        if not self._pending:
            self._arrived.clear()
            try:
                async with asyncio.timeout(timeout_seconds):
                    await self._arrived.wait()
            except TimeoutError:
                return set()
        hints, self._pending = self._pending, set()
        return hints

    def push(self, hints: Iterable[Hint]) -> None:
        """Leave hints for the listener, those of its topics."""
        self._pending.update(hints if self.topics is TOPICS else (hint for hint in hints if hint.topic in self.topics))
        if not self._pending:
            return
        if len(self._pending) > PENDING_HINTS_MAX:
            self._pending = {hint._replace(ref=None) for hint in self._pending}
        self._arrived.set()


class Watches:
    """All listeners of one engine; only touched on its event loop."""

    def __init__(self) -> None:
        self._open: set[Watch] = set()
        self.heard: frozenset[Topic] = frozenset()
        """Topics that somebody listens to: hints of others need not be made."""

    def add(self, watch: Watch) -> None:
        self._open.add(watch)
        self._note_topics()

    def discard(self, watch: Watch) -> None:
        self._open.discard(watch)
        self._note_topics()

    def _note_topics(self) -> None:
        self.heard = frozenset().union(*(watch.topics for watch in self._open))

    def publish(self, hints: Collection[Hint]) -> None:
        """Leave hints for every listener."""
        for watch in self._open:
            watch.push(hints)
