"""`conctl apply --program`: what a program declares is applied."""

import json
import subprocess
import sys

import pytest

from stdworker.cli.conctl.items import program_items
from stdworker.errors import ConfigError

MANIFEST = {
    "kind": "spoken",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}


@pytest.fixture
def program(tmp_path):
    """Write a program that answers this to whatever it is asked."""

    def write(answer, *, name="spoken", mode=0o755):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\nread -r request\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
        path.chmod(mode)
        return path

    return write


def config_of(path):
    _, config = program_items(path)
    return json.loads(config.members["spec"])


def test_a_program_that_describes_itself_becomes_a_kind_with_a_config_whose_command_it_is(conctl, program):
    path = program({"describe": MANIFEST | {"default_config": {"settings": {"n": 2**70}}}})

    done = conctl("apply", "--program", str(path))

    assert done.stdout == "kind spoken@1 published\nproviderconfig spoken created\n"
    stored = json.loads(conctl("get", "pc", "spoken", "-o", "json").stdout)
    assert (stored["kind"], stored["kind_version"], stored["is_default"]) == ("spoken", 1, True)
    assert (stored["spec"]["command"], stored["spec"]["settings"]) == (str(path), {"n": 2**70})
    assert "unchanged" in conctl("apply", "--program", str(path)).stdout


def test_the_kind_file_beside_a_program_is_used_and_the_program_is_not_asked(program):
    path = program("never", name="spoken.sh")
    (path.parent / "spoken.kind.json").write_text(json.dumps(MANIFEST | {"default_config": {"mode": "stream"}}))

    assert config_of(path)["mode"] == "stream"
    assert config_of(path)["command"] == str(path)


def test_a_relative_program_is_stored_by_its_whole_path(program, monkeypatch):
    path = program({"describe": MANIFEST})
    monkeypatch.chdir(path.parent)

    assert config_of(path.relative_to(path.parent))["command"] == str(path)


def test_no_resource_may_change_how_the_program_is_run(program):
    config = config_of(program({"describe": MANIFEST}))
    assert {"command", "args", "env", "cwd", "mode"} <= set(config["sealed"])
    assert not {"settings", "timeout_seconds"} & set(config["sealed"])


def test_a_program_may_say_itself_what_is_sealed_but_never_open_its_command(program):
    config = config_of(program({"describe": MANIFEST | {"default_config": {"sealed": ["args"]}}}))
    assert config["sealed"] == ["args", "command"]


def test_a_dry_run_says_what_would_be_applied(conctl, program):
    path = program({"describe": MANIFEST | {"kind": "dry"}})

    done = conctl("apply", "--dry-run", "--program", str(path))

    assert done.stdout == "kind dry@1 would be published\nproviderconfig dry would be created\n"
    assert conctl("get", "pc", "dry").exit_code == 1


def test_files_and_programs_go_together_in_the_order_in_which_they_need_each_other(conctl, program, tmp_path):
    path = program({"describe": MANIFEST | {"kind": "mixed"}})
    (tmp_path / "resource.yaml").write_text("{kind: mixed, kind_version: 1, name: one, spec: {}}")

    done = conctl("apply", "-f", str(tmp_path / "resource.yaml"), "--program", str(path))

    assert [line.split()[0] for line in done.stdout.splitlines()] == ["kind", "providerconfig", "resource"]


def test_a_program_that_does_not_describe_itself_is_refused_with_what_to_write(conctl, program):
    path = program({"status": {}}, name="stdworker-kind-mute@2")

    done = conctl("apply", "--program", str(path))

    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: nothing declares the kind of {path}: there is no kind file beside it, and asked to describe itself:"
        ' its answer has no "describe" (write mute@2.kind.yaml beside it, with kind, kind_version and reactions; or'
        ' have it answer {"describe": {…the same…}} when the reaction is "describe")\n'
    )


@pytest.mark.parametrize(
    ("described", "complaint"),
    [
        ({"kind_version": 0}, "/kind_version"),
        ({"default_config": {"timout_seconds": 1}}, "/default_config: unknown key 'timout_seconds' (did you mean"),
        (
            {"default_config": {"timeout_seconds": "5s"}},
            "/default_config/timeout_seconds: expected seconds as a number",
        ),
    ],
)
def test_a_mistake_in_a_description_is_told_with_its_place(program, described, complaint):
    path = program({"describe": MANIFEST | described})

    with pytest.raises(ConfigError) as refused:
        program_items(path)

    assert complaint in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_name_on_path_and_the_description_must_agree(program):
    path = program({"describe": MANIFEST}, name="stdworker-kind-other")

    with pytest.raises(ConfigError, match="describes spoken@1, its name says other@1"):
        program_items(path)


def test_another_version_has_a_default_config_of_its_own(program):
    path = program({"describe": MANIFEST | {"kind_version": 2}}, name="stdworker-kind-spoken@2")

    assert [item.name for item in program_items(path)] == ["spoken@2", "spoken.v2"]


def test_a_name_that_can_be_no_kind_is_compared_as_the_program_is_asked_under(program):
    kind, _ = program_items(program({"describe": MANIFEST}, name="stdworker-kind-Spoken"))

    assert kind.name == "spoken@1"


@pytest.mark.parametrize(
    ("name", "told"), [("plain.txt", "is not executable"), ("nowhere", "there is no file"), (".", "there is no file")]
)
def test_what_is_no_executable_is_refused(program, tmp_path, name, told):
    program({}, name="plain.txt", mode=0o644)

    with pytest.raises(ConfigError, match=told):
        program_items(tmp_path / name)


def test_conctl_does_not_load_the_bridge_before_it_needs_it():
    code = "import sys, stdworker.cli.conctl.commands as c; print('stdworker.bridge' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
