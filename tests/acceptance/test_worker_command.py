"""`stdworker` as it is installed: settings, plugins, signals, and a real engine behind it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import stdworker

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
PLUGIN = """
import os, threading, time
from stdworker import KindVersion, Outcome, hookimpl

class Marker:
    kind = KindVersion("marker")
    def work(self, request):
        if "wait" in request.resource.spec:
            print("MARK working", flush=True)
            open(request.resource.spec["wait"]).read()
        return Outcome(status={"done": True})
    def on_config(self, config):
        pass
    def ready(self):
        return True

@hookimpl
def stdworker_providers(settings):
    return [Marker()]

@hookimpl
def stdworker_kinds():
    work = {"name": "work", "trigger": "specChange", "emits": ["status"]}
    return [{"kind": "marker", "kind_version": 1, "reactions": [work]}]

@hookimpl
def stdworker_commands(cli):
    import click
    @cli.command()
    def mark():
        "Say that the plugin is here."
        click.echo("marked")
    @cli.command()
    def version():
        "Not ours to change."
        click.echo("another")
"""


@pytest.fixture
def environment(tmp_path):
    """An environment that has one plugin more, a real distribution on the path."""
    site = tmp_path / "site"
    metadata = site / "stdworker_plugin_mark-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "throwaway_mark.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stdworker-plugin-mark\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[stdworker]\nmark = throwaway_mark\n")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "STDWORKER_PLUGINS": "mark"}


def run(*arguments, **environment):
    return subprocess.run(
        [str(BIN / "stdworker"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


def test_it_says_its_version(environment):
    assert run("version", **environment).stdout == f"{stdworker.__version__}\n"


@pytest.mark.parametrize("command", [(), ("run",)])
def test_without_a_command_it_runs_and_without_a_broker_that_is_one_clear_line(environment, command):
    done = run(*command, **environment)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("stdworker: BROKER_ADDR is not set; expected http://host:port")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BROKER_ADDR", "ftp://x"),
        ("WORKER_MAX_PARALLEL", "0"),
        ("WORKER_DRAIN_TIMEOUT", "5"),
        ("WORKER_KINDS", "nothing-serves-this"),
        ("HEALTH_ADDR", "8081"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", ""),
        ("STDIO_KINDS", "A"),
        ("STDWORKER_PLUGINS", "nowhere"),
        ("STDWORKER_PLUGINS_STRICT", "maybe"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_clear_line(environment, variable, value):
    done = run("run", **{**environment, "BROKER_ADDR": "http://127.0.0.1:9", variable: value})

    assert done.returncode == 2
    assert done.stderr.startswith(f"stdworker: {variable} is {value!r}; expected ")
    assert done.stderr.count("\n") == 1


def test_an_option_wins_over_its_variable(environment):
    done = run("run", "--worker-max-parallel", "-1", **environment, WORKER_MAX_PARALLEL="5", BROKER_ADDR="http://a:1")

    assert "WORKER_MAX_PARALLEL is '-1'" in done.stderr


def test_help_shows_our_commands_and_those_of_plugins(environment):
    shown = run("--help", **environment).stdout

    for command in ("call", "dev", "kinds", "plugins", "run", "version", "mark"):
        assert f"\n  {command} " in shown


def test_help_needs_no_setting_to_be_right(environment):
    assert run("--help", **environment, LOG_LEVEL="loud").returncode == 0


def test_a_command_that_is_not_there_is_a_usage_error(environment):
    done = run("nowhere", **environment)

    assert done.returncode == 2
    assert "No such command 'nowhere'" in done.stderr


def test_a_command_of_a_plugin_runs_and_ours_stay_ours(environment):
    assert run("mark", **environment).stdout == "marked\n"
    assert run("mark", **environment).returncode == 0
    assert "another" not in run("version", **environment).stdout


def test_plugins_are_shown_as_a_table(environment):
    done = run("plugins", **environment)

    heading, row = done.stdout.splitlines()
    assert heading.split() == ["PLUGIN", "DISTRIBUTION", "VERSION", "SERVES", "MODE", "FROM", "DECLARED", "BY"]
    assert row.split() == ["mark", "stdworker-plugin-mark", "1.0", "marker@1", "-", "-", "-"]
    assert done.returncode == 0


def test_programs_are_shown_with_mode_and_declaration_and_what_they_hide_and_what_is_wrong(environment, tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "stdworker-kind-greeter"
        program.write_text("#!/bin/sh\ncat\n")
        program.chmod(0o755)
    kind_file = tmp_path / "first" / "greeter.kind.yaml"
    kind_file.write_text(
        "{kind: greeter, kind_version: 1, reactions: [{name: work, trigger: specChange, emits: []}],"
        " default_config: {mode: stream}}"
    )
    (tmp_path / "first" / "bad.kind.yaml").write_text("{}")
    folders = os.pathsep.join(str(tmp_path / folder) for folder in ("first", "second", "third"))
    environment |= {"STDWORKER_PLUGINS": "stdio", "STDIO_KINDS": "leaf", "STDWORKER_KINDS_PATH": folders}

    table = run("plugins", **environment)
    told = run("plugins", "--output", "json", **environment)

    [plugin] = json.loads(told.stdout)
    program, hidden = (str(tmp_path / folder / "stdworker-kind-greeter") for folder in ("first", "second"))
    assert plugin["kinds"][1] == {
        "kind": "greeter",
        "kind_version": 1,
        "mode": "stream",
        "from": program,
        "declared_by": str(kind_file),
        "shadows": [hidden],
    }
    messages = [error["message"] for error in plugin["errors"]]
    assert len(messages) == 2
    for message in messages:
        assert message in table.stdout
    assert f"{tmp_path}/third, which is not a folder" in messages[0]
    assert "bad.kind.yaml" in messages[1]
    assert f"greeter@1: {hidden} is not used, {program} comes first" in table.stdout
    assert re.search(rf"greeter@1 +stream +{program} +{kind_file}$", table.stdout, re.MULTILINE)
    assert (table.returncode, table.stderr, told.stderr) == (0, "", "")


def test_a_kind_of_the_settings_that_is_a_program_on_path_too_is_refused_naming_both(environment, tmp_path):
    program = tmp_path / "stdworker-kind-greeter"
    program.write_text("#!/bin/sh\ncat\n")
    program.chmod(0o755)
    environment |= {"STDWORKER_PLUGINS": "stdio", "STDIO_KINDS": "greeter", "STDWORKER_KINDS_PATH": str(tmp_path)}

    for command in ("run", "plugins"):
        done = run(command, **environment, BROKER_ADDR="http://127.0.0.1:9")

        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith("stdworker: greeter@1 is served twice: by plugin stdio (")
        assert f", STDIO_KINDS and by plugin stdio (stdworker {stdworker.__version__}), {program}" in last


def test_kinds_says_what_it_could_not_print(environment, tmp_path):
    (tmp_path / "bad.kind.yaml").write_text("{}")

    done = run("kinds", **environment | {"STDWORKER_PLUGINS": "stdio", "STDWORKER_KINDS_PATH": str(tmp_path)})

    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["stdio", "stdio-composer"]
    assert "bad.kind.yaml" in done.stderr
    assert done.returncode == 1


def test_a_broken_plugin_is_shown_with_its_traceback(environment, tmp_path):
    (tmp_path / "site" / "throwaway_mark.py").write_text("import no_such_library")

    done = run("plugins", **environment)
    told = run("plugins", "--output", "json", **environment)

    assert done.returncode == told.returncode == 0
    assert "plugin mark (stdworker-plugin-mark 1.0) is broken: can't be loaded: ModuleNotFoundError" in done.stdout
    assert "Traceback" in done.stdout
    [error] = json.loads(told.stdout)[0]["errors"]
    assert error["message"] == "can't be loaded: ModuleNotFoundError: No module named 'no_such_library'"
    assert "Traceback" in error["traceback"]


def test_a_broken_plugin_is_fatal_only_if_asked(environment, tmp_path):
    (tmp_path / "site" / "throwaway_mark.py").write_text("import no_such_library")
    environment |= {"BROKER_ADDR": "http://127.0.0.1:9", "STDWORKER_PLUGINS_STRICT": "1"}

    done = run("run", **environment)

    assert done.returncode == 1
    assert "stdworker: plugin mark (stdworker-plugin-mark 1.0): can't be loaded" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def worker(environment, serve, watch):
    """Starts an engine and a worker that serves `marker` to it; answers (worker, REST client)."""
    started = []

    def start(**settings):
        engine = serve()
        running = watch(BIN / "stdworker", env=environment | {"BROKER_ADDR": engine.broker} | settings)
        started.append((running, httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)))
        manifest = json.loads(run("kinds", **environment).stdout)
        started[-1][1].put("/kinds/marker/manifest", json=manifest).raise_for_status()
        return started[-1]

    yield start
    for _, client in started:
        client.close()


def apply(client, **spec):
    body = {"kind": "marker", "kind_version": 1, "name": "one", "spec": spec}
    client.post("/resources", json=body).raise_for_status()


def wait_ready(client):
    client.get("/resources/marker/one/wait", params={"for": "ready", "timeout": "30s"}).raise_for_status()


@pytest.mark.slow
def test_a_plugins_kind_converges_and_a_signal_ends_the_worker_in_order(worker):
    running, client = worker()

    apply(client)
    wait_ready(client)
    running.signal(signal.SIGTERM)

    assert running.ended() == 0
    assert "Traceback" not in running.output


@pytest.mark.slow
def test_the_first_signal_lets_a_running_task_finish(worker, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    running, client = worker()
    apply(client, wait=str(gate))
    running.said("MARK working")

    running.signal(signal.SIGTERM)
    running.said("draining")
    gate.write_text("go")

    assert running.ended() == 0
    wait_ready(client)


@pytest.mark.slow
def test_a_terminal_that_is_closed_lets_a_running_task_finish_however_often_it_says_so(worker, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    running, client = worker()
    apply(client, wait=str(gate))
    running.said("MARK working")

    running.signal(signal.SIGHUP)
    running.said("draining")
    running.signal(signal.SIGHUP)
    gate.write_text("go")

    assert running.ended() == 0
    wait_ready(client)


@pytest.mark.slow
@pytest.mark.parametrize(("second", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_stops_at_once(worker, tmp_path, second, status):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    running, client = worker()
    apply(client, wait=str(gate))
    running.said("MARK working")

    running.signal(signal.SIGTERM)
    running.said("draining")
    running.signal(second)

    assert running.ended() == status


@pytest.mark.slow
def test_logs_can_be_json_lines(worker):
    running, client = worker(LOG_FORMAT="json")
    apply(client)
    wait_ready(client)
    running.signal(signal.SIGINT)

    assert running.ended() == 0
    lines = [json.loads(line) for line in running.output.splitlines()]
    assert {"time", "level", "logger", "message"} <= lines[0].keys()


@pytest.mark.slow
def test_metrics_tell_how_much_is_wrong_with_each_plugin(worker, environment, tmp_path):
    metadata = tmp_path / "site" / "stdworker_plugin_bad-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stdworker-plugin-bad\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[stdworker]\nbad = throwaway_nowhere\n")
    environment["STDWORKER_PLUGINS"] = "mark,bad"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    running, client = worker(HEALTH_ADDR=address)
    apply(client)
    wait_ready(client)

    metrics = httpx.get(f"http://{address}/metrics").text

    assert 'stdworker_plugin_errors{plugin="bad"} 1.0' in metrics
    assert 'stdworker_plugin_errors{plugin="mark"} 0.0' in metrics
    running.signal(signal.SIGTERM)
    assert running.ended() == 0
