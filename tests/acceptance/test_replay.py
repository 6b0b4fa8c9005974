"""`stdworker replay`: recorded requests run again, and what comes of them is compared."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 60
GREETER = 'read -r r; jq -c "{status: {text: (\\"Hello \\" + .spec.name), token: .config.token}}" <<<"$r"'


@pytest.fixture
def run(tmp_path):
    def stdworker(*arguments):
        command = [str(BIN / "stdworker"), *map(str, arguments)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )

    return stdworker


@pytest.fixture
def program(tmp_path):
    def make(body, name="greeter"):
        path = tmp_path / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
        return f"./{name}"

    return make


@pytest.fixture
def record(run, program):
    """Makes a record of the greeter, a task for each name."""

    def make(*names, body=GREETER, options=()):
        greeter = program(body)
        for name in names:
            spec = json.dumps({"name": name})
            run("call", "--record", "r.jsonl", "--name", name, "--spec", spec, *options, greeter)
        return "r.jsonl"

    return make


def told(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_program_that_still_answers_the_same_passes(run, record):
    done = run("replay", record("ada", "bob"))

    assert done.returncode == 0, done.stderr
    first, second, summary = done.stdout.splitlines()
    assert first.startswith("1  work greeter/ada: same (")
    assert second.startswith("2  work greeter/bob: same (")
    assert summary == "2 requests: 2 same"


def test_a_program_that_answers_otherwise_fails_and_both_answers_are_shown(run, record, program):
    file = record("ada", "bob")
    program(GREETER.replace("Hello", "Bye"))

    done = run("replay", file)

    assert done.returncode == 1
    assert '   /outcome/status/text: "Hello ada" → "Bye ada"' in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "2 requests: 2 different"


def test_another_program_can_answer_the_recorded_requests(run, record, program):
    file = record("ada")
    other = program(f'[ "$1" = there ] && {GREETER}', "other")

    assert run("replay", file, "--", other, "there").returncode == 0
    assert run("replay", file, "--", other, "elsewhere").returncode == 1


@pytest.mark.parametrize(
    ("only", "names"), [("2", ["bob"]), ("bob", ["bob"]), ("greeter/ada", ["ada"]), ("id:1", ["ada", "bob"])]
)
def test_some_of_the_requests_can_be_chosen(run, record, only, names):
    done = run("replay", record("ada", "bob"), "--only", only, "--output", "json")

    assert [line["name"] for line in told(done)] == names


def test_machines_get_an_object_for_each_request(run, record, program):
    file = record("ada")
    program(GREETER.replace("Hello", "Bye"))

    (line,) = told(run("replay", file, "--output", "json"))

    assert (line["line"], line["id"], line["kind"], line["kind_version"]) == (1, "1", "greeter", 1)
    assert line["verdict"] == "different"
    assert line["differences"] == [{"path": "/outcome/status/text", "recorded": "Hello ada", "replayed": "Bye ada"}]
    assert line["replayed"]["outcome"]["status"]["text"] == "Bye ada"


def test_what_was_redacted_is_named_and_can_be_given_back(run, record, tmp_path):
    (tmp_path / "secret.yaml").write_text("settings: {token: open-sesame}\n")
    body = f'r=$(cat); [[ $r = *open-sesame* ]] || exit 2; echo "$r" | ({GREETER})'
    file = record("ada", body=body, options=["--config", "secret.yaml"])

    without = run("replay", file)
    given = run("replay", file, "--config", "secret.yaml")

    assert without.returncode == 1
    assert "redacted, so the program got ***: /config/token" in without.stdout
    assert given.returncode == 0, given.stdout
    assert "redacted" not in given.stdout
    assert "open-sesame" not in (tmp_path / file).read_text() + given.stdout + given.stderr


def test_failures_are_compared_by_class_reason_and_the_programs_own_words(run, record, program):
    def fails(message, reason="Quota"):
        return f"""echo $RANDOM $$ >&2; echo '{{"error":{{"message":"{message}","reason":"{reason}"}}}}'; exit 1"""

    file = record("ada", body=fails("no quota"))
    assert run("replay", file).returncode == 0

    program(fails("no region"))
    done = run("replay", file)
    assert done.returncode == 1
    assert '/error/message: "no quota" → "no region"' in done.stdout

    program("exit 2")
    assert '/result: "transient" → "terminal"' in run("replay", file).stdout


def test_what_stderr_says_is_not_compared(run, record):
    file = record("ada", body="echo $RANDOM$RANDOM >&2; exit 1")

    assert run("replay", file).returncode == 0


def test_a_persistent_program_is_recorded_and_replayed_as_one(run, record, program):
    stream = 'while read -r r; do jq -c --unbuffered "{id, status: {text: .spec.name}}" <<<"$r"; done'
    file = record("ada", "bob", body=stream, options=["--mode", "stream"])

    done = run("replay", file)

    assert done.returncode == 0, done.stdout + done.stderr


def test_lines_that_are_no_record_are_passed_over_with_a_warning(run, record, tmp_path):
    file = record("ada")
    with (tmp_path / file).open("a") as out:
        out.write('{"record":1,"at":"2026')

    done = run("replay", file)

    assert done.returncode == 0
    assert "r.jsonl:2 is not a line of a record" in done.stderr


@pytest.mark.parametrize("arguments", [["nowhere.jsonl"], ["r.jsonl", "--only", "7"], ["empty.jsonl"]])
def test_nothing_to_run_is_a_usage_error(run, record, tmp_path, arguments):
    record("ada")
    (tmp_path / "empty.jsonl").write_text("")

    done = run("replay", *arguments)

    assert done.returncode == 2
    assert "Error: " in done.stderr


def test_a_request_that_was_cut_is_skipped_and_said_so(run, record, tmp_path):
    line = json.loads((tmp_path / record("ada")).read_text()) | {"request": None, "cut": True}
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n")

    done = run("replay", "r.jsonl")

    assert done.returncode == 2
    assert "skipped: the request was too long to be recorded" in done.stdout


def test_what_a_worker_recorded_can_be_replayed(run, program, serve, tmp_path):
    kind_file = {
        "kind": "greeter",
        "kind_version": 1,
        "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
        "default_config": {"record": True, "settings": {"token": "open-sesame"}},
    }
    (tmp_path / "greeter.kind.json").write_text(json.dumps(kind_file))
    (tmp_path / "ada.json").write_text(
        json.dumps({"kind": "greeter", "kind_version": 1, "name": "ada", "spec": {"name": "Ada", "n": 2**64}})
    )
    program(GREETER)
    server = serve()
    environment = os.environ | {
        "BROKER_ADDR": server.broker,
        "STDWORKER_KINDS_PATH": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    with subprocess.Popen([str(BIN / "stdworker"), "run"], env=environment, stderr=subprocess.DEVNULL) as worker:
        try:
            conctl = [str(BIN / "conctl"), "--server", server.rest, "apply", "--wait"]
            for file in ("greeter.kind.json", "ada.json"):
                subprocess.run([*conctl, "-f", str(tmp_path / file)], check=True, timeout=HANG_SECONDS)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(HANG_SECONDS)

    done = run("replay", tmp_path / "state/stdworker/records/greeter@1.jsonl")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "work greeter/ada: same" in done.stdout
