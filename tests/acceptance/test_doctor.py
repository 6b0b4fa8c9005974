"""`stdworker doctor` as it is installed: exit status, both outputs, a real broker, a broken plugin."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 60


def doctor(*arguments, **variables):
    return subprocess.run(
        [str(BIN / "stdworker"), "doctor", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


def findings(done):
    return {finding["about"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_a_place_where_nothing_is_wrong_is_exit_status_0(serve):
    server = serve()

    done = doctor("--output", "json", BROKER_ADDR=server.broker)

    assert done.returncode == 0, done.stdout
    assert findings(done)["broker"]["level"] == "ok"
    assert json.loads(done.stdout)["problems"] == 0


def test_people_get_a_line_for_each_finding_and_what_to_do():
    done = doctor("--broker-addr", "http://127.0.0.1:1", HEALTH_ADDR="nonsense")

    assert done.returncode == 1
    assert any(line.startswith("problem  broker connection") for line in done.stdout.splitlines())
    assert "HEALTH_ADDR" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 problems")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import no_such_module", "syntax error"])
def test_a_broken_plugin_is_exit_status_1_and_named(tmp_path, code):
    (tmp_path / "broken_plugin.py").write_text(code)
    metadata = tmp_path / "broken_plugin-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text("[stdworker]\nbroken = broken_plugin\n")

    done = doctor("--output", "json", PYTHONPATH=str(tmp_path))

    assert done.returncode == 1
    problems = [f["message"] for f in json.loads(done.stdout)["findings"] if f["level"] == "problem"]
    assert len(problems) == 1
    assert problems[0].startswith("plugin broken (broken-plugin 1.2): ")
    assert "Traceback" not in done.stdout + done.stderr


def test_no_secret_is_shown(tmp_path):
    secret = {"BROKER_ADDR": "http://user:s3cr3t@host:1", "API_TOKEN": "s3cr3t", "STDIO_COMMAND": "/nowhere"}

    done = doctor(**secret)

    assert done.returncode == 1
    assert "s3cr3t" not in done.stdout + done.stderr
