"""Fixtures for tests of every kind: the installed commands as real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
READY = re.compile(r"ready: REST and docs on (\S+), broker on (\S+), store (\S+)")


class ServeProcess:
    """`converge serve` with the store and the log in a folder of the test's, on ports that the system chose."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "DATABASE_URL": f"sqlite:///{folder}/converge.db",
            "LISTEN_ADDR": "127.0.0.1:0",
            "BROKER_ADDR_LISTEN": "127.0.0.1:0",
            **settings,
        }
        self.process = subprocess.Popen(
            [str(BIN / "converge"), "serve"],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._grew = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()
        self.rest, self.broker, self.store = self.said(READY).groups()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                self._note(line)
        with self._grew:
            self._ended = True
            self._grew.notify_all()

    def _note(self, line: str) -> None:
        with self._grew:
            self.lines.append(line)
            self._grew.notify_all()

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def said(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Wait until the log has it."""
        with self._grew:
            self._grew.wait_for(lambda: self._ended or re.search(pattern, self.log), HANG_SECONDS)
        match = re.search(pattern, self.log)
        assert match, f"never said {pattern!r}:\n{self.log}"
        return match

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return self.process.wait(HANG_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ended()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServeProcess]]:
    """Starts `converge serve` with these variables set; all started are killed at the end."""
    started: list[ServeProcess] = []

    def start(**settings: str) -> ServeProcess:
        started.append(ServeProcess(tmp_path, settings))
        return started[-1]

    yield start
    for server in started:
        server.kill()
