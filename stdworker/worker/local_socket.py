"""The socket on which a worker tells its own user how it does, without any setting.

One folder for each user, that nobody else may enter, holds a socket for each worker, named by its process id.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stdworker.worker.http import HttpThread, Routes

SUFFIX = ".sock"
CONNECT_SECONDS = 1.0
SOCKETS_MAX = 1_000  # looked at in one folder

log = logging.getLogger("stdworker.worker")


def runtime_folders(variables: Mapping[str, str]) -> list[Path]:
    """Where sockets are: a worker takes the first folder that it can have, `stdworker status` looks into all.

    The folder of a login session counts only if it is this user's: `sudo` may hand on another one's.
    """
    user = os.geteuid()
    session = Path(variables.get("XDG_RUNTIME_DIR") or f"/run/user/{user}")
    own = Path(variables.get("TMPDIR") or "/tmp", f"stdworker-{user}")  # noqa: S108 - checked before it is used
    return [session / "stdworker", own] if is_private(session) else [own]


class LocalSocket:
    """The server of one worker."""

    def __init__(self, folders: Sequence[Path], routes: Routes) -> None:
        self._folders = folders
        self._routes = routes
        self._path: Path | None = None
        self._server: HttpThread | None = None

    def start(self) -> None:
        """Listen in the first folder where that can be done; a worker that can't is still a worker."""
        troubles = []
        for folder in self._folders:
            try:
                self._listen(folder)
            except OSError as error:
                troubles.append(f"{folder}: {error.strerror or error}")
            else:
                return
        log.info("`stdworker status` won't find this worker: %s", "; ".join(troubles))

    def close(self) -> None:
        if self._path is not None and self._server is not None:
            self._path.unlink(missing_ok=True)
            self._server.close()

    def _listen(self, folder: Path) -> None:
        _make_private(folder)
        for _ in living_sockets(folder):  # removes those of the dead
            pass
        path = folder / f"{os.getpid()}{SUFFIX}"
        if path.exists():
            raise FileExistsError(0, f"{path.name} is in use, by a worker of another container?")
        unnamed = folder / f".{os.getpid()}"  # until somebody listens: it refuses connections as a dead one does
        unnamed.unlink(missing_ok=True)
        server = HttpThread(unnamed, self._routes)
        try:
            unnamed.chmod(0o600)
            unnamed.rename(path)
        except OSError:
            server.close()
            raise
        server.start()
        self._path, self._server = path, server


def living_sockets(folder: Path) -> Iterator[Path]:
    """The sockets of a folder that somebody listens on. Those of workers that were killed are removed."""
    for path in sorted(folder.glob(f"*{SUFFIX}"))[:SOCKETS_MAX]:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(CONNECT_SECONDS)
            try:
                probe.connect(str(path))
            except (ConnectionRefusedError, FileNotFoundError):
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            except OSError as error:
                log.debug("%s can't be asked: %s", path, error)
                continue
        yield path


def is_private(folder: Path) -> bool:
    """Is it a folder of ours, which nobody else may enter?"""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _make_private(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):
        raise PermissionError(0, "it is not a folder that only this user may enter")
