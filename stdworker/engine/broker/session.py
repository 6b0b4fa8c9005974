"""One worker's stream as the broker sees it: what it may take, and what it holds."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import NamedTuple

from stdworker.engine.broker.outbox import Outbox
from stdworker.engine.broker.subscription import Subscription, plain
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.task import Lease

NEVER_PUSHED = -1
DEADLINE_GRACE_SECONDS = 5.0  # a worker reports its deadlines itself; the broker is the backstop
REASON_CHARACTERS_MAX = 500


class Running(NamedTuple):
    """A task that the worker holds.

    `pair` and `stage` are None for a lease that another broker handed out, until the store has told what it is
    for. `expires` is a monotonic instant, None without a deadline.
    """

    lease: Lease
    pair: KindVersion | None = None
    stage: Stage | None = None
    expires: float | None = None


def expiry(deadline_ms: int, now: float) -> float | None:
    """When the broker ends a task itself that has so long to run."""
    return now + deadline_ms / 1_000 + DEADLINE_GRACE_SECONDS if deadline_ms > 0 else None


@dataclass(slots=True)
class Slots:
    """A pair on a stream: its limit, the tasks held, whether the worker is ready for it and why not, the config
    it has seen."""

    limit: int
    used: int = 0
    ready: bool = True
    reason: str = ""
    config_revision: int = NEVER_PUSHED


class Session:
    """Credit is what the worker may be handed: the smaller of what is left of the stream and of the pair."""

    def __init__(self, subscription: Subscription, now: float) -> None:
        self.subscription = subscription
        self.worker = subscription.worker
        self.inflight_max = subscription.inflight_max
        self.resumed = subscription.resumed
        self.pairs = {pair: Slots(limit) for pair, limit in subscription.pairs.items()}
        self.outbox = Outbox(subscription.extensions)
        self.running: dict[str, Running] = {}
        self.settling: set[str] = set()  # tokens of results that are received and not stored yet
        self._settled = asyncio.Event()
        self.open = False  # its resumed leases are attested and its configs are on their way
        self.heartbeats = False  # a worker that never sends one attests by its open stream
        self.opened_at = self.heard_at = now
        self.silent = False

    def credit(self, pair: KindVersion) -> int:
        """How many more tasks of the pair may be sent now."""
        slots = self.pairs.get(pair)
        if slots is None or not slots.ready or not self.open or self.silent:
            return 0
        return max(0, min(slots.limit - slots.used, self.inflight_max - len(self.running)))

    def hold(self, task: Running) -> None:
        """Count a task as held by the worker; the same one twice counts once."""
        if task.lease.token in self.running:
            return
        self.running[task.lease.token] = task
        if task.pair and (slots := self.pairs.get(task.pair)):
            slots.used += 1

    def unidentified(self) -> list[Lease]:
        """Leases of which nothing but their token is known."""
        return [task.lease for task in self.running.values() if task.pair is None]

    def identify(self, task: Running) -> None:
        """What a lease is for that the stream holds, if it still does: from now on it counts for its pair."""
        known = self.running.get(task.lease.token)
        if known is not None and known.pair is None:
            del self.running[task.lease.token]
            self.hold(task)

    def drop(self, token: str) -> Running | None:
        """The worker no longer holds the task; None when it never did."""
        task = self.running.pop(token, None)
        if task and task.pair and (slots := self.pairs.get(task.pair)):
            slots.used -= 1
        return task

    def set_interest(self, pair: KindVersion, *, ready: bool, limit: int, reason: str = "") -> bool:
        """The worker is (not) ready for a pair, with another limit if positive. False if it never subscribed it."""
        slots = self.pairs.get(pair)
        if slots is None:
            return False
        slots.ready, slots.reason = ready, plain(reason, REASON_CHARACTERS_MAX)
        if limit > 0:
            slots.limit = min(limit, self.inflight_max)
        return True

    def begin_settling(self, token: str) -> None:
        """A result was received, and is not stored yet."""
        self.settling.add(token)
        self._settled.clear()

    def end_settling(self, token: str) -> None:
        """The result is stored."""
        self.settling.discard(token)
        if not self.settling:
            self._settled.set()

    async def wait_settled(self, seconds: float) -> None:
        """Wait until all results received are stored, at most so long."""
        if self.settling:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), seconds)

    @property
    def idle(self) -> bool:
        """Is nothing held, and every result stored?"""
        return not self.running and not self.settling

    def leases(self) -> list[Lease]:
        """Of all tasks that the worker holds."""
        return [task.lease for task in self.running.values()]
