"""Background loops that outlive a failing store: what a tick couldn't do, it does when it is called again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from stdworker.errors import StdworkerError

log = logging.getLogger("stdworker.broker")

PAUSE_SECONDS = 0.5
PAUSE_SECONDS_MAX = 5.0


async def forever(what: str, tick: Callable[[], Awaitable[None]]) -> NoReturn:
    """Run `tick` again and again. A failing one is told once, then tried at growing distances until it works."""
    pause = PAUSE_SECONDS
    while True:
        try:
            await tick()
        except Exception as error:
            if pause == PAUSE_SECONDS:
                unexpected = not isinstance(error, StdworkerError)
                log.error("%s fails, and is tried until it works: %s", what, error, exc_info=unexpected)
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_SECONDS_MAX)
        else:
            if pause > PAUSE_SECONDS:
                log.info("%s works again", what)
            pause = PAUSE_SECONDS
