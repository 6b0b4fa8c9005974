"""One engine has an SQLite database: a second one would not hear what the first does."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from stdworker.errors import StoreError


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other engines off the file. Raises StoreError while one has it.

    SQLite's own locks know nothing of this one. It is to be let go last: a process that closes a file, however often
    it has it open, loses SQLite's locks on it. Where it can't be had for another reason the store says what is wrong.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError:
        yield
        return
    try:
        _lock(file, path)
        yield
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another engine uses the database {path}",
            hint="stop it first; several engines share a Postgres",
            code="store_locked",
        ) from None
    except OSError:  # not all file systems can
        return
