"""The programs on the page for authors do what the page says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs/writing-programs.md").read_text()


@pytest.fixture
def program(tmp_path):
    """Writes the page's one program in this language; answers a way to call it."""

    def write(language):
        (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        path = tmp_path / "program"
        path.write_text(text)
        path.chmod(0o755)
        return lambda *options: call(tmp_path, *options)

    return write


def call(folder, *options):
    command = [str(BIN / "stdworker"), "call", "--output", "json", *options, "./program"]
    scratch = {"TMPDIR": str(folder), "LOG_LEVEL": "info"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | scratch, capture_output=True, text=True, timeout=60, check=False
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_the_bash_program_finds_what_an_earlier_run_has_made_and_leaves_no_scratch(program, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"settings": {"root": str(tmp_path / "root")}}))
    run = program("bash")

    results, log = run("--config", "config.json", "--repeat", "2", "--spec", '{"text":"hello"}')

    (folder,) = (tmp_path / "root").iterdir()
    assert [result["outcome"] for result in results] == [{"status": {"folder": str(folder)}}] * 2
    assert log.count("is there already") == 1
    assert (folder / "text").read_text() == "hello\n"
    assert not list(tmp_path.glob("tmp.*"))


def test_the_python_program_fails_one_request_for_good_and_tells_how_far_the_others_are(program, tmp_path):
    run = program("python")

    [refused], _ = run("--mode", "stream", "--spec", '{"steps":1001}')
    [served], _ = run("--mode", "stream", "--spec", '{"steps":4}')

    assert (refused["result"], refused["error"]["reason"]) == ("terminal", "TooManySteps")
    assert (served["result"], served["outcome"]) == ("success", {"status": {"steps": 4}})
    said = subprocess.run(
        [tmp_path / "program"], input='{"id":"a","spec":{"steps":4}}\n', capture_output=True, text=True, check=True
    )
    progress = [json.loads(line)["progress"]["fraction"] for line in said.stdout.splitlines()[:-1]]
    assert progress == [0, 0.25, 0.5, 0.75]


def test_the_node_program_logs_on_stderr_and_has_no_stray_lines(program):
    [served], log = program("js")("--mode", "stream", "--spec", '{"text":"hello"}')

    assert (served["outcome"], served["stray_lines"]) == ({"status": {"text": "hello"}}, 0)
    assert "this is log" in log
