"""A Postgres server of one's own: in a temporary folder, on a loopback port that the system chose.

For tests and benchmarks of the engine; needs `stdworker[engine]`, and Postgres installed.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

START_SECONDS = 60
STOP_SECONDS = 60
POLL_SECONDS = 0.05

# What makes a server quick that nobody minds losing.
# Its autovacuum, of a few hundred short-lived databases, would cost more than it saves, and stand in the way of copies.
CARELESS = ("fsync=off", "full_page_writes=off", "max_wal_size=128MB", "autovacuum=off", "max_connections=60")


def find_binaries() -> Path | None:
    """Where Postgres is installed, the newest if there are several; None where it isn't."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).resolve().parent if on_path else None


class PostgresServer:
    """A running server. Raises RuntimeError, with its log, when it doesn't start."""

    def __init__(
        self, binaries: Path, folder: Path, settings: tuple[str, ...] = (), *, source: PostgresServer | None = None
    ) -> None:
        """Start one on the empty `folder` with settings, each `NAME=VALUE`; with a `source` it is a replica of that."""
        self._binaries = binaries
        self._folder = folder
        self._user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        if source is None:
            self._run("initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        else:
            copied = ("-D", folder / "data", "-R", "-c", "fast", "--no-sync")
            self._run("pg_basebackup", "-d", f"{source.url}/postgres", *copied)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        place = ("listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={folder}")
        options = [part for setting in (*settings, *place) for part in ("-c", setting)]
        self._command = [str(binaries / "postgres"), "-D", str(folder / "data"), *options]
        self._start()

    def _start(self) -> None:
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self._identity()
            )
        try:
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(f"{self.url}/postgres").close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log = (self._folder / "log").read_text(errors="replace")
                    raise RuntimeError(f"Postgres didn't start:\n{log}") from None
                time.sleep(POLL_SECONDS)

    def restart(self) -> None:
        """As after a crash: nobody is told, nothing is written out."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(STOP_SECONDS)
        self._start()

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """All its processes stand still; connections stay open and nothing is answered."""
        self._process.send_signal(signal.SIGSTOP)  # from now on it starts and buries no other
        processes = [*_children(self._process.pid), self._process.pid]
        try:
            for pid in processes:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)

    def create_database(self, template: str = "") -> str:
        """The URL of a new database: an empty one, or a copy of the one at the URL `template`, to which nobody is
        connected."""
        name = f"test_{uuid.uuid4().hex}"
        self._execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {_name(template)}" if template else ""))
        return f"{self.url}/{name}"

    @contextlib.contextmanager
    def database(self, template: str = "") -> Iterator[str]:
        """The URL of a new database, as of `create_database`; it is dropped afterwards, whoever is still connected."""
        url = self.create_database(template)
        try:
            yield url
        finally:
            self._execute(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    @property
    def url(self) -> str:
        """Of the server; a database's follows after a slash."""
        return f"postgresql://postgres@127.0.0.1:{self.port}"

    def stop(self) -> None:
        """End it, and all connections to it."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _execute(self, statement: str) -> None:
        with psycopg.connect(f"{self.url}/postgres", autocommit=True) as connection:
            connection.execute(statement)

    def _identity(self) -> dict[str, Any]:
        """Postgres refuses to run as root."""
        return {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._binaries / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **self._identity())
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def run_postgres(
    binaries: Path, settings: tuple[str, ...] = (), *, source: PostgresServer | None = None, within: Path | None = None
) -> Iterator[PostgresServer]:
    """A server as of `PostgresServer`, in a folder inside `within` or where temporary files are; stopped and removed
    afterwards."""
    with tempfile.TemporaryDirectory(prefix="postgres-", dir=within) as folder:
        server = PostgresServer(binaries, Path(folder), settings, source=source)
        try:
            yield server
        finally:
            server.stop()


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
