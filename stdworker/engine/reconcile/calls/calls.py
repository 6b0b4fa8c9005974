"""What the calls of an engine are made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.reconcile.clock import Clock
from stdworker.engine.reconcile.reading import Readers, Replica

T = TypeVar("T")


class Calls:
    """The engine's writer, its readers, those for what is long to read, and its clock."""

    _batcher: Batcher
    _readers: Readers
    _lists: Readers | Replica
    _clock: Clock

    async def read(self, reading: Callable[..., T], *arguments: Any) -> T:
        """Run a reading, a function of a connection and these arguments, beside the writers."""
        return await self._readers.read(reading, *arguments)
