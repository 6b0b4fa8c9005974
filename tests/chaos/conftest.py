"""An engine and a worker as real processes that a test may kill at any moment."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from stdworker.testing.postgres import CARELESS, PostgresServer, run_postgres

BIN = Path(sys.executable).parent
START_SECONDS_MAX = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class System:
    """One engine and one worker on loopback, with the store and the logs in a folder of the test's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rest, broker = free_port(), free_port()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "DATABASE_URL": f"sqlite:///{folder}/converge.db",
            "LISTEN_ADDR": f"127.0.0.1:{rest}",
            "BROKER_ADDR_LISTEN": f"127.0.0.1:{broker}",
            "BROKER_ADDR": f"http://127.0.0.1:{broker}",
            "RETRY_BASE": "100ms",
            "RETRY_CAP": "2s",
            "LEASE_RECONNECT_WINDOW": "1s",
            "LEASE_LIVENESS_WINDOW": "4s",
        }
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{rest}/api/v1", timeout=30)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start_engine(self) -> None:
        self.start("engine", [str(BIN / "converge"), "serve"])
        self.until(self.answers, "the engine answers")

    def start_worker(self) -> None:
        self.start("worker", [str(BIN / "stdworker"), "run"])

    def start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait(10)

    def answers(self) -> bool:
        assert self.processes["engine"].poll() is None, (self.folder / "engine.log").read_text()[-4000:]
        try:
            return self.client.get("/version").status_code == 200
        except httpx.TransportError:
            return False

    def until(self, true: Callable[[], bool], what: str, seconds: float = START_SECONDS_MAX) -> None:
        """Ask until it is so; the bound is for a system that hangs, not an expectation."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"never came true: {what}\n{self.logs()}"
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in self.folder.glob("*.log"))

    def publish(self, manifest: dict[str, object], config: dict[str, object]) -> None:
        kind = manifest["kind"]
        assert self.client.put(f"/kinds/{kind}/manifest", json=manifest).status_code == 200
        body = {"name": str(kind), "kind": kind, "kind_version": 1, "is_default": True, "spec": config}
        assert self.client.post("/providerconfigs", json=body).status_code in (200, 201)

    def apply(self, documents: list[dict[str, object]]) -> None:
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        answer = self.client.post(
            "/resources/batch", content=lines, headers={"content-type": "application/x-ndjson"}, timeout=60
        )
        assert answer.status_code == 200, answer.text
        results = [json.loads(line) for line in answer.text.splitlines()]
        assert len(results) == len(documents), results[:3]

    def phases(self) -> dict[str, int]:
        try:
            totals = self.client.get("/resources/summary").json()["totals"]
        except (httpx.TransportError, KeyError):
            return {}
        return {phase: count for phase, count in totals.items() if count}

    def stop(self) -> None:
        self.client.close()
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path)
    yield system
    system.stop()


@pytest.fixture
def own_postgres(postgres_binaries: Path) -> Iterator[PostgresServer]:
    """A Postgres server that a test may crash."""
    with run_postgres(postgres_binaries, CARELESS) as server:
        yield server
