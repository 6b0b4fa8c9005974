"""The drill: a copy of a busy engine is made, the engine is killed, and one goes on from the copy."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

FIRST = 300
BULK = 2
SETTLE_SECONDS_MAX = 90
HANG_SECONDS = 60

PROGRAM = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.005)
    print(json.dumps({"id": request["id"], "status": {"n": request["spec"]["n"]}}), flush=True)
"""

MANIFEST = {
    "kind": "stdio",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


def documents(numbers):
    return [{"kind": "stdio", "kind_version": 1, "name": f"r{n}", "spec": {"n": n}} for n in numbers]


@contextlib.contextmanager
def applying(system):
    """Somebody goes on applying all the time."""
    stop = threading.Event()

    def apply():
        first = FIRST
        while not stop.is_set():
            system.apply(documents(range(first, first + BULK)))
            first += BULK

    thread = threading.Thread(target=apply)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(HANG_SECONDS)


def back_up(system, copy: Path) -> str:
    command = [Path(sys.executable).with_name("converge"), "backup", copy]
    done = subprocess.run(
        command, env=system.environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(path: Path, query: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(path)) as store:
        return store.execute(query).fetchall()


@pytest.mark.slow
def test_an_engine_goes_on_from_a_copy_that_was_made_under_load(system, tmp_path):
    copy = tmp_path / "copy.db"
    system.start_engine()
    config = {"command": sys.executable, "args": ["-c", PROGRAM], "mode": "stream", "processes": 2, "concurrency": 2}
    system.publish(MANIFEST, config)
    system.start_worker()
    system.apply(documents(range(FIRST)))
    system.until(lambda: system.phases().get("Ready", 0) >= FIRST // 10, "work is under way", SETTLE_SECONDS_MAX)

    with applying(system):
        ready = system.phases()["Ready"]
        said = back_up(system, copy)
    system.kill("engine")

    assert said.startswith(f"copied {tmp_path}/converge.db to {copy}: ")
    assert said.endswith(", checked\n")
    copied = {name for (name,) in rows(copy, "SELECT name FROM resources")}
    assert copied >= {f"r{n}" for n in range(FIRST)}
    assert rows(copy, "SELECT count(*) FROM resources WHERE phase = 'Ready'")[0][0] >= ready
    held = rows(copy, "SELECT id, token, epoch FROM queue WHERE token IS NOT NULL")
    assert held

    system.environment["DATABASE_URL"] = f"sqlite:///{copy}"
    system.start_engine()

    system.until(lambda: system.phases() == {"Ready": len(copied)}, "all that was copied is Ready", SETTLE_SECONDS_MAX)
    system.stop()
    assert {name for (name,) in rows(copy, "SELECT name FROM resources WHERE synced_gen = generation")} == copied
    assert rows(copy, "SELECT count(*) FROM queue") == [(0,)]
    twice = "SELECT uid FROM events WHERE type = 'PhaseChanged' AND reason = 'Ready' GROUP BY uid HAVING count(*) > 1"
    assert rows(copy, twice) == []
