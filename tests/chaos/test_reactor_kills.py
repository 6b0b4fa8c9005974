"""kill -9 of the engine while reactors are told: nothing that was crossed is lost."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

RESOURCES = 200
KILLS = 3
SETTLE_SECONDS_MAX = 90

PROGRAM = """
import json, os, sys
journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for line in sys.stdin:
    request = json.loads(line)
    if "transition" in request:
        os.write(journal, f"{request['transition']} {request['name']} {request['dedup_token']}\\n".encode())
    print(json.dumps({"id": request["id"]}), flush=True)
"""
LEAF = {"kind": "leaf", "reactions": [{"name": "make", "trigger": "specChange", "emits": ["status"]}]}
TOLD = {"kind": "told", "reactions": [{"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}]}


def heard(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_every_crossing_is_told_however_often_the_engine_is_killed(system, tmp_path, seed):
    journal = tmp_path / "journal"
    dice = random.Random(seed)
    system.environment["STDIO_KINDS"] = "leaf,told"
    system.start_engine()
    config = {"command": sys.executable, "args": ["-c", PROGRAM, str(journal)], "mode": "stream", "concurrency": 4}
    for manifest in (LEAF, TOLD):
        system.publish({**manifest, "kind_version": 1}, config)
    for transition in ("created", "synced"):
        binding = {"name": transition, "watch_kind": "leaf", "transition": transition, "reactor": "told"}
        assert system.client.post("/reactor-bindings", json=binding).status_code == 201
    system.apply([{"kind": "leaf", "kind_version": 1, "name": f"r{n}"} for n in range(RESOURCES)])
    system.start_worker()

    crossings = {f"{transition} r{n}" for transition in ("created", "synced") for n in range(RESOURCES)}
    for mark in sorted(dice.sample(range(1, len(crossings)), KILLS)):
        system.until(lambda mark=mark: len(heard(journal)) >= mark, f"{mark} were told", SETTLE_SECONDS_MAX)
        system.kill("engine")
        system.start_engine()

    def told() -> set[str]:
        return {line.rpartition(" ")[0] for line in heard(journal)}

    system.until(lambda: told() == crossings, "every crossing was told", SETTLE_SECONDS_MAX)
    assert len(set(heard(journal))) == len(crossings)  # told again with the same token
    assert system.client.get("/dead-letters").json() == {"dead_letters": []}
