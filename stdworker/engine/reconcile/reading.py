"""Reading beside the writers: threads with a connection each, and a replica for what is long to read."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from stdworker.engine.store import catalog
from stdworker.engine.store import events as event_store
from stdworker.engine.store.contract import Connection, Database
from stdworker.errors import SettingsError, StdworkerError, StoreError, StoreUnavailable

READERS = 4
REPLICA_SECONDS = 5.0  # for a reading of the replica; after that the database itself is asked
CATCH_UP_SECONDS = 0.2  # for the replica to have what was stored before the reading began
CATCH_UP_PAUSE_SECONDS = 0.005
AWAY_SECONDS = 10.0  # between two attempts at a replica that fails

log = logging.getLogger(__name__)

T = TypeVar("T")


class Readers:
    """Threads that read. `failed` is told when the database can't be used."""

    def __init__(self, database: Database, failed: Callable[[StoreUnavailable], None] = lambda error: None) -> None:
        self._database = database
        self._failed = failed
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="engine-reader")
        self._own = threading.local()
        self._open: list[Connection] = []
        self._closed = False

    async def read(self, reading: Callable[..., T], *arguments: Any) -> T:
        """Run a reading with a connection and these arguments. Raises StoreError, and what the reading does."""
        loop = asyncio.get_running_loop()
        try:
            found = loop.run_in_executor(self._threads, partial(self._read_here, reading, *arguments))
        except RuntimeError:
            if self._closed:
                raise StoreUnavailable("the engine is closed", code="engine_closed") from None
            raise
        return await found

    def close(self) -> None:
        """Wait for the readings under way."""
        self._closed = True
        self._threads.shutdown()
        for connection in self._open:
            connection.close()
        self._open.clear()

    def _read_here(self, reading: Callable[..., T], *arguments: Any) -> T:
        try:
            if not hasattr(self._own, "connection"):
                self._own.connection = self._database.connect(read_only=True)
                self._open.append(self._own.connection)
            return reading(self._own.connection, *arguments)
        except StdworkerError:
            raise
        except Exception as error:
            told = self._database.explain(error)
            if isinstance(told, StoreUnavailable):
                self._failed(told)
            raise told from error


class _Facts(NamedTuple):
    """What a replica has in common with its database."""

    identity: int | None
    schema: str


class _Behind(Exception):
    """The replica doesn't have yet what was stored before the reading began."""


class Replica:
    """Reads from a copy, as if it were the database itself: nothing that was stored before is missing.

    What the copy has is told by the event sequence. While it is behind, or can't be read, the database is.
    """

    def __init__(self, database: Database, primary: Readers) -> None:
        self._primary = primary
        self._readers = Readers(database)
        self._is_checked = False
        self._is_away = False
        self._again_at = 0.0

    async def read(self, reading: Callable[..., T], *arguments: Any) -> T:
        if time.monotonic() >= self._again_at:
            try:
                async with asyncio.timeout(REPLICA_SECONDS):
                    return await self._read_there(reading, *arguments)
            except _Behind:
                pass
            except (StoreError, TimeoutError) as error:
                self._leave(error)
        return await self._primary.read(reading, *arguments)

    async def check(self, url: str) -> None:
        """Raises SettingsError when it is a copy of another database; one that can't be read now is let be."""
        ours = await self._primary.read(_facts)
        try:
            async with asyncio.timeout(REPLICA_SECONDS):
                theirs = await self._readers.read(_facts)
        except (StoreError, TimeoutError) as error:
            self._leave(error)
            return
        if theirs.identity not in (None, ours.identity):
            raise SettingsError("DATABASE_READ_URL", url, "a replica of the database that DATABASE_URL names")

    def close(self) -> None:
        self._readers.close()

    async def _read_there(self, reading: Callable[..., T], *arguments: Any) -> T:
        if not self._is_checked:
            if await self._primary.read(_facts) != await self._readers.read(_facts):
                raise StoreError("it is behind a migration, or a copy of another database")
            self._is_checked = True
        newest = await self._primary.read(event_store.last)
        found: T = await self._readers.read(_after, newest, reading, *arguments)
        if self._is_away:
            self._is_away = False
            log.warning("lists are read from the replica again")
        return found

    def _leave(self, error: Exception) -> None:
        self._is_checked = False
        self._again_at = time.monotonic() + AWAY_SECONDS
        if not self._is_away:
            self._is_away = True
            why = error if str(error) else f"no answer within {REPLICA_SECONDS:g} s"
            log.warning("lists are read from DATABASE_URL until the replica can be used: %s", why)


def _facts(db: Connection) -> _Facts:
    return _Facts(catalog.identity(db), catalog.schema(db))


def _after(db: Connection, newest: int, reading: Callable[..., T], *arguments: Any) -> T:
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while event_store.last(db) < newest:
        if time.monotonic() > deadline:
            raise _Behind
        time.sleep(CATCH_UP_PAUSE_SECONDS)
    return reading(db, *arguments)
