"""A resource is frozen while its program runs, edited, released, rolled back; and it says why it isn't Ready."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 30

# A disk says its process id through a pipe, and hangs or fails if its spec says so. A rack owns two disks, of
# which b takes the address of a.
PROGRAM = r"""
request=$(cat)
spec=$(jq -c .spec <<<"$request")
case $STDWORKER_REACTION in
  plan) jq -nc '{"children": [{"kind": "disk", "kind_version": 1, "name": "a", "spec": '"$spec"'},
      {"kind": "disk", "kind_version": 1, "name": "b", "spec": {}}],
    "edges": [{"from": {"kind": "disk", "name": "b"}, "to": {"kind": "disk", "name": "a"},
      "values": [{"source_field": "/address", "dependent_field": "/peer"}]}]}' ;;
  make)
    [[ $spec == *hang* ]] && { echo $$ >began; exec sleep 1000; }
    [[ $spec == *fail* ]] && { echo "no room" >&2; exit 2; }
    echo "$spec" >>made
    echo '{"status": {"made": '"$spec"'}}' ;;
esac
"""
MANIFESTS = {
    "disk": {"name": "make", "trigger": "specChange", "emits": ["status"]},
    "rack": {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]},
    "tape": {"name": "make", "trigger": "specChange", "emits": ["status"]},
}


class Site:
    """An engine, and a worker whose program makes disks and racks; nobody serves tapes."""

    def __init__(self, folder, engine, http):
        self.folder = folder
        self.engine = engine
        self.http = http
        os.mkfifo(folder / "began")
        config = {"cwd": str(folder), "command": "bash", "args": ["-c", PROGRAM]}
        for kind, reaction in MANIFESTS.items():
            manifest = {"kind": kind, "kind_version": 1, "reactions": [reaction]}
            default = {"name": kind, "kind": kind, "kind_version": 1, "is_default": True, "spec": config}
            self.http.put(f"/kinds/{kind}/manifest", json=manifest).raise_for_status()
            self.http.post("/providerconfigs", json=default).raise_for_status()
        settings = {"PATH": os.environ["PATH"], "BROKER_ADDR": engine.broker, "STDIO_KINDS": "disk,rack"}
        self.worker = subprocess.Popen([str(BIN / "stdworker"), "run"], env=settings)

    def apply(self, kind, name, spec):
        body = f'{{"kind": "{kind}", "kind_version": 1, "name": "{name}", "spec": {spec}}}'
        headers = {"content-type": "application/json"}
        self.http.post("/resources", content=body, headers=headers).raise_for_status()

    def get(self, ref):
        return self.http.get(f"/resources/{ref}").raise_for_status().json()

    def conctl(self, *words):
        command = [str(BIN / "conctl"), "--server", self.engine.rest, *words]
        options = {"env": {"PATH": os.environ["PATH"]}, "timeout": HANG_SECONDS}
        return subprocess.run(command, **options, capture_output=True, text=True, check=False)

    def reasons(self, ref):
        return self.conctl("explain", ref, "-o", "name").stdout.split()

    def close(self):
        self.worker.kill()
        self.worker.wait(HANG_SECONDS)


@pytest.fixture
def site(tmp_path, serve):
    engine = serve()
    with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as http:
        made = Site(tmp_path, engine, http)
        try:
            yield made
        finally:
            made.close()


def test_a_running_program_is_stopped_by_a_quarantine_and_what_was_edited_runs_after_it(site, eventually):
    site.apply("disk", "a", '{"hang": true}')
    pid = int((site.folder / "began").read_text())
    assert site.conctl("quarantine", "disk/a").stdout == "resource disk/a is quarantined\n"
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    eventually(lambda: site.get("disk/a")["work"]["claimed_by"] is None)

    site.apply("disk", "a", '{"size": 1}')
    told = site.conctl("explain", "disk/a").stdout.splitlines()
    assert told[0] == "disk/a is Quarantined (generation 2, synced 0)"
    assert "quarantined by anonymous@127.0.0.1: nothing of it runs until someone releases it" in told[1]
    assert not (site.folder / "made").exists()

    site.conctl("unquarantine", "disk/a")
    assert site.conctl("wait", "disk/a").returncode == 0
    assert (site.folder / "made").read_text() == '{"size":1}\n'


def test_a_rollback_brings_an_earlier_spec_back_number_for_number(site):
    for size in ("1.50", "2"):
        site.apply("disk", "a", f'{{"size": {size}}}')
        assert site.conctl("wait", "disk/a").returncode == 0
    done = site.conctl("rollback", "disk/a", "--to", "1")
    assert done.stdout == "resource disk/a has the spec of generation 1 again (generation 3)\n"
    assert site.conctl("wait", "disk/a").returncode == 0
    assert (site.folder / "made").read_text().splitlines()[-1] == '{"size":1.5}'  # jq's spelling
    assert site.http.get("/raw/resources/disk/a/spec/3").content == b'{"size": 1.50}'
    assert site.conctl("history", "disk/a", "-o", "name").stdout.split() == ["3", "2", "1"]


def test_what_is_gated_what_failed_and_what_nobody_serves_say_so(site, eventually):
    site.apply("tape", "t", "{}")
    site.apply("rack", "r", '{"fail": true}')
    eventually(lambda: site.get("rack/r")["synced_gen"] or "child_not_ready" in site.reasons("rack/r"))
    eventually(lambda: site.reasons("disk/a") == ["failed"])
    assert site.reasons("tape/t") == ["no_worker"]
    assert "no room" in site.conctl("explain", "disk/a").stdout
    assert "it waits for disk/a, which has failed" in site.conctl("explain", "disk/b").stdout
    assert "disk/a: the program failed" in site.conctl("explain", "rack/r").stdout

    site.apply("rack", "r", '{"size": 1}')
    told = "it waits for the value at /address of the status of disk/a, which isn't there; it flows to /peer"
    eventually(lambda: told in site.conctl("explain", "disk/b").stdout)
