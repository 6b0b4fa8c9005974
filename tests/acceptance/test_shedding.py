"""A program that says it wants no work gets none, from the engine to its stdin, until it says otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
KIND = """
kind: shop
kind_version: 1
reactions: [{ name: work, trigger: specChange, emits: [status] }]
default_config: { mode: stream }
"""
PROGRAM = f"""#!{sys.executable}
import json, os, sys, threading, time
def reopen():
    while not os.path.exists(sys.argv[0] + ".open"): time.sleep(0.02)
    print('{{"ready":true}}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["spec"] == "close":
        print('{{"ready":false,"reason":"stocktaking"}}', flush=True)
        threading.Thread(target=reopen, daemon=True).start()
    print(json.dumps({{"id": request["id"], "status": os.path.exists(sys.argv[0] + ".open")}}), flush=True)
"""

pytestmark = pytest.mark.slow


def test_a_program_that_says_it_is_not_ready_is_handed_nothing_until_it_is(serve, tmp_path, eventually):
    folder = tmp_path / "kinds"
    folder.mkdir()
    (folder / "shop.kind.yaml").write_text(KIND)
    program = folder / "shop"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    engine = serve()
    environment = os.environ | {
        "BROKER_ADDR": engine.broker,
        "CONVERGE_SERVER": engine.rest,
        "STDWORKER_KINDS_PATH": str(folder),
        "WORKER_KINDS": "shop",
    }
    subprocess.run([str(BIN / "conctl"), "apply", "-f", str(folder)], env=environment, check=True, capture_output=True)
    with (
        (tmp_path / "worker.log").open("wb") as log,
        subprocess.Popen([str(BIN / "stdworker"), "run"], env=environment, stdout=log, stderr=log) as worker,
        httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as client,
    ):
        try:
            apply(client, "first", "close")
            wait(client, "first")
            eventually(lambda: served(client) == (False, "the program says: stocktaking"))

            apply(client, "second", "open")
            assert client.get("/resources/shop/second").json()["work"]["claimed_by"] is None
            (folder / "shop.open").touch()

            wait(client, "second")
            assert client.get("/resources/shop/second").json()["status"] is True
            eventually(lambda: served(client) == (True, ""))
        finally:
            worker.terminate()
    assert worker.returncode == 0


def served(client):
    """How ready the engine believes the kind to be."""
    members = client.get("/cluster-members").raise_for_status().json()["members"]
    kinds = [kind for member in members for worker in member["workers"] for kind in worker["kinds"]]
    return next(((kind["ready"], kind["reason"]) for kind in kinds), None)


def apply(client, name, spec):
    body = {"kind": "shop", "kind_version": 1, "name": name, "spec": spec}
    client.post("/resources", json=body).raise_for_status()


def wait(client, name):
    client.get(f"/resources/shop/{name}/wait", params={"for": "ready", "timeout": "25s"}).raise_for_status()
