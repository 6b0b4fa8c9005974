"""Default configs: one slot for each pair, filled by pushes and pulls, told to the provider in order."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping

from stdworker.host import dispatch
from stdworker.host.threads import Threads
from stdworker.host.verdict import verdict
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.task import Provider
from stdworker.wire.convert import decode_config
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.pace import Pace
from stdworker.worker.transport import Transport

NO_CONFIG = ProviderConfig()

log = logging.getLogger("stdworker.worker")


class ConfigSlot:
    """The default config of one pair.

    `on_config` runs off the receive path and never twice at once; while it runs, or is due, the slot is not
    `settled` and no task of the pair starts. One that hangs is given up on for the tasks' sake (the slot is
    settled but not `accepted`), yet nothing newer is told to the provider before it returned. `trouble` is why
    it is not accepted, `changes` counts the contents so far.
    """

    def __init__(self, pair: KindVersion, provider: Provider, threads: Threads, pace: Pace) -> None:
        self.config = NO_CONFIG
        self.settled = False
        self.accepted = False
        self.trouble = "it was not told its config yet"
        self.changes = 0
        self.changed: Callable[[], None] = lambda: None
        self.pushed = 0
        self._pair = pair
        self._provider = provider
        self._threads = threads
        self._pace = pace
        self._told: ProviderConfig | None = None
        self._telling: asyncio.Task[None] | None = None
        self._given_up = False

    def put(self, config: ProviderConfig) -> None:
        """Swap the config; the provider is told if it is not what it knows. Tells again what it refused."""
        self.changes += config != self.config
        self.config = config
        if config == self._told and self._telling is None:
            return
        if not self._given_up:
            self.settled = False
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell())

    @property
    def telling(self) -> asyncio.Task[None] | None:
        """The call of `on_config` that runs now."""
        return self._telling

    async def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait({self._telling})

    async def _tell(self) -> None:
        try:
            while self._told is None or self._told != self.config:
                config = self.config
                self.accepted = await self._tell_one(config)
                self._told = config if self.accepted else None
                if not self.accepted and config == self.config:
                    break
            self.settled = True
        finally:
            self._telling = None
        self.changed()

    async def _tell_one(self, config: ProviderConfig) -> bool:
        overdue = asyncio.get_running_loop().call_later(self._pace.on_config_seconds, self._give_up)
        try:
            await dispatch.call(self._threads, self._provider.on_config, config)
        except BaseException as error:
            if _is_cancelled(error):
                raise
            self.trouble = f"it refuses its config: {verdict(error)}"
            log.error("%s: %s", self._pair, self.trouble)
            return False
        finally:
            overdue.cancel()
            self._given_up = False
        self.trouble = ""
        return True

    def _give_up(self) -> None:
        self.trouble = f"on_config has not returned for {self._pace.on_config_seconds:g} s"
        log.error("%s: %s; not ready until it does", self._pair, self.trouble)
        self._given_up = self.settled = True
        self.accepted = False
        self.changed()


def _is_cancelled(error: BaseException) -> bool:
    """Is it us who cancel, or did a provider raise CancelledError?"""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


class Configs:
    """The slots of all pairs. The broker's answer is the truth: a pair that it omits has no default."""

    def __init__(self, slots: Mapping[KindVersion, ConfigSlot], pace: Pace) -> None:
        self.slots = slots
        self.primed = False
        self._pace = pace
        self._pushes = itertools.count(1)
        self._last_push = 0

    def push(self, update: pb.ProviderConfigUpdate) -> None:
        """A config that the broker sent by itself. A pair that isn't served here is ignored."""
        pair, config = decode_config(update)
        slot = self.slots.get(pair)
        if slot is not None:
            slot.pushed = self._last_push = next(self._pushes)
            slot.put(config)

    async def pull(self, transport: Transport) -> None:
        """Ask for all defaults. What was pushed after the question was sent is newer than the answer."""
        asked_after = self._last_push
        pairs = sorted(self.slots)
        request = pb.GetProviderConfigRequest(
            kinds=[pair.kind for pair in pairs], kind_versions=[pair.version for pair in pairs]
        )
        answer = await transport.pull(request, self._pace.pull_answer_seconds)
        told = dict(map(decode_config, answer.entries))
        for pair, slot in self.slots.items():
            if slot.pushed <= asked_after:
                slot.put(told.get(pair, NO_CONFIG))
        self.primed = True

    async def told(self, timeout_seconds: float) -> None:
        """Until every provider knows its config, or the time is up."""
        tellings = [slot.telling for slot in self.slots.values() if slot.telling is not None]
        if tellings:
            await asyncio.wait(tellings, timeout=timeout_seconds)

    async def close(self) -> None:
        for slot in self.slots.values():
            await slot.close()
