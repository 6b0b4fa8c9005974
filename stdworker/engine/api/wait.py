"""Waiting for a resource: hints say when to look, only the store says what is so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from stdworker.engine.api.problems import Draining, Refused
from stdworker.engine.reconcile import Engine, Hint, Watch
from stdworker.engine.store.records import ResourceRecord
from stdworker.errors import Conflict, NotFound
from stdworker.model.kind import Phase
from stdworker.model.resource import Ref

WAIT_SECONDS_MAX = 3_600.0
LOOK_SECONDS = 2.0  # without any hint, for changes whose hint was lost


class Waiting:
    """One wait. `condition` is ready, synced or deleted.

    `gone` tells whether the caller has left, `ending` whether this process of the engine is on its way out.
    """

    def __init__(
        self,
        engine: Engine,
        ref: Ref,
        condition: str,
        gone: Callable[[], Awaitable[bool]] | None = None,
        ending: Callable[[], bool] = lambda: False,
    ) -> None:
        self.engine = engine
        self.ref = ref
        self.condition = condition
        self.gone = gone
        self.ending = ending

    async def until(self, timeout_seconds: float) -> ResourceRecord | None:
        """The resource when it is so, None when it is deleted.

        Raises Conflict when it can't become so, Refused 408 when it isn't within the time (at most
        `WAIT_SECONDS_MAX`) and 503 when this process ends before, NotFound when there is nothing to wait for.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + min(timeout_seconds, WAIT_SECONDS_MAX)
        async with self.engine.watch() as watch:
            first: ResourceRecord | None = None
            while True:
                record = await self.read()
                if record is None or self.satisfied(record) or (self.gone and await self.gone()):
                    return record
                first = first or record
                if self.condition == "deleted" and record.uid != first.uid:  # and made again at once
                    return None
                if self.ending():
                    raise Draining
                if now() >= deadline:
                    raise await self.too_late(record)
                await self.stirred(watch, min(now() + LOOK_SECONDS, deadline))

    async def stirred(self, watch: Watch, look_at: float) -> None:
        """Return at the first hint about the resource, or when it is time to look without one."""
        now = asyncio.get_running_loop().time
        while (left := look_at - now()) > 0:
            if any(map(self.concerns, await watch.next(left))):
                return

    async def read(self) -> ResourceRecord | None:
        try:
            return await self.engine.get(self.ref)
        except NotFound:
            if self.condition == "deleted":
                return None
            raise

    def satisfied(self, record: ResourceRecord) -> bool:
        """Is it so? Raises Conflict when it never will be unless someone changes something."""
        if self.condition == "deleted":
            return False
        if record.phase is Phase.DELETING:
            raise Conflict(f"{self.ref} is being deleted", code="deleting")
        if self.condition == "ready" and record.is_ready:
            return True
        if self.condition == "synced" and record.synced_gen >= record.generation:
            return True
        if record.phase is Phase.QUARANTINED:
            raise Conflict(f"{self.ref} is quarantined", hint="release it first", code="quarantined")
        if record.phase is Phase.FAILED and record.failure_terminal:
            raise Conflict(
                f"{self.ref} failed and is not tried again: {record.failure_message}",
                hint="change its spec or config, or reconcile it",
                code="failed",
            )
        return False

    def concerns(self, hint: Hint) -> bool:
        return hint.topic == "resource" and hint.ref in (None, self.ref)

    async def too_late(self, record: ResourceRecord) -> Refused:
        """With what weighs most of all that stands in the way."""
        told = f"{self.ref} is {record.phase}, not {self.condition}"
        try:
            reasons = (await self.engine.explain(self.ref)).reasons
        except NotFound:  # it went at this moment
            reasons = []
        return Refused(408, "timeout", f"{told}: {reasons[0].message}" if reasons else told)
