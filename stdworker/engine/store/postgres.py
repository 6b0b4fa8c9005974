"""The store on Postgres (13 or newer): shared by any number of engines."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable

import psycopg
import sqlalchemy
from psycopg.errors import DeadlockDetected, LockNotAvailable

from stdworker.engine.store import migrate, postgres_failures
from stdworker.engine.store.postgres_connection import (
    CHANNEL,
    READER_SETTINGS,
    Bounded,
    PostgresConnection,
    connect,
    options,
)
from stdworker.errors import StoreError

WRITERS = 3
LISTEN_CHECK_SECONDS = 10.0  # a connection that only listens never notices that its server is gone
LISTEN_AGAIN_SECONDS = 1.0
MIGRATION_LOCK = 0x5354_4457_0002
MIGRATION_LOCK_SECONDS = 3  # whoever waits for a table lock holds up all that come after
MIGRATION_IDLE_SECONDS = 60
MIGRATION_SECONDS = 120.0
MIGRATION_STATEMENT_SECONDS = 3_600.0  # an index of a large table takes its time
MIGRATE_AGAIN_SECONDS = 0.2


class _Migrating(Bounded):
    answer_seconds = MIGRATION_STATEMENT_SECONDS


class _Listener(threading.Thread):
    """Hears what engines announce, and says when it may have missed something."""

    def __init__(self, url: str, hear: Callable[[str | None], None]) -> None:
        super().__init__(name="engine-listener", daemon=True)
        self._url = url
        self._hear = hear
        self._stopped = threading.Event()
        self._bell = os.eventfd(0)  # wakes it to stop

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                with connect(self._url, READER_SETTINGS) as db:
                    db.execute(f"LISTEN {CHANNEL}")
                    self._hear(None)
                    self._pass_on(db)
            except psycopg.Error:
                self._stopped.wait(LISTEN_AGAIN_SECONDS)
        os.close(self._bell)

    def _pass_on(self, db: Bounded) -> None:
        with selectors.DefaultSelector() as selector:
            for readable in (db.fileno(), self._bell):
                selector.register(readable, selectors.EVENT_READ)
            while not self._stopped.is_set():
                if not selector.select(LISTEN_CHECK_SECONDS):
                    db.execute("SELECT 1")
                for notice in db.notifies(timeout=0):
                    self._hear(notice.payload)

    def stop(self) -> None:
        """Stop and wait for the end; once it is stopped, for nothing."""
        if not self._stopped.is_set():
            os.eventfd_write(self._bell, 1)  # before it may end, which closes the bell
            self._stopped.set()
        self.join()


class PostgresDatabase:
    name = "postgres"
    shared = True
    writers = WRITERS

    def __init__(self, url: str) -> None:
        self.url = url

    def migrate(self) -> None:
        """One process at a time. A table that is in use is left to its users for a moment, then tried again."""
        deadline = time.monotonic() + MIGRATION_SECONDS
        while True:
            try:
                migrate.upgrade(self._migrating(), self.explain, "the Postgres database")
                return
            except StoreError as error:
                cause = getattr(error.__cause__, "orig", None)
                if not isinstance(cause, LockNotAvailable | DeadlockDetected) or time.monotonic() > deadline:
                    raise
                time.sleep(MIGRATE_AGAIN_SECONDS)

    def _migrating(self) -> sqlalchemy.Engine:
        engine = sqlalchemy.create_engine(
            "postgresql+psycopg://",
            creator=lambda: _Migrating.connect(**options(self.url)),
            poolclass=sqlalchemy.NullPool,
        )

        @sqlalchemy.event.listens_for(engine, "begin")
        def lock(connection: sqlalchemy.Connection) -> None:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_LOCK_SECONDS}s'")
            connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{MIGRATION_IDLE_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")

        return engine

    def connect(self, *, read_only: bool = False) -> PostgresConnection:
        return PostgresConnection(self.url, read_only=read_only)

    def listen(self, hear: Callable[[str | None], None]) -> Callable[[], None]:
        listener = _Listener(self.url, hear)
        listener.start()
        return listener.stop

    def is_retryable(self, error: BaseException) -> bool:
        return postgres_failures.is_retryable(error)

    def explain(self, error: BaseException) -> StoreError:
        return postgres_failures.explain(error)
