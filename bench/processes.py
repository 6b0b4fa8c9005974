"""An engine and workers as the processes that a user starts, on loopback, with a store in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from stdworker.testing.postgres import PostgresServer, find_binaries, run_postgres

BIN = Path(sys.executable).parent
READY = re.compile(r"ready: REST and docs on (\S+), broker on (\S+), store")
STOP_SECONDS = 20
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A running command; its stderr goes to a file that is shown when it ends too early."""

    def __init__(self, command: list[str], folder: Path, log: Path, variables: dict[str, str]) -> None:
        environment = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), **variables}
        self.log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr
            )

    def cpu_seconds(self) -> float:
        """User and system time of the process itself, without its children."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mib(self) -> float:
        """What it holds in memory now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def check(self) -> None:
        """Raises RuntimeError when the process has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"{self._process.args} ended with {self._process.returncode}:\n{self.log.read_text()}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class System:
    """One engine, and the workers started beside it."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        variables = {
            "DATABASE_URL": database_url,
            "LISTEN_ADDR": "127.0.0.1:0",
            "BROKER_ADDR_LISTEN": "127.0.0.1:0",
            "SHUTDOWN_DRAIN": "1s",
        }
        self.engine = Process([str(BIN / "converge"), "serve"], folder, folder / "engine.log", variables)
        self.workers: list[Process] = []
        self.rest, self.broker = self._addresses()

    def _addresses(self) -> tuple[str, str]:
        while not (found := READY.search(self.engine.log.read_text())):
            self.engine.check()
            time.sleep(0.01)
        return found.group(1), found.group(2)

    def start_worker(self, command: list[str], **variables: str) -> Process:
        log = self.folder / "worker.log"
        worker = Process(command, self.folder, log, {"BROKER_ADDR": self.broker, "LOG_LEVEL": "warn", **variables})
        self.workers.append(worker)
        return worker

    def stop_worker(self, worker: Process) -> None:
        worker.stop()
        self.workers.remove(worker)

    def check(self) -> None:
        for process in (self.engine, *self.workers):
            process.check()

    def stop(self) -> None:
        for process in (*self.workers, self.engine):
            process.stop()


@contextlib.contextmanager
def system(database_url: str = "") -> Iterator[System]:
    """An engine on SQLite, or on the database given."""
    with tempfile.TemporaryDirectory() as name:
        running = System(Path(name), database_url or f"sqlite:///{name}/converge.db")
        try:
            yield running
        finally:
            running.stop()


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer | None]:
    """A Postgres server, durable as it comes; None where it isn't installed, and its figures are left out."""
    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    with run_postgres(binaries) as server:
        yield server
