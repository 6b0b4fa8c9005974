"""The store on Postgres (13 or newer): shared by any number of engines."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import sqlalchemy

from stdworker.engine.store import migrate
from stdworker.engine.store.contract import Row
from stdworker.engine.store.sql import Write, bound, spell, typed
from stdworker.errors import Invalid, StoreError, StoreUnavailable

WRITERS = 3
CONNECT_SECONDS = 10
CHANNEL = "stdworker"
LISTEN_PAUSE_SECONDS = 0.5
LISTEN_AGAIN_SECONDS = 1.0
RECHECK_LOCK = 0x5354_4457_0001  # "STDW", the first lock
MIGRATION_LOCK = 0x5354_4457_0002

# A writer's statements find all their rows by index, however small the tables are, and are planned once.
_WRITER = (
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "jit = off",
    "plan_cache_mode = force_generic_plan",
)
_READER = ("default_transaction_read_only = on",)

_TYPES = {"int": "bigint", "bool": "boolean", "real": "double precision", "text": "text"}
_PARAMETER = re.compile(r":(\w+)\b")
_RETRYABLE = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation)


class _Spelling:
    def rows(self, columns: list[tuple[str, str]]) -> str:
        picks = ", ".join(
            f"CAST(j.value ->> {i} AS {_TYPES[kind]}) AS {name}" for i, (name, kind) in enumerate(columns)
        )
        return f"(SELECT {picks} FROM jsonb_array_elements(CAST(:rows AS jsonb)) AS j(value))"

    def ids(self, parameter: str) -> str:
        return self._array(parameter, "CAST(j.value AS bigint)")

    def names(self, parameter: str) -> str:
        return self._array(parameter, "j.value")

    def _array(self, parameter: str, column: str) -> str:
        elements = f"jsonb_array_elements_text(CAST(:{parameter} AS jsonb)) AS j(value)"
        return f"(SELECT {column} FROM {elements}) AS {parameter}"

    def lock(self, alias: str, *, skip: bool) -> str:
        return f"FOR UPDATE OF {alias}" + (" SKIP LOCKED" if skip else "")


@functools.lru_cache(maxsize=1024)
def _sql(statement: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", spell(statement, _Spelling()).replace("%", "%%"))


@functools.cache
def _write_sql(write: Write) -> str:
    """One statement over one JSON parameter: one round trip, whatever the number of rows."""
    rows = f"ROWS({typed(write.table, write.columns)}) AS r"
    if not write.key:
        names = ", ".join(write.columns)
        return f"INSERT INTO {write.table} ({names}) SELECT {names} FROM {rows} {write.conflict}"
    changes = ", ".join(
        f"{name} = coalesce(r.{name}, t.{name})" if name in write.kept else f"{name} = r.{name}"
        for name in write.columns
        if name != write.key
    )
    return f"UPDATE {write.table} AS t SET {changes} FROM {rows} WHERE t.{write.key} = r.{write.key}"


class PostgresConnection:
    def __init__(self, url: str, *, read_only: bool) -> None:
        self._url = url
        self._read_only = read_only
        self._db = self._connect()

    def _connect(self) -> psycopg.Connection[Row]:
        db = psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS)
        db.prepare_threshold = 2
        for setting in _READER if self._read_only else _WRITER:
            db.execute(f"SET {setting}")
        return db

    def begin(self) -> None:
        if self._db.broken or self._db.closed:
            self._db = self._connect()
        self._db.execute("BEGIN")

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        if not self._db.broken and not self._db.closed:
            self._db.execute("ROLLBACK")

    def fetch(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> list[Row]:
        return self._execute(statement, rows, parameters).fetchall()

    def run(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> int:
        return self._execute(statement, rows, parameters).rowcount

    def write(self, write: Write, rows: Sequence[Row]) -> None:
        self.run(_write_sql(write), rows)

    def next_ids(self, count: int) -> Sequence[int]:
        rows = self._db.execute("SELECT nextval('resource_ids') FROM generate_series(1, %s)", (count,)).fetchall()
        return [row[0] for row in rows]

    def lock_rechecks(self) -> None:
        self._db.execute("SELECT pg_advisory_xact_lock(%s)", (RECHECK_LOCK,))

    def announce(self, message: str) -> None:
        self._db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, message))

    def checkpoint(self) -> None:
        return None  # the server does it

    def close(self) -> None:
        self._db.close()

    def _execute(
        self, statement: str, rows: Sequence[Sequence[Any]] | None, parameters: dict[str, Any]
    ) -> psycopg.Cursor[Row]:
        if self._read_only and (self._db.broken or self._db.closed):
            self._db = self._connect()
        try:
            return self._db.execute(_sql(statement).encode(), bound(rows, parameters))
        except psycopg.DataError as error:
            if "\\u0000" in str(error) or "NUL" in str(error):
                raise Invalid("a name or a label holds the character NUL", code="nul") from None
            raise


class _Listener(threading.Thread):
    """Hears what engines announce. What is lost with a connection is only a hint."""

    def __init__(self, url: str, hear: Callable[[str], None]) -> None:
        super().__init__(name="engine-listener", daemon=True)
        self._url = url
        self._hear = hear
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_SECONDS) as db:
                    db.execute(f"LISTEN {CHANNEL}")
                    self._pass_on(db)
            except psycopg.Error:
                self._stopped.wait(LISTEN_AGAIN_SECONDS)

    def _pass_on(self, db: psycopg.Connection[Row]) -> None:
        while not self._stopped.is_set():
            for notice in db.notifies(timeout=LISTEN_PAUSE_SECONDS, stop_after=1):
                self._hear(notice.payload)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


class PostgresDatabase:
    name = "postgres"
    shared = True
    writers = WRITERS

    def __init__(self, url: str) -> None:
        self.url = url

    def migrate(self) -> None:
        url = sqlalchemy.make_url(self.url).set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        sqlalchemy.event.listen(
            engine,
            "begin",
            lambda connection: connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"),
        )
        migrate.upgrade(engine, self.explain, "the Postgres database")

    def connect(self, *, read_only: bool = False) -> PostgresConnection:
        return PostgresConnection(self.url, read_only=read_only)

    def listen(self, hear: Callable[[str], None]) -> Callable[[], None]:
        listener = _Listener(self.url, hear)
        listener.start()
        return listener.stop

    def is_retryable(self, error: BaseException) -> bool:
        return isinstance(error, _RETRYABLE)

    def explain(self, error: BaseException) -> StoreError:
        if isinstance(error, psycopg.OperationalError) and not self.is_retryable(error):
            return StoreUnavailable(f"the Postgres database can't be used: {error}")
        return StoreError(f"the Postgres database failed: {error}")
