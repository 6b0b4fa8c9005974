"""Every process of an engine is restarted, one after another, while it works: nothing is lost or applied twice."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import Counter
from pathlib import Path

import httpx
import psycopg
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

BIN = Path(sys.executable).parent
RESOURCES = 2_000
BATCH = 50

PROGRAM = """
import json, os, sys, time
journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.004)
    os.write(journal, f"{request['uid']} {request['generation']}\\n".encode())
    print(json.dumps({"id": request["id"], "status": {"n": request["spec"]["n"]}}), flush=True)
"""
MANIFEST = {
    "kind": "stdio",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Estate:
    """Two processes of each sort: control, broker, worker. Each keeps its addresses over restarts."""

    def __init__(self, watch, url):
        self._watch = watch
        ports = [free_port() for _ in range(4)]
        self.controls = [f"http://127.0.0.1:{port}" for port in ports[:2]]
        brokers = [f"127.0.0.1:{port}" for port in ports[2:]]
        self._common = {"PATH": os.environ["PATH"], "DATABASE_URL": url, "HEALTH_ADDR": "127.0.0.1:0"}
        self._starts = {}
        for i, (rest, broker) in enumerate(zip(self.controls, brokers, strict=True)):
            self._add(f"control {i}", "converge serve", "ready:", ROLE="control", LISTEN_ADDR=rest[7:])
            self._add(f"broker {i}", "converge serve", "ready:", ROLE="broker", BROKER_ADDR_LISTEN=broker)
            self._add(f"worker {i}", "stdworker run", "connected", BROKER_ADDR=broker, WORKER_MAX_PARALLEL="8")
        self.processes = {}
        for name in self._starts:
            self.start(name)

    def _add(self, name, command, said, **settings):
        self._starts[name] = (command.split(), said, settings)

    def start(self, name):
        (program, *arguments), said, settings = self._starts[name]
        self.processes[name] = self._watch(BIN / program, *arguments, env={**self._common, **settings})
        self.processes[name].said(said)

    def restart(self, name):
        assert self.processes[name].stop() == 0, self.processes[name].output
        self.start(name)


class Client:
    """Asks whichever control process answers."""

    def __init__(self, addresses):
        self._clients = [httpx.Client(base_url=f"{address}/api/v1", timeout=30) for address in addresses]
        self.applied = Counter()

    def ask(self, method, path, **body):
        for client in self._clients:
            try:
                answer = client.request(method, path, **body)
            except httpx.TransportError:
                continue
            if answer.status_code != 503:
                return answer.raise_for_status()
        raise AssertionError("no control process answers")

    def apply(self, first, count):
        lines = "".join(
            json.dumps({"kind": "stdio", "kind_version": 1, "name": f"r{n}", "spec": {"n": n}}) + "\n"
            for n in range(first, first + count)
        )
        answer = self.ask("POST", "/resources/batch", content=lines, headers={"content-type": "application/x-ndjson"})
        self.applied.update(json.loads(line)["result"] for line in answer.text.splitlines())

    def phases(self):
        return {phase: n for phase, n in self.ask("GET", "/resources/summary").json()["totals"].items() if n}

    def close(self):
        for client in self._clients:
            client.close()


def test_a_rolling_restart_of_every_process_under_load_loses_nothing_and_applies_nothing_twice(
    watch, tmp_path, postgres, eventually
):
    url = postgres.create_database()
    journal = tmp_path / "journal"
    estate = Estate(watch, url)
    client = Client(estate.controls)
    client.ask("PUT", "/kinds/stdio/manifest", json=MANIFEST)
    launch = {"command": sys.executable, "args": ["-c", PROGRAM, str(journal)], "mode": "stream", "processes": 2}
    config = {"name": "stdio", "kind": "stdio", "kind_version": 1, "is_default": True, "spec": launch}
    client.ask("POST", "/providerconfigs", json=config)

    steps = range(0, RESOURCES, BATCH)
    restarts = dict(zip(steps[4::5], estate.processes, strict=False))
    for first in steps:
        client.apply(first, BATCH)
        if first in restarts:
            eventually(lambda first=first: client.phases().get("Ready", 0) >= first // 4)
            estate.restart(restarts[first])
    eventually(lambda: client.phases() == {"Ready": RESOURCES})

    assert set(restarts.values()) == set(estate.processes)
    client.close()
    assert client.applied == {"created": RESOURCES}
    for process in estate.processes.values():
        assert process.stop() == 0
    with psycopg.connect(url) as db:
        stored = dict(db.execute("SELECT uid, name FROM resources WHERE synced_gen = 1 AND generation = 1").fetchall())
        ready = "SELECT uid, count(*) FROM events WHERE type = 'PhaseChanged' AND reason = 'Ready' GROUP BY uid"
        became_ready = dict(db.execute(ready).fetchall())
        assert db.execute("SELECT count(*) FROM queue").fetchone() == (0,)
    assert len(stored) == RESOURCES
    assert became_ready == dict.fromkeys(stored, 1)
    assert Counter(journal.read_text().splitlines()) == {f"{uid} 1": 1 for uid in stored}
