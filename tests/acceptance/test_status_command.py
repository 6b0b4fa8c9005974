"""`stdworker status` finds a real worker without any setting."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
HANG_SECONDS = 30
pytestmark = pytest.mark.slow


@pytest.fixture
def environment(tmp_path):
    return {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.fixture
def start(environment, tmp_path, eventually):
    """Starts a worker whose broker isn't there; answers its process once it can be asked."""
    started = []

    def run(**settings):
        process = subprocess.Popen(
            [str(BIN / "stdworker"), "run", "--broker-addr", "http://127.0.0.1:9"],
            env=environment | settings,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        path = tmp_path / "stdworker" / f"{process.pid}.sock"
        eventually(lambda: path.exists() or process.poll() is not None)
        assert process.poll() is None
        return process

    yield run
    for process in started:
        process.kill()
        process.wait(HANG_SECONDS)


@pytest.fixture
def status(environment):
    def run(*arguments):
        command = [str(BIN / "stdworker"), "status", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
        )

    return run


def test_no_worker_is_one_clear_line_and_status_1(status, tmp_path):
    done = status()
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: no worker of this user runs here (looked in {tmp_path}/stdworker, ")
    assert done.stderr.count("\n") == 1


def test_one_worker_is_shown_whole_several_a_line_each_and_a_killed_one_not_at_all(start, status, tmp_path):
    first = start()
    shown = status()
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"worker {first.pid} on ")
    assert "broker 127.0.0.1:9: not connected for " in shown.stdout
    assert "stdio@1" in shown.stdout

    second = start()
    rows = status().stdout.splitlines()
    assert {row.split()[0] for row in rows[1:3]} == {str(first.pid), str(second.pid)}
    assert status("--pid", str(second.pid)).stdout.startswith(f"worker {second.pid} on ")
    documents = [json.loads(line) for line in status("--output", "json").stdout.splitlines()]
    assert {document["pid"] for document in documents} == {first.pid, second.pid}

    second.kill()
    second.wait(HANG_SECONDS)
    gone = status("--pid", str(second.pid))
    assert gone.returncode == 1
    assert f"no worker with the process id {second.pid}" in gone.stderr
    first.send_signal(signal.SIGTERM)
    assert first.wait(HANG_SECONDS) == 0
    assert list((tmp_path / "stdworker").iterdir()) == []


def test_a_worker_elsewhere_is_asked_by_its_probe_address(start, status):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    refused = status("--addr", address)
    worker = start(HEALTH_ADDR=address)

    assert refused.returncode == 1
    assert f"no worker answers at {address}: " in refused.stderr
    assert json.loads(status("--addr", address, "-o", "json").stdout)["pid"] == worker.pid


def test_every_metric_that_is_served_has_its_row_on_the_page_and_no_other(start):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    start(HEALTH_ADDR=address)
    served = urllib.request.urlopen(f"http://{address}/metrics", timeout=HANG_SECONDS).read().decode()

    page = (ROOT / "docs" / "running.md").read_text().split("### Metrics of the worker", 1)[1].split("\n## ", 1)[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)) == dict(
        re.findall(r"^# TYPE (\w+) (\w+)$", served, re.MULTILINE)
    )


@pytest.mark.parametrize("arguments", [("--addr", "nowhere"), ("--addr", "a:1", "--pid", "1")])
def test_options_that_make_no_sense_are_usage_errors(status, arguments):
    assert status(*arguments).returncode == 2
