"""A worker and a program that runs beside it: two processes, and a folder with a socket that both can see."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
BIN = Path(sys.executable).parent
HANG_SECONDS = 60
TOOLS = {"node": "node", "python": "python3"}
CITIES = {"Lagos": "Nigeria", "Lima": "Peru", "Oslo": "Norway"}

pytestmark = pytest.mark.slow


class Sidecar:
    """The example program, as somebody else runs it: with its socket in the test's folder."""

    def __init__(self, language, folder):
        self.folder = folder / "kind"
        self.socket = folder / "shared" / "geo.sock"
        self.kind = f"{language}-geo"
        self._process = None
        shutil.copytree(EXAMPLES / language / "06-socket", self.folder)
        self.socket.parent.mkdir()
        kind_file = self.folder / f"{self.kind}.kind.yaml"
        text = kind_file.read_text()
        assert f"unix:/tmp/{self.kind}.sock" in text
        kind_file.write_text(text.replace(f"/tmp/{self.kind}.sock", str(self.socket)))

    def start(self):
        self._process = subprocess.Popen([str(self.folder / self.kind), str(self.socket)], stdin=subprocess.DEVNULL)

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait(HANG_SECONDS)
            self._process = None


@pytest.fixture(params=TOOLS)
def sidecar(request, tmp_path):
    if shutil.which(TOOLS[request.param]) is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {TOOLS[request.param]}")
        pytest.skip(f"{TOOLS[request.param]} is not installed")
    sidecar = Sidecar(request.param, tmp_path)
    yield sidecar
    sidecar.stop()


def run(*command, **options):
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
        **options,
    )


def test_a_socket_program_is_asked_while_it_runs_and_named_while_it_doesn_t(sidecar, eventually):
    def call(city):
        done = run("stdworker", "call", "-o", "json", "--spec", json.dumps({"city": city}), f"./{sidecar.kind}",
                   cwd=sidecar.folder)  # fmt: skip
        return done.returncode, json.loads(done.stdout)

    status, away = call("Lima")
    assert (status, away["result"]) == (1, "transient")
    assert f"can't connect to unix:{sidecar.socket}: there is no such socket" in away["error"]["message"]

    sidecar.start()
    eventually(sidecar.socket.exists)
    status, found = eventually(lambda: (answer := call("Lima"))[0] == 0 and answer)
    assert found["outcome"]["status"] == {"country": "Peru"}
    status, refused = call("Atlantis")
    assert (status, refused["result"], refused["error"]["message"]) == (2, "terminal", "no such city: Atlantis")


def test_the_commands_of_the_readme_work(sidecar):
    [commands] = re.findall(
        r"^```\n(\./.*?)\n```", (sidecar.folder / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    script = commands.replace(f"/tmp/{sidecar.kind}.sock", str(sidecar.socket))
    assert str(sidecar.socket) in script

    with subprocess.Popen(["bash", "-ec", script], cwd=sidecar.folder, env=environment, stdout=subprocess.PIPE) as done:
        assert b"Peru" in done.stdout.read()

    assert done.returncode == 0


def test_resources_converge_though_the_program_is_restarted_meanwhile(sidecar, serve, tmp_path, eventually):
    engine = serve()
    environment = os.environ | {
        "BROKER_ADDR": engine.broker,
        "CONVERGE_SERVER": engine.rest,
        "STDWORKER_KINDS_PATH": str(sidecar.folder),
        "WORKER_KINDS": sidecar.kind,
    }
    applied = run("conctl", "apply", "-f", str(sidecar.folder), env=environment)
    assert applied.returncode == 0, applied.stderr
    with (
        (tmp_path / "worker.log").open("wb") as log,
        subprocess.Popen([str(BIN / "stdworker"), "run"], env=environment, stdout=log, stderr=log) as worker,
        httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as client,
    ):
        try:
            eventually(lambda: is_known(client, ready=False, reason="there is no such socket"))

            sidecar.start()
            eventually(lambda: is_known(client, ready=True))
            wait_ready(client, sidecar.kind, [sidecar.kind.replace("-geo", "-home")])

            sidecar.stop()
            eventually(lambda: is_known(client, ready=False, reason=f"unix:{sidecar.socket}"))
            names = [f"city-{number}" for number in range(60)]
            for number, name in enumerate(names):
                city = list(CITIES)[number % len(CITIES)]
                body = {"kind": sidecar.kind, "kind_version": 1, "name": name, "spec": {"city": city}}
                client.post("/resources", json=body).raise_for_status()
                if number == 30:
                    sidecar.start()
                    eventually(lambda: is_known(client, ready=True))
                    sidecar.stop()
                    sidecar.start()
            wait_ready(client, sidecar.kind, names)
            found = client.get(f"/resources/{sidecar.kind}/city-59").json()
        finally:
            worker.terminate()
    assert found["status"] == {"country": CITIES["Oslo"]}
    assert worker.returncode == 0


def is_known(client, *, ready, reason=""):
    """Does the broker know this of the kind?"""
    members = client.get("/cluster-members").raise_for_status().json()["members"]
    kinds = [kind for member in members for worker in member["workers"] for kind in worker["kinds"]]
    return any(kind["ready"] is ready and reason in kind["reason"] for kind in kinds)


def wait_ready(client, kind, names):
    for name in names:
        path = f"/resources/{kind}/{name}/wait"
        client.get(path, params={"for": "ready", "timeout": "50s"}).raise_for_status()
