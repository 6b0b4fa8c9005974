"""A connection to Postgres that outlives the one below it, waits for nothing without an end, and knows what it stored.

A connection may be lost at any moment. Before COMMIT that undoes the transaction, which is run again. During
COMMIT nobody knows; so each transaction leaves its number in a row of its writer, which the next connection reads.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

import orjson
import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from stdworker.engine.store.catalog import WRITER
from stdworker.engine.store.contract import Contended, Row
from stdworker.engine.store.postgres_sql import spelled, written
from stdworker.engine.store.sql import Write, bound
from stdworker.errors import Invalid, StoreUnavailable

CONNECT_SECONDS = 10
AT_ONCE_SECONDS = 1.0
LOCK_SECONDS = 10  # for what another session holds
STATEMENT_SECONDS = 20
ANSWER_SECONDS = 25.0  # more than the server needs to end a statement: after that it stands still
PLANS_SECONDS = 10.0  # plans are kept for so long: tables grow faster than they are analysed
IDLE_SECONDS = 20  # an engine that stands still in a transaction holds up the others for so long
DOUBT_SECONDS = 30.0  # for asking whether a transaction was stored
ASK_AGAIN_SECONDS = 0.2
ROWS_BYTES_MAX = 32 << 20  # of JSON in one statement: the server holds 256 MiB of it, and a digit takes it twelve bytes
CHANNEL = "stdworker"
RECHECK_LOCK = 0x5354_4457_0001  # "STDW", the first lock
SWEEP_LOCK = 0x5354_4457_0003
CATALOG_LOCK = 0x5354_4457_0004

# What the URL says wins over these.
_OPTIONS: dict[str, Any] = {
    "application_name": "converge",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": int(ANSWER_SECONDS * 1000),
}
_BOUNDS = (
    f"statement_timeout = '{STATEMENT_SECONDS}s'",
    f"lock_timeout = '{LOCK_SECONDS}s'",
    f"idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'",
)
# All joins follow an index. The planner can't know how few rows a JSON parameter or a recursion has.
_JOINS = ("enable_hashjoin = off", "enable_mergejoin = off", "random_page_cost = 1.1", "jit = off")
# A writer's statements find all their rows by index, however small the tables are, and are planned once.
WRITER_SETTINGS = (*_BOUNDS, *_JOINS, "enable_seqscan = off", "plan_cache_mode = force_generic_plan")
READER_SETTINGS = (*_BOUNDS, *_JOINS, "default_transaction_read_only = on")

# Every transaction that writes shares a lock, so that one can be alone. Both in one round trip.
_BEGIN = f"BEGIN; SELECT pg_advisory_xact_lock_shared({CATALOG_LOCK})".encode()
_BEGIN_EXCLUSIVE = f"BEGIN; SELECT pg_advisory_xact_lock({CATALOG_LOCK})".encode()

_NUMBER = (
    "INSERT INTO counters (name, value) SELECT %(writer)s, %(number)s"
    " WHERE pg_current_xact_id_if_assigned() IS NOT NULL"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_NUMBER_AND_TELL = f"{_NUMBER} RETURNING pg_notify('{CHANNEL}', %(told)s)"
# Waits for a transaction of the writer that is still on its way.
_LAST_NUMBER = (
    "INSERT INTO counters (name, value) VALUES (%(writer)s, 0)"
    " ON CONFLICT (name) DO UPDATE SET value = counters.value RETURNING value"
)


class ConnectionLost(psycopg.OperationalError):
    """The connection is gone and its transaction undone."""


class Bounded(psycopg.Connection[Row]):
    """Gives up on a server that takes a statement and then stands still."""

    answer_seconds = ANSWER_SECONDS

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)


def options(url: str) -> dict[str, Any]:
    return {**_OPTIONS, **conninfo_to_dict(url)}


def connect(url: str, settings: Sequence[str]) -> Bounded:
    """Open a connection; a second time if the first was refused at once, as one is that is ended while it opens."""
    begun = time.monotonic()
    try:
        return _opened(url, settings)
    except psycopg.OperationalError:
        if time.monotonic() - begun > AT_ONCE_SECONDS:
            raise
    return _opened(url, settings)


def _opened(url: str, settings: Sequence[str]) -> Bounded:
    db = Bounded.connect(**options(url), autocommit=True)
    try:
        db.prepare_threshold = 2
        db.execute("; ".join(f"SET {setting}" for setting in settings).encode())
    except psycopg.Error:
        db.close()
        raise
    return db


class PostgresConnection:
    def __init__(self, url: str, *, read_only: bool) -> None:
        self._url = url
        self._read_only = read_only
        self._writer = f"{WRITER}{secrets.token_hex(8)}"
        self._number = 0
        self._planned_at = time.monotonic()
        self._db = self._connect()

    def begin(self, *, exclusive: bool = False) -> None:
        if self._db.closed:
            self._db = self._connect()
        self._run(_BEGIN_EXCLUSIVE if exclusive else _BEGIN, prepare=False)

    def commit(self, announcing: str = "") -> bool:
        self._number = max(self._number + 1, time.time_ns() // 1_000)
        values = {"writer": self._writer, "number": self._number, "told": announcing}
        is_numbered = self._run(_NUMBER_AND_TELL if announcing else _NUMBER, values).rowcount > 0
        try:
            self._run(b"COMMIT")
        except ConnectionLost:
            if not is_numbered or not self._is_stored():
                raise
        return is_numbered

    def rollback(self) -> None:
        if self._db.closed:
            return
        try:
            self._run(b"ROLLBACK")
        except psycopg.Error:
            self._db.close()

    def fetch(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> list[Row]:
        return self._execute(statement, rows, parameters).fetchall()

    def run(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> int:
        return self._execute(statement, rows, parameters).rowcount

    def write(self, write: Write, rows: Sequence[Row]) -> None:
        """In one statement, or in as many as it takes for what they carry."""
        text = orjson.dumps(rows)
        if len(text) > ROWS_BYTES_MAX and len(rows) > 1:
            middle = len(rows) // 2
            self.write(write, rows[:middle])
            self.write(write, rows[middle:])
        else:
            self._execute(written(write), None, {"rows": text.decode()})

    def next_ids(self, count: int) -> Sequence[int]:
        rows = self._run(b"SELECT nextval('resource_ids') FROM generate_series(1, %s)", (count,)).fetchall()
        return [row[0] for row in rows]

    def lock_rechecks(self) -> None:
        self._run(b"SELECT pg_advisory_xact_lock(%s)", (RECHECK_LOCK,))

    def lock_sweep(self) -> bool:
        found: bool = self._run(b"SELECT pg_try_advisory_xact_lock(%s)", (SWEEP_LOCK,)).fetchall()[0][0]
        return found

    def checkpoint(self) -> None:
        return None  # the server does it

    def close(self) -> None:
        self._db.close()

    def _connect(self) -> Bounded:
        return connect(self._url, READER_SETTINGS if self._read_only else WRITER_SETTINGS)

    def _execute(
        self, statement: str, rows: Sequence[Sequence[Any]] | None, parameters: dict[str, Any]
    ) -> psycopg.Cursor[Row]:
        query, values = spelled(statement), bound(rows, parameters)
        try:
            self._forget_old_plans()
            return self._run(query, values)
        except ConnectionLost:
            if not self._read_only:
                raise
            self._db = self._connect()
            return self._run(query, values)
        except LockNotAvailable as error:
            if query.endswith(b"NOWAIT"):
                raise Contended from error
            raise
        except psycopg.DataError as error:
            if "\\u0000" in str(error) or "NUL" in str(error):
                raise Invalid("a name or a label holds the character NUL", code="nul") from None
            raise

    def _forget_old_plans(self) -> None:
        """What was planned while tables were nearly empty is kept until they are analysed, a minute or more later."""
        if time.monotonic() - self._planned_at > PLANS_SECONDS:
            self._run(b"DISCARD PLANS")
            self._planned_at = time.monotonic()

    def _run(self, query: bytes | str, values: Any = None, *, prepare: bool | None = None) -> psycopg.Cursor[Row]:
        try:
            return self._db.execute(query, values, prepare=prepare)
        except psycopg.Error as error:
            if self._is_over(error):
                self._db.close()
                raise ConnectionLost(*error.args) from error
            raise

    def _is_over(self, error: psycopg.Error) -> bool:
        """Did the server end the connection, or is the answer to the statement still to come?"""
        db = self._db
        is_fatal = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        return db.closed or is_fatal or db.info.transaction_status is TransactionStatus.ACTIVE

    def _is_stored(self) -> bool:
        """Was the last transaction committed? Asks a new connection, for as long as that takes within a bound."""
        deadline = time.monotonic() + DOUBT_SECONDS
        while True:
            try:
                self._db = self._connect()
                return bool(self._run(_LAST_NUMBER, {"writer": self._writer}).fetchall()[0][0] == self._number)
            except psycopg.OperationalError as error:
                self._db.close()
                if time.monotonic() > deadline:
                    raise StoreUnavailable(
                        f"the connection was lost in the middle of a commit; what was stored can't be asked: {error}",
                        hint="look before you ask for it again",
                        code="store_in_doubt",
                    ) from error
                time.sleep(ASK_AGAIN_SECONDS)
