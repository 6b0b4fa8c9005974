"""`stdworker check`: the whole command, on programs that keep the contract and on one that doesn't."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HANG_SECONDS = 60
TOOLS = {"bash": "jq", "node": "node", "python": "python3"}
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*/0*/*") if path.is_file() and os.access(path, os.X_OK))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "greeter"
    path.write_text("""#!/bin/sh\nexec jq -c '{status: {greeting: "Hello, \\(.spec.name // "world")!"}}'\n""")
    path.chmod(0o755)
    return path


def check(*arguments, **options):
    command = [str(BIN / "stdworker"), "check", *map(str, arguments)]
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS, **options
    )


@pytest.fixture
def sidecar(tmp_path, eventually):
    """Runs an example that serves a socket, as its README does; the options that lead to it."""
    started = []

    def run(example):
        path, config = tmp_path / "socket", tmp_path / "config.json"
        config.write_text(json.dumps({"mode": "socket", "socket": f"unix:{path}"}))
        started.append(subprocess.Popen([example, path]))
        with socket.socket(socket.AF_UNIX) as probe:
            eventually(lambda: probe.connect_ex(str(path)) == 0)
        return "--config", config

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_passes_without_a_warning(example, tmp_path, sidecar):
    if shutil.which(TOOLS[example.parts[-3]]) is None:
        pytest.skip(f"{TOOLS[example.parts[-3]]} is not installed")
    resource = example.parent / "resource.yaml"  # there are none of a reactor
    spec = json.dumps(yaml.safe_load(resource.read_text())["spec"] if resource.exists() else {})
    options = sidecar(example) if example.parent.name.endswith("-socket") else ()
    place = tmp_path / "place"
    place.mkdir()

    done = check("--json", "--spec", spec, *options, example, cwd=place)

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["counts"]["warn"] == 0, done.stdout
    assert list(place.iterdir()) == []


def test_a_program_that_keeps_the_contract_gets_a_line_for_each_case_and_a_sum(program):
    done = check(program, "--spec", '{"name":"Ada"}')

    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["pass", "answer", "it", "answers", "a", "request"]
    assert " as greeter@1, mode oneshot: " in lines[-1]


def test_a_program_that_does_not_fails_with_exit_status_1(program):
    program.write_text(program.read_text().replace("jq -c", "jq --unbuffered -c").replace("//", "+ 1 //"))

    done = check("--spec", '{"name":"Ada"}', program)

    assert done.returncode == 1
    assert "fail answer: it answers a request" in done.stdout
    assert "jq: error" in done.stdout


def test_json_is_one_document_and_junit_a_file(program, tmp_path):
    report = tmp_path / "report.xml"

    done = check("--output", "json", "--junit", report, "--only", "answer", "--only", "unicode", program)

    assert [entry["id"] for entry in json.loads(done.stdout)["cases"]] == ["answer", "unicode"]
    assert [case.get("name") for case in ElementTree.parse(report).iter("testcase")] == ["answer", "unicode"]


def test_cases_can_be_left_out_and_listed(program):
    listed = check("--list").stdout
    done = check("--json", "--skip", "unicode", "--skip", "quoting", program)

    ids = [entry["id"] for entry in json.loads(done.stdout)["cases"]]
    assert "unicode" not in ids
    assert "numbers" in ids
    assert "unicode  " in listed


def test_the_config_and_the_reaction_that_are_asked_for_are_used(program, tmp_path):
    program.write_text("#!/bin/sh\nexec jq -c '{status: {reaction, trigger, config}}'\n")
    config = tmp_path / "config.yaml"
    config.write_text("settings: { place: test }\n")

    done = check(
        "--json", "--config", config, "--reaction", "delete", "--reaction", "work", "--only", "reactions", program
    )

    assert json.loads(done.stdout)["cases"][0]["message"] == "delete, work"
    assert done.returncode == 0, done.stdout


def test_the_settings_of_the_config_reach_the_program(program, tmp_path):
    program.write_text('#!/bin/sh\ngrep -q \'"config":{"place":"test"}\' || exit 2\n')
    config = tmp_path / "config.yaml"
    config.write_text("settings: { place: test }\n")

    assert check("--config", config, "--spec", "{}", "--only", "answer", program).returncode == 0
    assert check("--spec", "{}", "--only", "answer", program).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'PROGRAM'"),
        (["--only", "unicorn", "PROGRAM"], "no case 'unicorn'"),
        (["--spec", "{", "PROGRAM"], "not JSON"),
        (["--mode", "swim", "PROGRAM"], "'swim' is not one of"),
        (["--timeout", "0", "PROGRAM"], "is not a number from 0.1 to "),
        (["--unheard-of", "PROGRAM"], "--unheard-of"),
        (["--junit", "nowhere/report.xml", "--only", "answer", "PROGRAM"], "can't be written"),
        (["--only", "answer", "--skip", "answer", "PROGRAM"], "no case is left to run"),
        (["--timeout", "nan", "PROGRAM"], "nan is not a number"),
    ],
)
def test_a_wrong_command_line_is_told_with_exit_status_2(program, tmp_path, arguments, message):
    words = [str(program) if word == "PROGRAM" else word for word in arguments]

    done = check(*words, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_is_not_there_fails_its_first_case_and_is_named(tmp_path):
    done = check(tmp_path / "nowhere")

    assert done.returncode == 1
    assert f"no program '{tmp_path}/nowhere'" in done.stdout
    assert "Traceback" not in done.stderr


def test_help_says_that_the_program_runs_for_real_and_how_to_restrict_it():
    told = " ".join(check("--help").stdout.split())

    for word in ("RUNS FOR REAL", "check-…", "--config", "--spec", "--reaction", "--only", "--skip"):
        assert word in told


def test_ctrl_c_ends_the_check_and_the_program(program, tmp_path, eventually):
    program.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nkill -STOP $$\n")
    running = subprocess.Popen([BIN / "stdworker", "check", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually((tmp_path / "pid").exists)

    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=HANG_SECONDS)

    assert running.returncode == 130
    assert b"Traceback" not in stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
