"""Each test of this folder runs on SQLite and on Postgres."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from psycopg.errors import DeadlockDetected

from stdworker.engine.reconcile import Engine, verbs
from stdworker.engine.reconcile.batcher import Batcher, Call, Verb
from stdworker.engine.reconcile.clock import SystemClock
from stdworker.engine.reconcile.watch import Watches
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store.contract import Connection, Database
from stdworker.engine.store.opening import open_database

HANG_SECONDS = 30
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: Any) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def database(database_url: str) -> Database:
    return open_database(database_url)


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    """A connection inside a transaction."""
    connection = database.connect()
    connection.begin()
    yield connection
    connection.rollback()
    connection.close()


@pytest.fixture
def with_engine(database_url: str) -> Callable[..., None]:
    """Runs a scenario with an open engine, in which someone has published some kinds."""

    def run(scenario: Callable[[Engine], Awaitable[None]], *kinds: dict[str, Any]) -> None:
        async def opened() -> None:
            engine = await Engine.open(database_url)
            try:
                for kind in kinds:
                    await engine.publish_kind(kind, "ada")
                await scenario(engine)
            finally:
                await engine.close()

        asyncio.run(opened())

    return run


# ---- transactions on Postgres that meet ----


class Beside:
    """Something that is done in a transaction of its own, on a thread."""

    def __init__(self, database: Database, work: Callable[[Connection], Any]) -> None:
        self._database, self._work = database, work
        self.is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection = self._database.connect()
        try:
            self._result = self._work(connection)
        except Exception as error:
            self._result = error
        connection.close()

    def ended(self) -> Any:
        """Wait for its end; what came of it. Raises what it raised."""
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive()
        self.is_over = True
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


@pytest.fixture
def transact(database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Does calls of one verb as an engine does, on a connection of their own, but for good after a deadlock."""
    retryable = database.is_retryable
    monkeypatch.setattr(
        database, "is_retryable", lambda error: not isinstance(error, DeadlockDetected) and retryable(error)
    )
    batcher = Batcher(database, SystemClock(), EngineOptions(), Watches(), verbs.FOLLOW_UP, "test", _loop=None)  # type: ignore[arg-type]

    def do(verb: Verb, *arguments: Any, on: Connection | None = None) -> list[Any]:
        connection = on or database.connect()
        try:
            answers, _, _ = batcher._transact(connection, [Call(verb, argument, 1, None) for argument in arguments])
        finally:
            if on is None:
                connection.close()
        return [answer for _, answer in answers]

    return do


@pytest.fixture
def other(database: Database) -> Iterator[Connection]:
    """Somebody else's transaction."""
    connection = database.connect()
    connection.begin()
    yield connection
    connection.close()


@pytest.fixture
def beside(database: Database, eventually: Callable[..., Any]) -> Iterator[Callable[..., Beside]]:
    """Begins something on a connection of its own, and goes on when that waits for somebody; it ends with the test."""
    watcher = database.connect(read_only=True)
    begun: list[Beside] = []

    def begin(work: Callable[[Connection], Any]) -> Beside:
        begun.append(Beside(database, work))
        eventually(lambda: watcher.fetch(WAITS) == [(1,)])
        return begun[-1]

    yield begin
    for one in begun:
        if not one.is_over:
            one.ended()
    watcher.close()
