"""A request on its way through a persistent process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stdworker.bridge.program import Program
from stdworker.errors import TaskFailure
from stdworker.model.task import ReactionRequest


class Lost:
    """A request ended with its process and nobody knows whether it was to blame: run it again, alone."""


LOST = Lost()


@dataclass(slots=True, eq=False)
class Flight:
    """One request in a process. Its future gets the answer's line, a failure, or `LOST`."""

    id: str
    request: ReactionRequest
    program: Program
    landed: asyncio.Future[bytes | TaskFailure | Lost]
    limit_seconds: float | None = None
    stray_before: int = 0
    deadline: asyncio.TimerHandle | None = None
    silence: asyncio.TimerHandle | None = None

    def land(self, result: bytes | TaskFailure | Lost) -> None:
        if not self.landed.done():
            self.landed.set_result(result)

    def disarm(self) -> None:
        for timer in (self.deadline, self.silence):
            if timer is not None:
                timer.cancel()
        self.deadline = self.silence = None
