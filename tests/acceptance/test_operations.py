"""An operation of a program, asked for on the command line."""

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
PROGRAM = r"""
request=$(cat)
case $STDWORKER_REACTION in
  make) echo '{"status": {"made": true}}' ;;
  snap)
    label=$(jq -r .operation.input.label <<<"$request")
    [ "$label" = bad ] && { echo "there is no room" >&2; exit 1; }
    echo "$label" >>snapshots
    echo '{"output": {"snapshot": "'"$label"'", "bytes": 1.50}}' ;;
esac
"""
MANIFEST = {
    "kind": "disk",
    "kind_version": 1,
    "reactions": [
        {"name": "make", "trigger": "specChange", "emits": ["status"]},
        {
            "name": "snap",
            "trigger": "operation",
            "verb": "snapshot",
            "emits": ["operationOutput"],
            "input_schema": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]},
        },
    ],
}


class Disk:
    """An engine, a worker with the program, and a disk."""

    def __init__(self, folder, engine):
        self.folder = folder
        self.engine = engine
        config = {"cwd": str(folder), "command": "bash", "args": ["-c", PROGRAM]}
        default = {"name": "disk", "kind": "disk", "kind_version": 1, "is_default": True, "spec": config}
        with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as http:
            http.put("/kinds/disk/manifest", json=MANIFEST).raise_for_status()
            http.post("/providerconfigs", json=default).raise_for_status()
            http.post("/resources", json={"kind": "disk", "kind_version": 1, "name": "a"}).raise_for_status()
        settings = {"PATH": os.environ["PATH"], "BROKER_ADDR": engine.broker, "STDIO_KINDS": "disk"}
        self.worker = subprocess.Popen([str(BIN / "stdworker"), "run"], env=settings)

    def conctl(self, *words):
        command = [str(BIN / "conctl"), "--server", self.engine.rest, *words]
        options = {"env": {"PATH": os.environ["PATH"]}, "timeout": HANG_SECONDS}
        return subprocess.run(command, **options, capture_output=True, text=True, check=False)

    def close(self):
        self.worker.kill()
        self.worker.wait(HANG_SECONDS)


@pytest.fixture
def disk(tmp_path, serve):
    made = Disk(tmp_path, serve())
    try:
        yield made
    finally:
        made.close()


def test_a_program_runs_an_operation_once_and_its_output_is_printed(disk):
    done = disk.conctl("run", "disk/a", "snapshot", "--input", '{"label": "first"}', "--wait")

    assert (done.returncode, json.loads(done.stdout)) == (0, {"snapshot": "first", "bytes": 1.5})
    assert "1.50" in done.stdout
    assert done.stderr == "snapshot of disk/a succeeded\n"
    assert (disk.folder / "snapshots").read_text() == "first\n"


def test_an_operation_that_fails_ends_the_command_with_1_and_the_programs_reason(disk):
    done = disk.conctl("run", "disk/a", "snapshot", "--input", '{"label": "bad"}', "--wait")

    assert (done.returncode, done.stdout) == (1, "")
    assert "snapshot of disk/a failed" in done.stderr
    assert "there is no room" in done.stderr
    assert not (disk.folder / "snapshots").exists()
