"""`stdworker call`: any program, one task, no broker."""

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
ECHO = 'read -r request; jq -nc --argjson r "$request" --args "{status: (\\$r + {args: \\$ARGS.positional})}" -- "$@"'
STREAM = """while read -r request; do
  jq -c --unbuffered --argjson pid $$ '{id, status: {pid: $pid, name}}' <<<"$request"
done"""


@pytest.fixture
def program(tmp_path):
    """Makes an executable bash program in the test's folder."""

    def make(body, name="greeter"):
        path = tmp_path / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


def call(*arguments, **options):
    command = [str(BIN / "stdworker"), "call", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS, **options)


def told(*arguments, **options):
    done = call("--output", "json", *arguments, **options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def request_of(*arguments):
    """What the program was asked."""
    status, found = told(*arguments)
    assert status == 0, found
    return found["outcome"]["status"]


def test_a_success_is_one_json_object(program):
    status, found = told(program("""echo '{"status": {"hello": "Ada"}, "output": null}'"""))

    assert status == 0
    assert isinstance(found.pop("duration_ms"), int)
    assert found == {
        "result": "success",
        "error": None,
        "outcome": {"status": {"hello": "Ada"}},
        "stray_lines": 0,
        "exit": {"code": 0, "signal": None, "killed_by": None},
    }


def test_all_that_an_outcome_may_hold_is_told_in_the_words_of_the_protocol(program):
    response = {
        "status": {"a": 1},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Done"}],
        "children": [
            {"kind": "leaf", "kind_version": 2, "name": "a", "spec": {"x": 1}, "labels": {"l": "1"}},
            {"kind": "leaf", "kind_version": 1, "name": "b"},
        ],
        "edges": [
            {
                "from": {"kind": "leaf", "name": "b"},
                "to": {"kind": "leaf", "name": "a"},
                "values": [{"dependent_field": "/y", "source_field": "/z"}],
            }
        ],
        "configs": [{"name": "c", "kind": "leaf", "kind_version": 1, "spec": {"settings": 1}}],
        "recompose": True,
        "allow_empty": True,
        "output": [1, 2],
    }

    status, found = told("--reaction", "compose", program(f"echo '{json.dumps(response)}'"))

    assert status == 0
    assert found["outcome"] == response


def test_numbers_and_text_keep_their_tokens_and_the_line_is_ascii(program):
    spec = '{"b":1.0,"a":12345678901234567890123,"c":1e2,"d":"\u00e9\u2028\U0001f600"}'
    body = """read -r request; printf '{"status":%s}' "$(grep -o '{"b".*}' <<<"$request" | sed 's/}.*/}/')" """

    done = call("--output", "json", "--spec", spec, program(body))

    assert done.stdout.isascii()
    assert '"status":{"b":1.0,"a":12345678901234567890123,"c":1e2,"d":"\\u00e9\\u2028\\ud83d\\ude00"}' in done.stdout


@pytest.mark.parametrize(
    ("body", "status", "result", "ended"),
    [
        ("exit 0", 0, "success", {"code": 0, "signal": None, "killed_by": None}),
        ("exit 1", 1, "transient", {"code": 1, "signal": None, "killed_by": None}),
        ("exit 2", 2, "terminal", {"code": 2, "signal": None, "killed_by": None}),
        ("kill -KILL $$", 1, "transient", {"code": None, "signal": "SIGKILL", "killed_by": None}),
        ("echo hello", 2, "terminal", {"code": 0, "signal": None, "killed_by": None}),
    ],
)
def test_the_exit_status_says_how_the_task_ended(program, body, status, result, ended):
    code, found = told(program(body))

    assert (code, found["result"], found["exit"]) == (status, result, ended)
    assert (found["error"] is None) == (status == 0)


def test_a_failure_says_what_the_program_says(program):
    _, found = told(program("""echo '{"error":{"message":"no quota","reason":"Quota"}}'; exit 2"""))

    assert found["error"] == {"message": "no quota", "reason": "Quota"}
    assert found["outcome"] == {}


def test_a_failure_shows_the_end_of_stderr(program):
    _, found = told(program("echo 'disk is full' >&2; exit 1"))

    assert "disk is full" in found["error"]["message"]


def test_stray_lines_are_counted(program):
    _, found = told(program("""echo working; echo '{"status":1}'"""))

    assert (found["stray_lines"], found["outcome"]) == (1, {"status": 1})


def test_a_program_that_is_not_there_is_terminal_and_named(tmp_path):
    status, found = told(tmp_path / "nowhere")

    assert status == 2
    assert str(tmp_path / "nowhere") in found["error"]["message"]
    assert found["exit"] is None


def test_without_options_the_request_has_the_documented_defaults(program):
    request = request_of(program(ECHO))

    expected = {"kind": "greeter", "kind_version": 1, "name": "call", "generation": 1, "reaction": "work"}
    assert expected.items() <= request.items()
    assert request["uid"] == "00000000-0000-0000-0000-000000000000"
    assert request["trigger"] == "specChange"
    assert "spec" not in request


def test_kind_name_and_reaction_can_be_said(program):
    request = request_of("--kind", "leaf@3", "--name", "a", "--reaction", "probe", program(ECHO))

    assert {"kind": "leaf", "kind_version": 3, "name": "a", "reaction": "probe"}.items() <= request.items()


@pytest.mark.parametrize(
    ("options", "trigger"),
    [
        (["--reaction", "rollup"], "childrenSettled"),
        (["--reaction", "delete"], "deleteRequested"),
        (["--reaction", "operate"], "operation"),
        (["--reaction", "react"], "reactor"),
        (["--reaction", "compose"], "specChange"),
        (["--reaction", "anything"], "specChange"),
        (["--reaction", "anything", "--stage", "delete"], "deleteRequested"),
        (["--stage", "rollup"], "childrenSettled"),
    ],
)
def test_the_stage_is_as_asked_or_as_the_reaction_is_named(program, options, trigger):
    assert request_of(*options, program(ECHO))["trigger"] == trigger


def test_the_spec_comes_from_the_argument_a_file_or_stdin(program, tmp_path):
    (tmp_path / "spec.json").write_text('{"from": "file"}\n')
    echo = program(ECHO)

    assert request_of("--spec", '{"from": "argument"}', echo)["spec"] == {"from": "argument"}
    assert request_of("--spec", f"@{tmp_path}/spec.json", echo)["spec"] == {"from": "file"}
    assert told("--spec", "-", echo, input='{"from": "stdin"}')[1]["outcome"]["status"]["spec"] == {"from": "stdin"}


@pytest.mark.parametrize("spec", ["{", "{'a': 1}", "@nowhere.json", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_a_spec_that_is_no_json_is_a_usage_error(program, spec):
    done = call("--spec", spec, program(ECHO))

    assert done.returncode == 2
    assert "--spec" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_after_the_program_are_calls_and_what_follows_two_dashes_is_the_programs(program):
    echo = program(ECHO)

    assert request_of(echo, "--name", "a", "x")["args"] == ["x"]
    assert request_of(echo, "--name", "a", "x")["name"] == "a"
    assert request_of("--", echo, "--name", "a")["args"] == ["--name", "a"]


def test_an_option_that_is_not_known_before_the_program_is_a_usage_error(program):
    done = call("--spce", "{}", program(ECHO))

    assert done.returncode == 2
    assert "--spce" in done.stderr


def test_the_config_is_the_default_and_the_override_is_merged_over_it(program, tmp_path):
    (tmp_path / "config.yaml").write_text("settings: {a: 1, b: 1.0}\nargs: [from-config]\ncommand: /not/this\n")
    (tmp_path / "override.toml").write_text("[settings]\na = 2\n")
    options = ["--config", tmp_path / "config.yaml", "--override", tmp_path / "override.toml"]

    request = request_of(*options, program(ECHO))

    assert request["config"] == {"a": 2, "b": 1.0}
    assert request["args"] == ["from-config"]
    assert request_of(*options, "--", program(ECHO), "said")["args"] == ["said"]


def test_a_config_that_cannot_be_read_is_a_usage_error(program, tmp_path):
    (tmp_path / "two.yaml").write_text("a: 1\n---\nb: 1\n")

    for path in ("nowhere.yaml", tmp_path / "two.yaml"):
        done = call("--config", path, program(ECHO))
        assert done.returncode == 2
        assert "--config" in done.stderr


def test_a_misspelt_config_key_is_named_with_the_nearest(program, tmp_path):
    (tmp_path / "config.json").write_text('{"timeout_second": 1}')

    status, found = told("--config", tmp_path / "config.json", program(ECHO))

    assert status == 2
    assert "did you mean 'timeout_seconds'?" in found["error"]["message"]


def test_a_kind_file_beside_the_program_names_kind_reaction_and_config(program, tmp_path):
    kind_file = {
        "kind": "greeter",
        "kind_version": 7,
        "reactions": [{"name": "plan", "trigger": "specChange", "emits": ["children", "status"]}],
        "default_config": {"settings": {"word": "hi"}},
    }
    (tmp_path / "greeter@7.kind.json").write_text(json.dumps(kind_file))

    request = request_of(program(ECHO, "greeter@7"))

    assert {
        "kind": "greeter",
        "kind_version": 7,
        "reaction": "plan",
        "config": {"word": "hi"},
    }.items() <= request.items()


@pytest.mark.parametrize(
    ("spec", "answer", "warnings"),
    [
        (
            '{"size": "big"}',
            '{"n": 1}',
            ["spec_schema of greeter@1 refuses /spec/size: 'big' is not of type 'integer'"],
        ),
        ('{"size": 1}', '{"n": "x"}', ["status_schema of greeter@1 refuses /status/n: 'x' is not of type 'integer'"]),
        ('{"size": 1}', '{"n": 1}', []),
    ],
)
def test_what_the_schemas_of_the_kind_file_refuse_is_a_warning(program, tmp_path, spec, answer, warnings):
    kind_file = {
        "kind": "greeter",
        "kind_version": 1,
        "spec_schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
    }
    (tmp_path / "greeter.kind.json").write_text(json.dumps(kind_file))

    done = call("--spec", spec, program(f"echo '{{\"status\": {answer}}}'"))

    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"Warning: {told}" for told in warnings]


def test_a_schema_that_refers_to_itself_without_end_judges_nothing(program, tmp_path):
    reactions = [{"name": "work", "trigger": "specChange", "emits": ["status"]}]
    kind_file = {"kind": "greeter", "kind_version": 1, "spec_schema": {"$ref": "#"}, "reactions": reactions}
    (tmp_path / "greeter.kind.json").write_text(json.dumps(kind_file))

    done = call("--spec", "{}", program("echo '{}'"))

    assert (done.returncode, done.stderr) == (0, "")


def test_more_tasks_than_anybody_waits_for_are_refused(program):
    done = call("--repeat", "99999999999999999999", program("echo '{}'"))

    assert done.returncode == 2
    assert "is not a whole number from 1 to 1000000" in done.stderr


def test_a_program_on_path_is_found_by_its_bare_name_and_so_is_its_kind_file(program, tmp_path):
    kind_file = {"kind": "greeter", "kind_version": 3, "reactions": []}
    (tmp_path / "greeter@3.kind.json").write_text(json.dumps(kind_file))
    program(ECHO, "stdworker-kind-greeter@3")
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    status, found = told("stdworker-kind-greeter@3", env=environment)

    assert status == 0
    assert found["outcome"]["status"]["kind_version"] == 3


def test_a_kind_file_seals_what_an_override_may_not_touch(program, tmp_path):
    kind_file = {"kind": "greeter", "kind_version": 1, "reactions": []}
    (tmp_path / "greeter.kind.json").write_text(json.dumps(kind_file))
    (tmp_path / "override.json").write_text('{"env": {"A": "1"}}')

    status, found = told("--override", tmp_path / "override.json", program(ECHO))

    assert status == 2
    assert "'env'" in found["error"]["message"]


def test_a_malformed_kind_file_is_one_clear_line(program, tmp_path):
    (tmp_path / "greeter.kind.yaml").write_text("kind: greeter\n")

    done = call(program(ECHO))

    assert done.returncode == 1
    assert "kind_version, reactions must be given" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_program_that_wants_no_work_is_called_all_the_same(program):
    body = """echo '{"ready":false,"reason":"no license"}'; while read -r request; do echo '{"status":1}'; done"""

    status, found = told("--mode", "stream", program(body))

    assert (status, found["outcome"]) == (0, {"status": 1})


def test_repeated_tasks_share_one_process_in_stream_mode(program):
    done = call("--mode", "stream", "--repeat", "3", "--output", "json", program(STREAM))

    found = [json.loads(line)["outcome"]["status"]["pid"] for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert len(found) == 3
    assert len(set(found)) == 1


def test_repeated_tasks_in_oneshot_mode_have_a_process_each_and_the_worst_counts(program, tmp_path):
    body = f"""echo x >> {tmp_path}/count; (( $(wc -l < {tmp_path}/count) != 2 )) || exit 1"""

    done = call("--repeat", "3", "--output", "json", program(body))

    assert [json.loads(line)["result"] for line in done.stdout.splitlines()] == ["success", "transient", "success"]
    assert done.returncode == 1


def test_text_is_for_people(program):
    done = call(program("""echo '{"status":{"url":"x"}}'"""))
    failed = call(program("echo 'no such region' >&2; exit 2"))

    first, second = done.stdout.splitlines()
    assert first.startswith("success in ")
    assert second == '  status: {"url":"x"}'
    assert failed.stdout.startswith("terminal in ")
    assert "no such region" in failed.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_program_with_all_its_children(program, tmp_path, number):
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    path = program(f"sleep 1000 & echo $! > {ready}; wait")
    process = subprocess.Popen(
        [str(BIN / "stdworker"), "call", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    child = int(ready.read_text())

    process.send_signal(number)
    output, _ = process.communicate(timeout=HANG_SECONDS)

    assert process.returncode == 128 + number
    assert "Traceback" not in output
    assert not is_running(child)


def test_what_stderr_said_last_is_in_the_first_line_of_a_failure(program):
    _, found = told(program("echo connecting >&2; echo 'no such region' >&2; exit 1"))

    first, _, tail = found["error"]["message"].partition("\n")
    assert first == "the program failed: exit status 1: no such region"
    assert tail == "stderr:\nconnecting\nno such region"


def test_text_does_not_repeat_the_stderr_that_the_log_showed(program):
    body = "echo connecting >&2; echo 'no such region' >&2; exit 1"
    loud = call(program(body))
    quiet = call(program(body), env=os.environ | {"LOG_LEVEL": "error"})

    assert "connecting" in loud.stderr
    assert "connecting" not in loud.stdout
    assert "connecting" in quiet.stdout


def test_a_misspelt_option_after_the_program_is_warned_of_and_handed_on(program):
    done = call("--output", "json", program(ECHO), "--spce", "{}", "--verbose")

    assert "--spce goes to the program; did you mean --spec?" in done.stderr
    assert "--verbose" not in done.stderr
    assert json.loads(done.stdout)["outcome"]["status"]["args"] == ["--spce", "{}", "--verbose"]


def test_two_dashes_say_that_an_option_is_the_programs(program):
    assert "did you mean" not in call("--", program(ECHO), "--spce", "{}").stderr


def test_a_program_in_this_folder_that_is_not_on_path_is_suggested(program, tmp_path):
    program(ECHO)

    status, found = told("greeter", cwd=tmp_path)

    assert status == 2
    assert "did you mean ./greeter?" in found["error"]["message"]


@pytest.mark.parametrize("name", ["a b", "", "-a", "a/b", "x" * 254])
def test_a_name_that_no_resource_can_have_is_a_usage_error(program, name):
    done = call(f"--name={name}", program(ECHO))

    assert done.returncode == 2
    assert "--name" in done.stderr


def test_repeated_tasks_end_with_a_line_that_sums_them_up(program, tmp_path):
    body = f"""echo x >> {tmp_path}/count; (( $(wc -l < {tmp_path}/count) != 2 )) || exit 2"""

    done = call("--repeat", "3", program(body))

    assert done.stdout.splitlines()[-1].startswith("3 tasks: 2 success, 1 terminal; ")


def test_a_delete_names_the_finalizer_of_the_kind_file(program, tmp_path):
    reaction = {"name": "teardown", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "greeter/gone"}
    (tmp_path / "greeter.kind.json").write_text(
        json.dumps({"kind": "greeter", "kind_version": 1, "reactions": [reaction]})
    )

    request = request_of("--reaction", "teardown", program(ECHO))

    assert (request["trigger"], request["finalizer"]) == ("deleteRequested", "greeter/gone")


def test_a_reactor_is_told_which_edge_fired(program):
    request = request_of("--reaction", "react", program(ECHO))

    assert request["transition"] == "synced"
    assert request["dedup_token"]
    assert request["resource"]["name"] == "call"


def test_a_program_named_as_a_kind_is_called_as_that_kind(program):
    request = request_of(program(ECHO, "stdworker-kind-leaf@4"))

    assert (request["kind"], request["kind_version"]) == ("leaf", 4)


@pytest.fixture
def listener(tmp_path):
    """Serves a Unix socket: each line that comes in is answered with the status 1, under its id."""
    path = tmp_path / "program.sock"

    class Answer(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                self.wfile.write(json.dumps({"id": json.loads(line)["id"], "status": 1}).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(str(path), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_what_listens_at_a_socket_is_asked_and_no_program_is_started(listener, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"socket": f"unix:{listener}"}))
    options = ["--mode", "socket", "--config", tmp_path / "config.json"]

    status, found = told(*options, "--kind", "greeter")
    _, named = told(*options, tmp_path / "not-there")

    assert (status, found["outcome"], found["exit"]) == (0, {"status": 1}, None)
    assert named["outcome"] == {"status": 1}


def test_only_a_socket_goes_without_a_program(tmp_path):
    assert "Missing argument PROGRAM" in call("--spec", "{}").stderr
    assert "--kind is needed" in call("--mode", "socket").stderr


def test_a_log_line_about_a_death_is_one_line_and_says_why(program):
    done = call("--mode", "stream", program("read -r r; echo first >&2; echo 'no such region' >&2; exit 1"))

    (told,) = [line for line in done.stderr.splitlines() if "the program ended" in line]
    assert "exit status 1: no such region; next start " in told
    assert "stderr:" not in done.stdout + done.stderr


def test_a_failure_that_quotes_stderr_is_indented_and_says_the_exit_once(program):
    body = "echo first >&2; echo 'no such region' >&2; exit 1"

    done = call(program(body), env=os.environ | {"LOG_LEVEL": "error"})

    assert done.stdout.splitlines()[1:] == [
        "  error (ExitTransient): the program failed: exit status 1: no such region",
        "    stderr:",
        "    first",
        "    no such region",
    ]
