"""Engines, workers and programs as real processes, joined by networks that can be made bad."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.proxy import Proxy

BIN = Path(sys.executable).parent
HANG_SECONDS = 60
START_SECONDS = 30
REQUEST_SECONDS = 20
POLL_SECONDS = 0.1
LEAVES, SHELF = 44, 3

# Answers every kind; what it applied it writes down first, as a cloud would remember it.
PROGRAM = """
import json, os, random, sys, time, uuid
journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
os.close(os.open(f"{sys.argv[2]}/{os.getpid()}", os.O_WRONLY | os.O_CREAT))
LEAVES, SHELF = int(sys.argv[3]), int(sys.argv[4])

def leaf(name, n):
    return {"kind": "leaf", "kind_version": 1, "name": name, "spec": {"n": n}}

def edge(dependent, dependency):
    value = [{"dependent_field": "/from", "source_field": "/n"}]
    return {"from": dependent, "to": dependency, "values": value}

def plan(name, spec):
    n = spec["n"]
    leaves = [leaf(f"{name}-{i}", n) for i in range(LEAVES)]
    disk = {"kind": "disk", "kind_version": 1, "name": f"{name}-d", "spec": {"n": n}}
    shelf = {"kind": "shelf", "kind_version": 1, "name": f"{name}-s", "spec": {"n": n}}
    chain = [{"kind": c["kind"], "name": c["name"]} for c in (*leaves[:4], disk)]
    edges = [edge(b, a) for a, b in zip(chain, chain[1:])]
    return {"children": [*leaves, disk, shelf], "edges": edges, "status": {"n": n}}

def answer(r):
    name, spec = r["name"], r["spec"]
    if r["reaction"] == "plan" and r["kind"] == "stack":
        return plan(name, spec)
    if r["reaction"] == "plan":
        return {"children": [leaf(f"{name}-{i}", spec["n"]) for i in range(SHELF)], "status": {"n": spec["n"]}}
    if r["reaction"] == "sum":
        return {"status": {"n": spec["n"], "ready": sum(d["ready"] for d in r.get("descendants", []))}}
    if random.random() < 0.02:
        return {"error": {"message": "the cloud is busy"}}
    time.sleep(0.003)
    if r["reaction"] == "drop":
        return {}
    return {"status": {"n": spec["n"], "from": spec.get("from"), "nonce": uuid.uuid4().hex}}

for line in sys.stdin:
    r = json.loads(line)
    said = answer(r)
    told = {"uid": r["uid"], "generation": r["generation"], "reaction": r["reaction"], "name": r["name"],
            "nonce": said.get("status", {}).get("nonce")}
    os.write(journal, (json.dumps(told) + "\\n").encode())
    print(json.dumps({"id": r["id"], **said}), flush=True)
"""

# Before an engine reads its first line: its wall clock is as many seconds ahead as a file says.
CLOCK = """
import os, time
real = time.time_ns

def ahead_ns():
    try:
        with open(os.environ["CLOCK"]) as file:
            return int(file.read() or 0) * 10**9
    except OSError:
        return 0

time.time_ns = lambda: real() + ahead_ns()
time.time = lambda: time.time_ns() / 10**9
"""

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
KINDS = {"leaf": [MAKE], "disk": [MAKE, DROP], "shelf": [PLAN], "stack": [PLAN, SUM, DROP]}
SETTINGS = {
    "RETRY_BASE": "100ms",
    "RETRY_CAP": "2s",
    "LEASE_RECONNECT_WINDOW": "1s",
    "LEASE_LIVENESS_WINDOW": "4s",
    "EVENTS_KEEP": "10000000",
    "SHUTDOWN_DRAIN": "5s",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Member:
    """One process, with its log; it comes back as it was after whatever is done to it."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.name = name
        self._command, self._environment, self._folder = command, environment, folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def log(self) -> Path:
        return self._folder / f"{self.name}.log"

    def signal(self, number: int) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"{self.name} ended by itself:\n{self.tail()}"
        self._process.send_signal(number)

    def end(self, number: int) -> int:
        """Signal it and wait for its end; insist when it doesn't come."""
        assert self._process is not None
        self._process.send_signal(number)
        try:
            return self._process.wait(HANG_SECONDS)
        finally:
            self._process.kill()
            self._process.wait(HANG_SECONDS)

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3_000:] if self.log.exists() else ""


