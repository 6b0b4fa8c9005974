"""A copy of an SQLite store, also of one in use: consistent, checked, and there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path

from stdworker.engine.store import sqlite_failures
from stdworker.errors import StoreError

BUSY_SECONDS = 10.0
STEP_PAGES = 2_048  # copied between two looks at signals
FAULTS_MAX = 5  # of a damaged store, told
BESIDE = ("-wal", "-shm", "-journal")


def back_up(source: Path, destination: Path, *, overwrite: bool = False) -> int:
    """Copy the database `source` as it is when this begins, to one file; the copy's size in bytes.

    The engine may go on writing meanwhile. Raises StoreError, and leaves what is at `destination` as it was, when
    that is in the way, when the copy can't be made, or when it shows that the store is damaged.
    """
    _admit(source, destination, overwrite=overwrite)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{destination.name}.", suffix=".partial", dir=destination.parent)
    except OSError as error:
        raise StoreError(f"{destination} can't be written: {error.strerror}") from None
    partial = Path(name)
    try:
        _copy(source, destination, partial)
        os.fsync(descriptor)
        partial.replace(destination)
        _sync_folder(destination.parent)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
        partial.unlink(missing_ok=True)


def _admit(source: Path, destination: Path, *, overwrite: bool) -> None:
    if not source.is_file():
        raise StoreError(f"there is no database {source}", hint="DATABASE_URL says which one is copied")
    if destination.is_dir():
        raise StoreError(f"{destination} is a folder", hint="name a file in it")
    if destination.exists() and destination.samefile(source):
        raise StoreError(f"{destination} is the database itself")
    if destination.exists() and not overwrite:
        raise StoreError(f"{destination} is there already", hint="name another file, or say --overwrite")
    for beside in (destination.with_name(destination.name + suffix) for suffix in BESIDE):
        if beside.exists():
            raise StoreError(
                f"{beside} is there, of a database in use or left by a crash, and would damage a copy",
                hint="name another file",
            )


def _copy(source: Path, destination: Path, partial: Path) -> None:
    """The copy is an ordinary file of one piece: neither a log beside it nor WAL before an engine opens it."""
    try:
        with contextlib.closing(_open(source.absolute().as_uri() + "?mode=ro")) as origin:
            # A transaction that reads holds one state for all steps, and nobody up who writes.
            origin.execute("BEGIN")
            origin.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            with contextlib.closing(_open(partial.absolute().as_uri())) as copy:
                origin.backup(copy, pages=STEP_PAGES, progress=_listen_to_signals)
                copy.execute("PRAGMA journal_mode = DELETE")
                faults = [str(fault) for (fault,) in copy.execute(f"PRAGMA integrity_check({FAULTS_MAX})")]
    except sqlite3.Error as error:
        raise _failure(error, source, destination) from error
    if faults != ["ok"]:
        raise StoreError(
            f"the database {source} is damaged, and {destination} is not written: {'; '.join(faults)}",
            hint="keep your older backups",
            code="store_corrupt",
        )


def _open(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _listen_to_signals(status: int, remaining: int, total: int) -> None:
    """Between two steps Python has its turn: an interrupt is raised here."""


def _failure(error: sqlite3.Error, source: Path, destination: Path) -> StoreError:
    if error.sqlite_errorcode == sqlite3.SQLITE_FULL:  # only the copy is written
        return StoreError(f"the disk has no room for {destination}", hint="name a place that has", code="store_full")
    return sqlite_failures.explain(error, source, BUSY_SECONDS)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
