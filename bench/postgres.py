"""A Postgres server for one run: durable as it comes, in a temporary folder, on a loopback port that is free."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

START_SECONDS = 30
STOP_SECONDS = 30


def binaries() -> Path | None:
    """Where Postgres is installed; None when it isn't."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).resolve().parent if on_path else None


class Server:
    """A running server; `database` gives each round one of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new database, which is dropped afterwards."""
        name = f"bench_{secrets.token_hex(6)}"
        with psycopg.connect(f"{self._url}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            try:
                yield f"{self._url}/{name}"
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def server() -> Iterator[Server | None]:
    """None where Postgres isn't installed: its figures are left out."""
    found = binaries()
    if found is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="bench-postgres-") as name, _started(found, Path(name)) as url:
        yield Server(url)


@contextlib.contextmanager
def _started(found: Path, folder: Path) -> Iterator[str]:
    identity = _identity(folder)
    initdb = [found / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/", **identity)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = ("listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}")
    options = [part for setting in settings for part in ("-c", setting)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [found / "postgres", "-D", folder / "data", *options], stdout=log, stderr=log, cwd="/", **identity
        )
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}"
        _await_ready(url, process, folder / "log")
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_SECONDS)


def _identity(folder: Path) -> dict[str, Any]:
    """Postgres refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _await_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(f"{url}/postgres").close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Postgres didn't start:\n{log.read_text()}") from None
            time.sleep(0.05)
