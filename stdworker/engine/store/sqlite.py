"""The store on SQLite: one file, one writer, readers beside it."""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy

from stdworker.engine.store import migrate, sqlite_failures
from stdworker.engine.store.contract import Row
from stdworker.engine.store.sql import Write, bound, changes, spell
from stdworker.errors import StoreError
from stdworker.model.kind import Phase, Stage

BUSY_SECONDS = 10.0  # less than a request may take: whoever waits hears the reason
MIGRATING_BUSY_SECONDS = 30.0
BUSY_LOOK_SECONDS = 0.005
CACHE_KIB = 65_536
TABLES_SHOWN = 3
ROWS_AT_A_STEP = 64, 16, 1
PACKED = "packed"  # the name of a column that holds whole rows
CHECKPOINT_PAGES = 16_000  # a commit moves the log only when `checkpoint` fell behind

# The driver looks through every value that is no plain int, float or str for a way to adapt it, twice in vain: 0.3 µs.
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(type(None), lambda none: none)
sqlite3.register_adapter(Phase, str.__str__)
sqlite3.register_adapter(Stage, str.__str__)


class _Spelling:
    def rows(self, columns: list[tuple[str, str]]) -> str:
        picks = ", ".join(f"json_extract(value, '$[{i}]') AS {name}" for i, (name, _) in enumerate(columns))
        return f"(SELECT {picks} FROM json_each(:rows))"

    def ids(self, parameter: str) -> str:
        return f"(SELECT value FROM json_each(:{parameter})) AS {parameter}"

    names = ids

    def packed(self, columns: str) -> str:
        """One value in one step: the driver takes locks for each, and lets go of the interpreter at each row."""
        return f"json_group_array(json_array({columns})) AS {PACKED}"

    def lock(self, alias: str, otherwise: str = "") -> str:
        return ""  # a writer is alone


@functools.lru_cache(maxsize=1024)
def _sql(statement: str) -> str:
    return spell(statement, _Spelling())


@functools.cache
def _write_sql(write: Write, count: int) -> str:
    """For so many rows. Values are bound: half the time of one JSON parameter, measured on rows of 27 columns."""
    values = ", ".join([f"({', '.join('?' * len(write.columns))})"] * count)
    if not write.key:
        return f"INSERT INTO {write.table} ({', '.join(write.columns)}) VALUES {values} {write.conflict}"
    place = "?{}" if count == 1 else "v.column{}"
    given = {name: place.format(i) for i, name in enumerate(write.columns, 1)}
    many = "" if count == 1 else f" FROM (VALUES {values}) AS v"
    return (
        f"UPDATE {write.table} SET {changes(write, given)}{many} WHERE {write.table}.{write.key} = {given[write.key]}"
    )


class SqliteConnection:
    def __init__(self, path: Path, *, read_only: bool, synchronous: str) -> None:
        self._db = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        self._db.execute(f"PRAGMA synchronous = {synchronous}")
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB if not read_only else CACHE_KIB // 8}")
        self._db.execute("PRAGMA temp_store = MEMORY")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if read_only:
            self._db.execute("PRAGMA query_only = ON")
        self._changes = self._db.total_changes
        self._path = path.absolute()
        self._file = _identity(self._path)

    def begin(self, *, exclusive: bool = False) -> None:
        """A writer is alone in any case."""
        if _identity(self._path) != self._file:
            raise sqlite_failures.moved(self._path)
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self, announcing: str = "") -> bool:
        before, self._changes = self._changes, self._db.total_changes
        self._db.execute("COMMIT")
        return self._changes != before

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def fetch(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> list[Row]:
        cursor = self._execute(statement, rows, parameters)
        if cursor.description[0][0] != PACKED:
            return cursor.fetchall()
        found: list[Row] = orjson.loads(cursor.fetchone()[0])
        return found

    def run(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> int:
        return self._execute(statement, rows, parameters).rowcount

    def write(self, write: Write, rows: Sequence[Row]) -> None:
        """Many rows at a step: at each one the driver takes locks and lets go of the interpreter."""
        done = 0
        for count in ROWS_AT_A_STEP:
            end = len(rows) - (len(rows) - done) % count
            steps = (tuple(chain.from_iterable(rows[i : i + count])) for i in range(done, end, count))
            if done < end:
                self._db.executemany(_write_sql(write, count), steps)
            done = end

    def next_ids(self, count: int) -> Sequence[int]:
        step = "UPDATE counters SET value = value + :count WHERE name = 'resources' RETURNING value"
        last = self._db.execute(step, {"count": count}).fetchone()[0]
        return range(last - count + 1, last + 1)

    def lock_rechecks(self) -> None:
        return None  # a writer is alone

    def lock_sweep(self) -> bool:
        return True  # a writer is alone

    def checkpoint(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        self._db.close()

    def _execute(
        self, statement: str, rows: Sequence[Sequence[Any]] | None, parameters: dict[str, Any]
    ) -> sqlite3.Cursor:
        return self._db.execute(_sql(statement), bound(rows, parameters))


class SqliteDatabase:
    name = "sqlite"
    shared = False
    writers = 1

    def __init__(self, path: Path, *, synchronous: str = "normal") -> None:
        """`synchronous`: `full` reaches the disk at each commit; `normal` may lose the last ones to a power cut."""
        self.path = path
        self._synchronous = synchronous

    def migrate(self) -> None:
        engine = sqlalchemy.create_engine(
            sqlalchemy.URL.create("sqlite", database=str(self.path)), poolclass=sqlalchemy.NullPool
        )
        sqlalchemy.event.listen(engine, "connect", _prepare)
        sqlalchemy.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        sqlalchemy.event.listen(engine, "begin", self._refuse_foreign)
        migrate.upgrade(engine, self.explain, f"the database {self.path}")

    def _refuse_foreign(self, connection: sqlalchemy.Connection) -> None:
        tables = sqlalchemy.inspect(connection).get_table_names()
        if tables and "alembic_version" not in tables:
            raise StoreError(
                f"the database {self.path} holds tables of something else: {', '.join(tables[:TABLES_SHOWN])}",
                hint="let DATABASE_URL name another file",
                code="store_foreign",
            )

    def connect(self, *, read_only: bool = False) -> SqliteConnection:
        try:
            return SqliteConnection(self.path, read_only=read_only, synchronous=self._synchronous)
        except sqlite3.Error as error:
            raise self.explain(error) from error

    def listen(self, hear: Callable[[str | None], None]) -> Callable[[], None]:
        return lambda: None

    def is_retryable(self, error: Exception) -> bool:
        return False

    def explain(self, error: BaseException) -> StoreError:
        return sqlite_failures.explain(error, self.path, BUSY_SECONDS)


def _identity(path: Path) -> tuple[int, int] | None:
    """Tells a file from one that was put in its place."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {int(MIGRATING_BUSY_SECONDS * 1000)}")
    connection.execute("PRAGMA foreign_keys = OFF")
    _use_wal(connection)


def _use_wal(connection: sqlite3.Connection) -> None:
    """The one statement that SQLite refuses at once, whatever the busy timeout, when another connection is at it."""
    deadline = time.monotonic() + MIGRATING_BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(BUSY_LOOK_SECONDS)