class Cluster:
    """Engines that share a database, and a worker for each, every connection through a proxy of its own."""

    def __init__(self, folder: Path, database_url: str, *, engines: int) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.journal.touch()
        (folder / "clock").mkdir()
        (folder / "clock" / "sitecustomize.py").write_text(CLOCK)
        self.engines: list[Member] = []
        self.workers: list[Member] = []
        self.to_brokers: list[Proxy] = []
        self.to_database: list[Proxy] = []
        self._clients: list[httpx.Client] = []
        for number in range(engines):
            self._add(number, database_url)

    def _add(self, number: int, database_url: str) -> None:
        rest, broker = free_port(), free_port()
        to_broker = Proxy(broker)
        self.to_brokers.append(to_broker)
        environment = {
            **SETTINGS,
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(self.folder / "clock"),
            "CLOCK": str(self._clock(f"engine-{number}")),
            "DATABASE_URL": self._through_a_proxy(database_url),
            "LISTEN_ADDR": f"127.0.0.1:{rest}",
            "BROKER_ADDR_LISTEN": f"127.0.0.1:{broker}",
        }
        engine = Member(f"engine-{number}", [str(BIN / "converge"), "serve"], environment, self.folder)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "STDIO_KINDS": ",".join(KINDS),
            "BROKER_ADDR": f"http://127.0.0.1:{to_broker.port}",
            "HEALTH_ADDR": "127.0.0.1:0",
        }
        worker = Member(f"worker-{number}", [str(BIN / "stdworker"), "run"], environment, self.folder)
        self.engines.append(engine)
        self.workers.append(worker)
        self._clients.append(httpx.Client(base_url=f"http://127.0.0.1:{rest}/api/v1", timeout=REQUEST_SECONDS))

    def set_clock(self, engine: Member, ahead_seconds: int) -> None:
        """From now on the wall clock of that engine is so far ahead of the machine's."""
        self._clock(engine.name).write_text(str(ahead_seconds))

    def _clock(self, engine: str) -> Path:
        return self.folder / "clock" / engine

    def _through_a_proxy(self, url: str) -> str:
        if url.startswith("sqlite"):
            return url
        head, _, tail = url.rpartition(":")
        port, _, name = tail.partition("/")
        self.to_database.append(Proxy(int(port)))
        return f"{head}:{self.to_database[-1].port}/{name}"

    def start(self) -> None:
        for engine in self.engines:
            engine.start()
        for number in range(len(self.engines)):
            self.until_answers(number)
        program = ["-c", PROGRAM, str(self.journal), str(self.programs), str(LEAVES), str(SHELF)]
        config = {"command": sys.executable, "args": program, "mode": "stream", "processes": 3, "concurrency": 4}
        for kind, reactions in KINDS.items():
            manifest = {"kind": kind, "kind_version": 1, "reactions": reactions}
            self.ask("PUT", f"/kinds/{kind}/manifest", json=manifest)
            default = {"name": kind, "kind": kind, "kind_version": 1, "is_default": True, "spec": config}
            self.ask("POST", "/providerconfigs", json=default)
        for worker in self.workers:
            worker.start()

    def until_answers(self, number: int) -> None:
        """Wait for an engine that was started, or that could not reach its database."""

        def answers() -> bool:
            with suppress(httpx.TransportError):
                return self._clients[number].get("/version").status_code == 200
            return False

        self.until(answers, f"engine-{number} answers", START_SECONDS)

    def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        """Ask any engine until one answers: what is asked may be done twice."""
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            for client in self._clients:
                with suppress(httpx.TransportError):
                    answer = client.request(method, path, **body)
                    if answer.status_code < 500:
                        return answer
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"no engine answered {method} {path}\n{self.logs()}")

    def phases(self) -> dict[str, int]:
        totals = self.ask("GET", "/resources/summary").json()["totals"]
        return {phase: count for phase, count in totals.items() if count}

    def until(self, true: Callable[[], bool], what: str, seconds: float = HANG_SECONDS) -> None:
        """Ask until it is so; the bound is for a system that hangs, not an expectation."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"never came true: {what}\n{self.logs()}"
            time.sleep(POLL_SECONDS)

    def running_programs(self) -> list[int]:
        found = []
        for entry in self.programs.iterdir():
            with suppress(OSError):
                if b"journal" in Path(f"/proc/{entry.name}/cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def applications(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def logs(self) -> str:
        return "\n".join(f"--- {member.name}\n{member.tail()}" for member in (*self.engines, *self.workers))

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for member in (*self.workers, *self.engines):
            with suppress(AssertionError, subprocess.TimeoutExpired):
                member.signal(signal.SIGCONT)
                member.end(signal.SIGKILL)
        for proxy in (*self.to_brokers, *self.to_database):
            proxy.close()
