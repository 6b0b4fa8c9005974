"""What an error of SQLite means to the one who runs the engine: what is wrong, where, and what to do.

SQLite's own sentences ("unable to open database file", "attempt to write a readonly database") leave the cause
open, so the place is looked at: only it tells a missing folder from a missing permission.
"""

from __future__ import annotations

import os
import pwd
import sqlite3
from pathlib import Path

from stdworker.errors import StoreError, StoreUnavailable

_PLACE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_PRIMARY = 0xFF  # an extended code holds its primary one in the low byte


def explain(error: BaseException, path: Path, busy_seconds: float) -> StoreError:
    """The error for an operator: StoreUnavailable when the database itself can't be used, else a StoreError."""
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & _PRIMARY
    if code in _FULL:
        return StoreUnavailable(
            f"the disk that holds the database {path} is full",
            hint="make room on it",
            code="store_full",
        )
    if primary in _PLACE:
        return place(path) or _unusable(error, path)
    if primary == sqlite3.SQLITE_BUSY:
        return StoreUnavailable(
            f"the database {path} is locked by another process, for longer than {busy_seconds:g} s",
            hint=f"`fuser -v {path}` names who has it open",
            code="store_locked",
        )
    if primary == sqlite3.SQLITE_CORRUPT:
        return StoreUnavailable(
            f"the database {path} is damaged: {error}",
            hint="stop the engine, keep the file and its -wal, and start from a backup; without one,"
            f" `sqlite3 {path} .recover` prints what can still be read",
            code="store_corrupt",
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreUnavailable(
            f"{path} is not an SQLite database",
            hint="let DATABASE_URL name another file; this one was not changed",
            code="store_foreign",
        )
    if primary == sqlite3.SQLITE_IOERR:
        return _unusable(error, path)
    return StoreError(f"the database {path} failed: {error}")


def place(path: Path) -> StoreUnavailable | None:
    """What is wrong with the place of a database file, as this process sees it; None: nothing that can be seen."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return _misplaced(f"the folder of the database {path} does not exist", "create it first")
    if path.is_dir():
        return _misplaced(f"the database {path} is a folder", "let DATABASE_URL name a file in it")
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return _misplaced(f"the file system of the database {path} is mounted read-only", "mount it writable")
    if path.exists() and not _may(path, os.R_OK | os.W_OK):
        return _misplaced(
            f"the user {_user()} may not read and write the database {path}",
            f"run the engine as the file's owner, or `chown {_user()} {path}`",
        )
    if not _may(folder, os.W_OK | os.X_OK):
        return _misplaced(
            f"the user {_user()} may not create files in {folder}, where SQLite keeps its log beside {path.name}",
            "let that user write into the folder",
        )
    return None


def moved(path: Path) -> StoreUnavailable:
    """SQLite itself would go on writing into a file that nobody finds again."""
    return _misplaced(
        f"the database {path} was moved, replaced or removed while the engine has it open",
        "put it back, or start the engine again on the file that is there",
    )


def _unusable(error: BaseException, path: Path) -> StoreUnavailable:
    name = getattr(error, "sqlite_errorname", "")
    return StoreUnavailable(
        f"the disk failed under the database {path}: {error} ({name})",
        hint="the system's log (`dmesg`) says more; a quota or a limit on file sizes shows like this too",
        code="store_disk_failed",
    )


def _misplaced(message: str, hint: str) -> StoreUnavailable:
    return StoreUnavailable(message, hint=hint, code="store_misplaced")


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=True)


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
