"""Which pairs take tasks now: their config is accepted and their provider says yes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from stdworker.host import dispatch
from stdworker.host.threads import Threads
from stdworker.host.verdict import verdict
from stdworker.model.kind import KindVersion
from stdworker.model.task import Provider
from stdworker.worker.configs import ConfigSlot
from stdworker.worker.pace import Pace

log = logging.getLogger("stdworker.worker")


class ReadyPoll:
    """Asks one provider. A question that hangs is a no, and no second one is asked until it is answered."""

    def __init__(self, pair: KindVersion, provider: Provider, threads: Threads, pace: Pace) -> None:
        self.answer = False
        self._pair = pair
        self._provider = provider
        self._threads = threads
        self._pace = pace

    async def watch(self, changed: Callable[[], None]) -> None:
        """Keep asking."""
        while True:
            await self._ask(changed)
            changed()
            await asyncio.sleep(self._pace.readiness_seconds)

    async def _ask(self, changed: Callable[[], None]) -> None:
        question = asyncio.create_task(self._answered())
        try:
            done, _ = await asyncio.wait({question}, timeout=self._pace.ready_seconds)
            if not done:
                log.warning("%s: ready() has not answered for %g s", self._pair, self._pace.ready_seconds)
                self.answer = False
                changed()
            self.answer = await question
        finally:
            question.cancel()

    async def _answered(self) -> bool:
        try:
            return bool(await dispatch.call(self._threads, self._provider.ready))
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            log.error("%s: ready() failed: %s", self._pair, verdict(error))
            return False


class Readiness:
    """The readiness of all pairs. `told` hears of each pair whose readiness or credit may have changed."""

    def __init__(
        self,
        providers: Mapping[KindVersion, Provider],
        slots: Mapping[KindVersion, ConfigSlot],
        threads: Threads,
        pace: Pace,
        told: Callable[[KindVersion, bool], None],
    ) -> None:
        self.draining = False
        self._told = told
        self._slots = slots
        self._polls = {pair: ReadyPoll(pair, provider, threads, pace) for pair, provider in providers.items()}
        self._asked: dict[KindVersion, asyncio.Event] = {pair: asyncio.Event() for pair in providers}
        self._watches: list[asyncio.Task[None]] = []
        self._last: dict[KindVersion, bool] = {}

    def __getitem__(self, pair: KindVersion) -> bool:
        return not self.draining and self._slots[pair].accepted and self._polls[pair].answer

    @property
    def ready_pairs(self) -> int:
        return sum(self[pair] for pair in self._polls)

    def start(self) -> None:
        """Begin to ask each provider."""
        for pair, poll in self._polls.items():
            self._slots[pair].changed = partial(self.tell, pair)
            self._watches.append(asyncio.create_task(poll.watch(partial(self._answered, pair))))

    async def known(self) -> None:
        """Until each provider was asked once (a hanging one counts after its bound)."""
        await asyncio.gather(*(event.wait() for event in self._asked.values()))

    def drain(self) -> None:
        """From now on no pair takes tasks."""
        self.draining = True
        for pair in self._polls:
            self.tell(pair)

    async def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    def tell(self, pair: KindVersion) -> None:
        """Say how ready a pair is now."""
        ready = self[pair]
        if self._last.get(pair) is not ready and self._asked[pair].is_set():
            self._last[pair] = ready
            log.info("%s is %s", pair, "ready" if ready else "draining" if self.draining else "not ready")
        self._told(pair, ready)

    def _answered(self, pair: KindVersion) -> None:
        self._asked[pair].set()
        self.tell(pair)
