"""`stdworker dev FOLDER`: an engine and a worker for one folder, reloaded when a file changes."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
KIND = """kind: greeter
kind_version: 1
reactions: [{ name: work, trigger: specChange, emits: [status] }]
default_config: { settings: { word: %s } }
"""
PROGRAM = """#!/usr/bin/env bash
jq -c '{status: {text: "\\(.config.word) \\(.spec.name)"}}'
"""
SPEAKER = """#!/usr/bin/env bash
manifest='{"kind": "speaker", "kind_version": 1,
  "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
  "default_config": {"settings": {"word": "WORD"}}}'
jq -c --argjson manifest "$manifest" '
  if .reaction == "describe" then {describe: $manifest}
  else {status: {text: "\\(.config.word) \\(.spec.name)"}} end'
"""
RESOURCE = """kind: greeter
kind_version: 1
name: ada
spec: { name: %s }
"""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]


def descendants(pid):
    """Every process that comes from `pid`, through any number of sessions."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = {pid}
    while grown := {child for child, parent in parents.items() if parent in found} - found:
        found |= grown
    return found - {pid}


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def folder(tmp_path):
    greeter = tmp_path / "greeter"
    greeter.write_text(PROGRAM)
    greeter.chmod(0o755)
    (tmp_path / "greeter.kind.yaml").write_text(KIND % "Hello")
    (tmp_path / "ada.yaml").write_text(RESOURCE % "Ada")
    return tmp_path


@pytest.fixture
def dev(watch):
    started = []

    def start(folder, *options):
        names = ("LISTEN_ADDR", "BROKER_ADDR_LISTEN", "HEALTH_ADDR")
        variables = os.environ | dict.fromkeys(names, "127.0.0.1:0")
        command = (BIN / "stdworker", "dev", folder, *options)
        started.append(watch(*command, env=variables, start_new_session=True))
        return started[-1]

    yield start
    for session in started:
        if session.process.poll() is None:
            left = descendants(session.process.pid)
            session.process.kill()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def status(session, kind="greeter"):
    server = session.said(r"engine (http://\S+)")[1]
    found = httpx.get(f"{server}/api/v1/resources/{kind}/ada").raise_for_status().json()
    return found["status"]


@pytest.fixture
def wait_until_status(eventually):
    """The engine tells when it is settled; that it is about the newest edit, only the status tells."""

    def wait(session, text, *, member="text", kind="greeter"):
        eventually(lambda: status(session, kind) == {member: text})

    return wait


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_folder_converges_and_a_signal_leaves_nothing_running(dev, folder, number):
    session = dev(folder)
    session.said(r"greeter/ada: Ready")
    started = descendants(session.process.pid)

    ended = session.stop(number)

    assert len(started) >= 2
    assert not [pid for pid in started if running(pid)]
    assert ended == 0
    assert "Traceback" not in session.output
    assert re.search(r"docs http://\S+/docs", session.output)


def test_a_second_interrupt_does_not_wait_for_running_tasks(dev, folder, eventually):
    """The drain alone would take half a minute."""
    (folder / "greeter").write_text("#!/usr/bin/env bash\nsleep 1000\n")
    session = dev(folder)
    session.said(r"greeter/ada: Reconciling")
    started = descendants(session.process.pid)

    session.signal(signal.SIGINT)
    session.said(r"stopping; Ctrl-C again")
    session.signal(signal.SIGINT)
    ended = session.stop(signal.SIGINT)

    assert ended == 0
    assert "Traceback" not in session.output
    eventually(lambda: not any(map(running, started)))  # the worker's guardian is still at it


def test_an_edited_resource_and_an_edited_config_are_applied(dev, folder, wait_until_status):
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "ada.yaml").write_text(RESOURCE % "Grace")
    wait_until_status(session, "Hello Grace")
    (folder / "greeter.kind.yaml").write_text(KIND % "Good-day")
    wait_until_status(session, "Good-day Grace")

    assert session.stop(signal.SIGINT) == 0


def test_a_folder_without_a_kind_is_told_how_to_get_one_and_a_later_kind_is_served(dev, folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    session = dev(empty)
    session.said(rf"{empty} holds no kind yet: stdworker new LANGUAGE NAME makes one")

    for file in folder.iterdir():
        shutil.copy(file, empty)

    session.said(r"greeter/ada: Ready")
    assert session.stop(signal.SIGINT) == 0


def test_a_new_kind_is_served(dev, folder):
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "second").write_text(PROGRAM)
    (folder / "second").chmod(0o755)
    (folder / "second.kind.yaml").write_text((KIND % "Hi").replace("greeter", "second"))
    (folder / "grace.yaml").write_text((RESOURCE % "Grace").replace("greeter", "second"))

    session.said(r"second/ada: Ready")
    assert session.stop(signal.SIGINT) == 0


def test_an_edited_program_runs_again(dev, folder, wait_until_status):
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "greeter").write_text(PROGRAM.replace("text", "words"))

    wait_until_status(session, "Hello Ada", member="words")
    assert session.stop(signal.SIGINT) == 0


def test_a_program_that_comes_after_its_kind_file_is_served(dev, folder):
    (folder / "greeter").chmod(0o644)
    session = dev(folder)
    session.said(r"greeter is not an executable file")

    (folder / "greeter").chmod(0o755)

    session.said(r"greeter/ada: Ready")
    assert session.stop(signal.SIGINT) == 0


