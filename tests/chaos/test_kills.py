"""kill -9 of the worker, of the engine and of a program in the middle of a thousand tasks."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

RESOURCES = 1_000
SETTLE_SECONDS_MAX = 90

PROGRAM = """
import json, os, sys, time
journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(os.open(sys.argv[2] + "/" + str(os.getpid()), os.O_WRONLY | os.O_CREAT), b"")
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.004)
    os.write(journal, f"{request['name']} {request['generation']}\\n".encode())
    print(json.dumps({"id": request["id"], "status": {"n": request["spec"]["n"]}}), flush=True)
"""

MANIFEST = {
    "kind": "stdio",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


def alive(folder: Path) -> list[int]:
    """The programs that are still there."""
    found = []
    for entry in folder.iterdir():
        with suppress(OSError):
            if b"pids" in Path(f"/proc/{entry.name}/cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_killed_everything_converges_and_nothing_is_applied_twice(system, tmp_path, seed):
    pids = tmp_path / "pids"
    pids.mkdir()
    journal = tmp_path / "journal"
    dice = random.Random(seed)
    system.start_engine()
    program = [sys.executable, "-c", PROGRAM, str(journal), str(pids)]
    config = {"command": program[0], "args": program[1:], "mode": "stream", "processes": 3, "concurrency": 2}
    system.publish(MANIFEST, config)
    system.start_worker()
    system.apply([{"kind": "stdio", "kind_version": 1, "name": f"r{n}", "spec": {"n": n}} for n in range(RESOURCES)])

    victims = ["worker", "engine", "program"]
    dice.shuffle(victims)
    marks = sorted(dice.sample(range(RESOURCES // 10, RESOURCES * 8 // 10), len(victims)))
    for victim, mark in zip(victims, marks, strict=True):
        system.until(lambda mark=mark: system.phases().get("Ready", 0) >= mark, f"{mark} are Ready", SETTLE_SECONDS_MAX)
        if victim == "program":
            os.kill(dice.choice(alive(pids)), signal.SIGKILL)
            continue
        orphans = alive(pids) if victim == "worker" else []
        system.kill(victim)
        if victim == "worker":
            system.until(lambda orphans=orphans: not set(orphans) & set(alive(pids)), "no program outlives its worker")
            system.start_worker()
        else:
            system.start_engine()

    system.until(lambda: system.phases() == {"Ready": RESOURCES}, "every resource is Ready", SETTLE_SECONDS_MAX)
    ran = Counter(journal.read_text().split("\n")[:-1])
    assert {line.split()[0] for line in ran} == {f"r{n}" for n in range(RESOURCES)}
    system.stop()
    with sqlite3.connect(tmp_path / "converge.db") as store:
        rows = store.execute("SELECT name, generation, synced_gen, status FROM resources").fetchall()
        queued = store.execute("SELECT count(*) FROM queue").fetchone()
        became_ready = store.execute(
            "SELECT uid, count(*) FROM events WHERE type = 'PhaseChanged' AND reason = 'Ready' GROUP BY uid"
        ).fetchall()
    store.close()
    assert [row for row in rows if row[1:3] != (1, 1)] == []
    assert queued == (0,)
    assert len(became_ready) == RESOURCES
    assert {count for _, count in became_ready} == {1}
