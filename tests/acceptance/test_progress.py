"""What a program says of its progress reaches whoever asks the engine, in every mode."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
MANIFEST = {
    "kind": "copy",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}

# Says how far it is, then waits until somebody writes into the gate.
BASH = r"""
while read -r line; do
  [[ $line =~ \"id\":\"([^\"]*)\" ]] && id=${BASH_REMATCH[1]}
  echo '{"progress":{"id":"'$id'","fraction":0.25,"message":"copying"}}'
  read -r _ < gate
  echo '{"id":"'$id'","status":{"copied":true}}'
done
"""
SOCKET = r"""
import json, socket
with socket.socket(socket.AF_UNIX) as server:
    server.bind("copy.sock")
    server.listen()
    print("listening", flush=True)
    connection, _ = server.accept()
    lines = connection.makefile("rw")
    for line in lines:
        id = json.loads(line)["id"]
        print(json.dumps({"progress": {"id": id, "fraction": 0.25, "message": "copying"}}), file=lines, flush=True)
        open("gate").readline()
        print(json.dumps({"id": id, "status": {"copied": True}}), file=lines, flush=True)
"""


class Copying:
    """An engine, a worker with a program, and a resource whose task waits at the gate."""

    def __init__(self, folder, serve, eventually, mode):
        self.eventually = eventually
        self.gate = folder / "gate"
        os.mkfifo(self.gate)
        self.engine = serve()
        self.http = httpx.Client(base_url=f"{self.engine.rest}/api/v1", timeout=HANG_SECONDS)
        self.processes = [self.listen(folder)] if mode == "socket" else []
        config = {"mode": mode, "cwd": str(folder), "command": "bash", "args": ["-c", BASH]}
        if mode == "socket":
            config = {"mode": mode, "socket": f"unix:{folder}/copy.sock"}
        self.put("/kinds/copy/manifest", MANIFEST)
        self.post(
            "/providerconfigs", {"name": "copy", "kind": "copy", "kind_version": 1, "is_default": True, "spec": config}
        )
        self.post("/resources", {"kind": "copy", "kind_version": 1, "name": "one", "spec": {}})
        self.variables = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(folder)}
        settings = {"BROKER_ADDR": self.engine.broker, "STDIO_KINDS": "copy"}
        self.processes.append(subprocess.Popen([str(BIN / "stdworker"), "run"], env=self.variables | settings))

    def listen(self, folder):
        program = subprocess.Popen([sys.executable, "-c", SOCKET], cwd=folder, stdout=subprocess.PIPE)
        assert program.stdout.readline() == b"listening\n"
        return program

    def put(self, path, body):
        self.http.put(path, json=body).raise_for_status()

    def post(self, path, body):
        self.http.post(path, json=body).raise_for_status()

    def work(self):
        """The resource's task, once it has said something."""
        self.eventually(lambda: self.shown()["progress"])
        return self.shown()

    def shown(self):
        return self.http.get("/resources/copy/one").raise_for_status().json()["work"]

    def conctl(self, *words):
        return self.run("conctl", "--server", self.engine.rest, *words)

    def status(self):
        return self.run("stdworker", "status", "--pid", str(self.processes[-1].pid))

    def run(self, name, *words):
        command, options = [str(BIN / name), *words], {"env": self.variables, "timeout": HANG_SECONDS}
        return subprocess.run(command, **options, capture_output=True, text=True, check=True).stdout

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(HANG_SECONDS)
            if process.stdout:
                process.stdout.close()
        self.http.close()


@pytest.fixture(params=["oneshot", "stream", "socket"])
def copying(request, tmp_path, serve, eventually):
    made = Copying(tmp_path, serve, eventually, request.param)
    yield made
    made.close()


def test_progress_is_shown_while_a_task_runs_and_gone_when_it_has_ended(copying):
    work = copying.work()

    assert work["progress"] == {"fraction": 0.25, "message": "copying"}
    assert work["heartbeat_age"] is not None
    assert json.loads(copying.conctl("get", "copy/one", "-o", "json"))["work"]["progress"] == work["progress"]
    assert re.search(r"^copy +one +Reconciling .* 25% copying$", copying.conctl("list"), re.MULTILINE)
    assert "25% copying" in copying.conctl("describe", "copy/one")
    assert "25% copying" in copying.conctl("tree", "copy/one")
    assert re.search(r" copy@1 +yes +1/", copying.conctl("cluster"))
    assert re.search(r"^copy@1/one +work .* 25% copying$", copying.status(), re.MULTILINE)

    copying.gate.write_text("go\n")
    assert "copy/one is ready" in copying.conctl("wait", "copy/one")
    resource = json.loads(copying.conctl("get", "copy/one", "-o", "json"))
    assert (resource["status"], resource["work"]) == ({"copied": True}, None)