def test_files_that_are_no_documents_of_ours_are_told_once_and_hinder_nothing(dev, folder, wait_until_status):
    (folder / "package.json").write_text('{"name": "x", "version": "1"}')
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "package.json").write_text("{")
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "ada.yaml").write_text(RESOURCE % "Grace")
    wait_until_status(session, "Hello Grace")

    assert session.stop(signal.SIGINT) == 0
    assert session.output.count("not applied") == 1
    assert re.search(r"not applied: .*package\.json:1", session.output)


def test_a_mistake_in_a_file_is_told_and_the_next_edit_is_applied(dev, folder, wait_until_status):
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "ada.yaml").write_text("kind: greeter\nname: [")
    session.said(r"not applied: .*ada\.yaml:\d+")
    (folder / "ada.yaml").write_text(RESOURCE % "Grace")

    wait_until_status(session, "Hello Grace")
    assert session.stop(signal.SIGINT) == 0


def test_a_kind_file_may_break_what_it_declared_before_and_dev_says_so(dev, folder):
    schema = "spec_schema: { type: object, properties: { name: { type: string%s } } }\n"
    (folder / "greeter.kind.yaml").write_text(KIND % "Hello" + schema % "")
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "greeter.kind.yaml").write_text(KIND % "Hello" + schema % ", maxLength: 9")

    session.said(r"kind greeter@1 published by force: [^\n]*\n.*/spec_schema/properties/name/maxLength")
    assert session.stop(signal.SIGINT) == 0


def test_a_program_that_describes_itself_needs_no_kind_file(dev, tmp_path, wait_until_status):
    program = tmp_path / "speaker.sh"
    program.write_text(SPEAKER.replace("WORD", "Hello"))
    program.chmod(0o755)
    (tmp_path / "ada.yaml").write_text((RESOURCE % "Ada").replace("greeter", "speaker"))
    session = dev(tmp_path)
    session.said(r"kind speaker@1 published\nproviderconfig speaker created")
    session.said(r"speaker/ada: Ready")
    assert status(session, kind="speaker") == {"text": "Hello Ada"}

    program.write_text(SPEAKER.replace("WORD", "Good-day"))

    wait_until_status(session, "Good-day Ada", kind="speaker")
    assert session.stop(signal.SIGINT) == 0


def test_a_program_on_path_may_describe_itself_too(dev, tmp_path):
    program = tmp_path / "stdworker-kind-speaker"
    program.write_text(SPEAKER.replace("WORD", "Hello"))
    program.chmod(0o755)
    (tmp_path / "ada.yaml").write_text((RESOURCE % "Ada").replace("greeter", "speaker"))
    session = dev(tmp_path)

    session.said(r"speaker/ada: Ready")

    assert status(session, kind="speaker") == {"text": "Hello Ada"}
    assert session.stop(signal.SIGINT) == 0


def test_a_program_that_nothing_declares_runs_only_if_it_may_describe_itself_and_then_its_silence_is_told(
    dev, folder, wait_until_status
):
    """A folder has scripts that must not run by themselves, `kubectl describe` in them or not."""
    for name, words in (("deploy", "describe"), ("mute", "describe reactions")):
        (folder / name).write_text(f"#!/bin/sh\ntouch {folder}/{name}-ran # {words}\n")
        (folder / name).chmod(0o755)
    session = dev(folder)
    session.said(r"greeter/ada: Ready")

    (folder / "ada.yaml").write_text(RESOURCE % "Grace")
    wait_until_status(session, "Hello Grace")

    assert session.stop(signal.SIGINT) == 0
    assert not (folder / "deploy-ran").exists()
    assert (folder / "mute-ran").exists()
    assert session.output.count(f"not applied: nothing declares the kind of {folder}/mute") == 1


def test_nothing_outlives_a_session_that_was_killed(dev, folder, eventually):
    (folder / "greeter").write_text("#!/usr/bin/env bash\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    session = dev(folder)
    session.said(r"greeter/ada: Reconciling")
    started = descendants(session.process.pid)

    session.stop(signal.SIGKILL)

    assert len(started) >= 2
    eventually(lambda: not any(map(running, started)))  # nobody is left to tell us


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path):
    done = subprocess.run(
        [str(BIN / "stdworker"), "dev", str(tmp_path / "nowhere")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "nowhere" in done.stderr


def test_the_state_is_kept_in_a_file_if_asked(dev, folder, tmp_path_factory):
    database = tmp_path_factory.mktemp("state") / "kept.db"
    first = dev(folder, "--database", str(database))
    first.said(r"resource greeter/ada created")
    first.said(r"greeter/ada: Ready")
    assert first.stop(signal.SIGINT) == 0

    second = dev(folder, "--database", str(database))

    second.said(r"resource greeter/ada unchanged")
    assert second.stop(signal.SIGINT) == 0


def test_an_engine_that_cannot_start_is_an_error_and_leaves_nothing(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [str(BIN / "stdworker"), "dev", str(folder)],
            env=os.environ | {"LISTEN_ADDR": address, "BROKER_ADDR_LISTEN": "127.0.0.1:0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )

    assert done.returncode == 1
    assert f"LISTEN_ADDR is '{address}'; expected an address that is free" in done.stderr
    assert done.stderr.splitlines()[-1] == "Error: the engine did not start; it says why above"
