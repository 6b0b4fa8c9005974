"""A folder for as long as this process lives, however it ends: what a killed one left goes when the next begins."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "converge-dev-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder, which this process has locked until it ends: one that nobody has locked is nobody's any more."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (lock := _lock(left)) is not None:
            _remove(left, lock)
    lock = None
    while lock is None:  # who begins at the same time may have taken the last one for left
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _lock(folder)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _lock(folder: Path) -> int | None:
    """None for a folder that is locked, gone, or another user's."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_uid == os.geteuid():
            return opened
    except OSError:
        pass
    os.close(opened)
    return None
