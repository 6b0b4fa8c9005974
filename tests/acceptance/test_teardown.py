"""What a program made it takes down again: dependents first, the owner last, tried until it succeeds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
CHILDREN = [{"kind": "disk", "kind_version": 1, "name": name, "spec": {}} for name in ("a", "b")]
EDGES = [{"from": {"kind": "disk", "name": "b"}, "to": {"kind": "disk", "name": "a"}}]
COMPOSED = json.dumps({"children": CHILDREN, "edges": EDGES, "status": {}})

# A rack owns two disks, of which b depends on a. Taking down fails while there is a file `attached`.
PROGRAM = f"""
request=$(cat)
case $STDWORKER_REACTION in
  plan) echo '{COMPOSED}' ;;
  make) echo '{{"status": {{"made": true}}}}' ;;
  drop)
    [ -e attached ] && {{ echo "it is still attached" >&2; exit 1; }}
    jq -r '"\\(.finalizer) \\(.name)"' <<<"$request" >>dropped
    echo '{{}}' ;;
esac
"""
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"]}
REACTIONS = {
    "disk": {"name": "make", "trigger": "specChange", "emits": ["status"]},
    "rack": {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]},
}


class Racks:
    """An engine, a worker with the program, and a rack that is Ready."""

    def __init__(self, folder, engine):
        self.folder = folder
        self.engine = engine
        self.http = httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)
        config = {"cwd": str(folder), "command": "bash", "args": ["-c", PROGRAM]}
        for kind, reaction in REACTIONS.items():
            manifest = {
                "kind": kind,
                "kind_version": 1,
                "reactions": [reaction, DROP],
                "finalizer_name": f"{kind}/drop",
            }
            self.http.put(f"/kinds/{kind}/manifest", json=manifest).raise_for_status()
            self.config(kind, config)
        rack = {"kind": "rack", "kind_version": 1, "name": "r", "spec": {}}
        self.http.post("/resources", json=rack).raise_for_status()
        settings = {"PATH": os.environ["PATH"], "BROKER_ADDR": engine.broker, "STDIO_KINDS": "disk,rack"}
        self.worker = subprocess.Popen([str(BIN / "stdworker"), "run"], env=settings)

    def config(self, kind, spec):
        body = {"name": kind, "kind": kind, "kind_version": 1, "is_default": True, "spec": spec}
        self.http.post("/providerconfigs", json=body).raise_for_status()

    def get(self, ref):
        return self.http.get(f"/resources/{ref}").raise_for_status().json()

    def conctl(self, *words):
        command = [str(BIN / "conctl"), "--server", self.engine.rest, *words]
        options = {"env": {"PATH": os.environ["PATH"]}, "timeout": HANG_SECONDS}
        done = subprocess.run(command, **options, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def dropped(self):
        return (self.folder / "dropped").read_text().splitlines()

    def close(self):
        self.worker.kill()
        self.worker.wait(HANG_SECONDS)
        self.http.close()


@pytest.fixture
def racks(tmp_path, serve):
    made = Racks(tmp_path, serve())
    try:
        made.conctl("wait", "rack/r")
        yield made
    finally:
        made.close()


def test_a_deletion_tears_down_dependents_first_and_the_owner_last(racks):
    assert racks.conctl("delete", "rack/r", "--wait") == "rack/r is deleted\n"
    assert racks.dropped() == ["disk/drop b", "disk/drop a", "rack/drop r"]
    assert racks.http.get("/resources").json() == {"resources": []}


def test_a_teardown_that_fails_is_shown_with_its_reason_and_tried_again(racks, eventually):
    (racks.folder / "attached").touch()
    racks.conctl("delete", "rack/r")

    failure = eventually(lambda: racks.get("disk/b")["failure"])
    assert "it is still attached" in failure["message"]
    assert (racks.get("disk/b")["phase"], racks.get("disk/b")["finalizers"]) == ("Deleting", ["disk/drop"])
    assert "it is still attached" in racks.conctl("describe", "disk/b")

    (racks.folder / "attached").unlink()
    racks.conctl("wait", "rack/r", "--for", "deleted")
    assert racks.dropped() == ["disk/drop b", "disk/drop a", "rack/drop r"]


def test_force_goes_on_without_a_teardown_that_cannot_succeed_and_says_so(racks, eventually):
    (racks.folder / "attached").touch()
    racks.conctl("delete", "rack/r")
    eventually(lambda: racks.get("disk/b")["failure"])

    racks.conctl("delete", "rack/r", "--force", "--wait")

    assert not (racks.folder / "dropped").exists()
    assert "forced, without disk/drop" in racks.conctl("events", "disk/b")
