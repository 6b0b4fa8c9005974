"""Waits that always end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def within(seconds: float, awaited: Coroutine[Any, Any, Any]) -> bool:
    """Wait for something that can be cancelled, at most so long. False: it did not happen."""
    task = asyncio.create_task(awaited)
    try:
        done, _ = await asyncio.wait({task}, timeout=max(0.0, seconds))
        return bool(done)
    finally:
        task.cancel()


async def first(task: asyncio.Task[Any], event: asyncio.Event) -> None:
    """Wait until the task has ended or the event is set; neither is touched."""
    waiter = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiter.cancel()
