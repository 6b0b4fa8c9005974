"""What a database must do for the engine. SQLite and Postgres keep it; one test suite holds both to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stdworker.engine.store.sql import Write
from stdworker.errors import StoreError

Row = Sequence[Any]


class Contended(Exception):
    """Another transaction holds what was asked for without waiting; this one has to be run again."""


class Connection(Protocol):
    """One connection, used by one thread at a time. Statements are written in the words of `sql`."""

    def begin(self, *, exclusive: bool = False) -> None:
        """Start a transaction that will write; `exclusive`: once all others have ended, and with none beside it."""
        ...

    def commit(self, announcing: str = "") -> bool:
        """Make the transaction last, and tell every engine on this database when it does. Has it stored anything?"""
        ...

    def rollback(self) -> None: ...

    def fetch(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> list[Row]:
        """Run a statement and return its rows. `rows` is the JSON parameter of a ROWS word."""
        ...

    def run(self, statement: str, rows: Sequence[Sequence[Any]] | None = None, **parameters: Any) -> int:
        """Run a statement that returns no rows; the number of rows that it changed."""
        ...

    def write(self, write: Write, rows: Sequence[Row]) -> None:
        """Insert or update many rows."""
        ...

    def next_ids(self, count: int) -> Sequence[int]:
        """Reserve identities of new resources or deliveries, rising."""
        ...

    def lock_rechecks(self) -> None:
        """Wait until this transaction is the only one that evaluates rechecks."""
        ...

    def lock_sweep(self) -> bool:
        """Is this transaction the only one that sweeps? Nobody waits for another that does."""
        ...

    def checkpoint(self) -> None:
        """Move what was committed from the log into the database, so that no commit has to."""
        ...

    def close(self) -> None: ...


class Database(Protocol):
    """A database that holds one engine's schema."""

    name: str
    shared: bool
    """May other processes have it open?"""

    writers: int
    """How many transactions may write at the same time."""

    def migrate(self) -> None:
        """Bring the schema up to this code's, under a lock. Raises StoreError when it is from a newer one."""
        ...

    def connect(self, *, read_only: bool = False) -> Connection: ...

    def listen(self, hear: Callable[[str | None], None]) -> Callable[[], None]:
        """Call `hear`, on a thread, with what engines announce; None: something may have been missed.

        Answers what ends it.
        """
        ...

    def is_retryable(self, error: Exception) -> bool:
        """Did the transaction lose a race that it may win when it is run again?"""
        ...

    def explain(self, error: BaseException) -> StoreError:
        """The error for an operator; StoreUnavailable when the database can't be used, whatever is asked of it."""
        ...
