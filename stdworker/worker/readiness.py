"""Which pairs take tasks now: their config is accepted and their provider says yes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from functools import partial

from stdworker.host import dispatch
from stdworker.host.threads import Threads
from stdworker.host.verdict import verdict
from stdworker.model.kind import KindVersion
from stdworker.model.task import Provider
from stdworker.worker.configs import NO_CONFIG, ConfigSlot
from stdworker.worker.pace import Pace
from stdworker.worker.waiting import within

log = logging.getLogger("stdworker.worker")


class ReadyPoll:
    """Asks one provider. A question that hangs is a no, and no second one is asked until it is answered."""

    def __init__(self, pair: KindVersion, provider: Provider, threads: Threads, pace: Pace) -> None:
        self.answer = False
        self.trouble = ""
        self._pair = pair
        self._provider = provider
        self._threads = threads
        self._pace = pace
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def watch(self, changed: Callable[[], None]) -> None:
        """Keep asking, at once when the provider says that the answer may be another."""
        if hasattr(self._provider, "on_ready_change"):
            self._provider.on_ready_change = self.hurry
        while True:
            self._changed.clear()
            await self._ask(changed)
            changed()
            await asyncio.sleep(self._pace.readiness_gap_seconds)
            await within(self._pace.readiness_seconds, self._changed.wait())

    @property
    def reason(self) -> str:
        """Why the last answer was no; "" if the provider doesn't say."""
        return self.trouble or str(getattr(self._provider, "readiness_reason", ""))

    def hurry(self) -> None:
        """Ask soon. Safe from any thread, and when the worker has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _ask(self, changed: Callable[[], None]) -> None:
        question = asyncio.create_task(self._answered())
        try:
            done, _ = await asyncio.wait({question}, timeout=self._pace.ready_seconds)
            if not done:
                self.answer = False
                self.trouble = f"ready() has not answered for {self._pace.ready_seconds:g} s"
                log.warning("%s: %s", self._pair, self.trouble)
                changed()
            self.answer = await question
        finally:
            question.cancel()

    async def _answered(self) -> bool:
        try:
            answer = bool(await dispatch.call(self._threads, self._provider.ready))
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            self.trouble = f"ready() failed: {verdict(error)}"
            log.error("%s: %s", self._pair, self.trouble)
            return False
        self.trouble = ""
        return answer


class Readiness:
    """The readiness of all pairs. `told` hears of each pair whose readiness, its reason or credit may have changed."""

    def __init__(
        self,
        providers: Mapping[KindVersion, Provider],
        slots: Mapping[KindVersion, ConfigSlot],
        threads: Threads,
        pace: Pace,
        told: Callable[[KindVersion, bool, str], None],
    ) -> None:
        self.draining = False
        self._told = told
        self._slots = slots
        self._polls = {pair: ReadyPoll(pair, provider, threads, pace) for pair, provider in providers.items()}
        self._asked: dict[KindVersion, asyncio.Event] = {pair: asyncio.Event() for pair in providers}
        self._watches: list[asyncio.Task[None]] = []
        self._last: dict[KindVersion, tuple[bool, str]] | None = None

    def __getitem__(self, pair: KindVersion) -> bool:
        return not self.draining and self._slots[pair].accepted and self._polls[pair].answer

    def reason(self, pair: KindVersion) -> str:
        """Why a pair takes no tasks, in one line; "" when it does, or when its provider doesn't say."""
        if self.draining:
            return "the worker drains"
        told = self._slots[pair].trouble or ("" if self._polls[pair].answer else self._polls[pair].reason)
        return " ".join(told.split())

    @property
    def ready_pairs(self) -> int:
        return sum(self[pair] for pair in self._polls)

    def start(self) -> None:
        """Begin to ask each provider."""
        for pair, poll in self._polls.items():
            self._slots[pair].changed = partial(self._configured, pair)
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

    def introduce(self) -> None:
        """Log who is not ready at the start, in one line for each reason; from now on each change has its own."""
        unready: dict[tuple[str, int], list[str]] = {}
        for pair in self._polls:
            if not self[pair]:
                level = logging.INFO if self._slots[pair].config == NO_CONFIG else logging.WARNING
                unready.setdefault((self.reason(pair), level), []).append(str(pair))
        for (reason, level), pairs in unready.items():
            log.log(level, "not ready yet: %s", _joined(", ".join(pairs), reason))
        self._last = {pair: (self[pair], self.reason(pair)) for pair in self._polls}

    def tell(self, pair: KindVersion) -> None:
        """Say how ready a pair is now."""
        ready, reason = self[pair], self.reason(pair)
        if self._last is not None and self._last[pair] != (ready, reason) and not self.draining:
            self._last[pair] = ready, reason
            if ready:
                log.info("%s is ready", pair)
            else:
                log.warning("%s is %s", pair, _joined("not ready", reason))
        self._told(pair, ready, reason)

    def _configured(self, pair: KindVersion) -> None:
        """Its config was taken or refused: the provider may answer something else now."""
        self.tell(pair)
        self._polls[pair].hurry()

    def _answered(self, pair: KindVersion) -> None:
        self._asked[pair].set()
        self.tell(pair)


def _joined(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what
