"""Asking on when the engine is away for a while: it restarts, or the connection is lost."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import click

from stdworker.cli.conctl.client import Client, Failed
from stdworker.cli.terminal import plain

PAUSE_SECONDS = (0.5, 10.0)  # the first, doubled up to the second

_AWAY = (0, 502, 503, 504)  # statuses of an engine that was not reached, or that is about to end


def is_away(error: Failed) -> bool:
    return error.status in _AWAY


@dataclass(slots=True)
class Pauses:
    """Between two attempts; each is up to twice as long as the one before."""

    seconds: float = PAUSE_SECONDS[0]

    def sleep(self, seconds_max: float = PAUSE_SECONDS[1]) -> None:
        time.sleep(min(self.seconds * random.uniform(0.5, 1.0), seconds_max))  # noqa: S311
        self.seconds = min(self.seconds * 2, PAUSE_SECONDS[1])

    def reset(self) -> None:
        self.seconds = PAUSE_SECONDS[0]


@dataclass(slots=True)
class Patience:
    """Of who waits, for an engine that has answered before and is away, until a deadline of `time.monotonic`."""

    client: Client
    deadline: float
    _pauses: Pauses | None = None

    def bear(self, error: Failed) -> None:
        """Return when it is time to ask again. Raises the error if there is nothing to hope for, or no time left."""
        left = self.deadline - time.monotonic()
        if not (is_away(error) and self.client.is_reached and left > 0):
            raise error
        if self._pauses is None:
            self._pauses = Pauses()
            click.echo(f"({plain(error.message.splitlines()[0])}; waiting goes on)", err=True)
        self._pauses.sleep(left)

    def reached(self) -> None:
        """It is there again: the next interruption is told anew."""
        self._pauses = None
