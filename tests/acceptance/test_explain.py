"""`stdworker explain` as it is installed: of a program with files, of a kind on a path, of a resource of an engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 60
GREETER = {"kind": "greeter", "kind_version": 1}
KIND_FILE = {
    "kind": "greeter",
    "kind_version": 2,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
    "default_config": {"settings": {"region": "eu", "token": "s3cr3t-value"}},
}


def run(*command, cwd=None, **variables):
    return subprocess.run(
        [str(BIN / command[0]), *map(str, command[1:])],
        env=os.environ | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


def explain(*arguments, **options):
    return run("stdworker", "explain", *arguments, **options)


def leaves(done):
    assert done.stdout, done.stderr
    return {leaf["path"]: (leaf["value"], leaf["layer"]) for leaf in json.loads(done.stdout)["leaves"]}


@pytest.fixture
def folder(tmp_path):
    """A program that is a kind, its kind file, a default and an override."""
    program = tmp_path / "stdworker-kind-greeter@2"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "greeter@2.kind.json").write_text(json.dumps(KIND_FILE))
    (tmp_path / "default.yaml").write_text("settings: {region: us}\ntimeout_seconds: 30\n")
    (tmp_path / "override.toml").write_text("timeout_seconds = 60\n")
    return tmp_path


FILES = ("--config", "default.yaml", "--override", "override.toml")


def test_people_see_where_each_layer_comes_from_and_a_line_for_each_leaf(folder):
    done = explain(*FILES, "./stdworker-kind-greeter@2", cwd=folder)

    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == f"greeter@2, program {folder}/stdworker-kind-greeter@2"
    assert f"kind file: {folder}/greeter@2.kind.json:1" in lines
    assert '/settings/region "us" default "eu" (kind file)' in lines
    assert "/timeout_seconds 60 override 30 (default)" in lines
    assert 'The program gets as config: {"region":"us","token":"***"}' in lines
    assert "s3cr3t" not in done.stdout


def test_machines_see_the_same(folder):
    done = explain(*FILES, "--output", "json", "./stdworker-kind-greeter@2", cwd=folder)

    found = leaves(done)
    assert found["/settings/token"] == ("***", "kind file")
    assert found["/timeout_seconds"] == (60, "override")
    assert found["/mode"] == ("oneshot", "built-in default")


def test_a_kind_is_found_where_a_worker_would_find_it(folder):
    done = explain("--kind", "greeter@2", "--output", "json", STDWORKER_KINDS_PATH=str(folder))

    assert json.loads(done.stdout)["program"] == f"{folder}/stdworker-kind-greeter@2"
    assert leaves(done)["/settings/region"] == ("eu", "kind file")


def test_a_kind_that_describes_itself_is_explained_by_its_description(folder):
    (folder / "greeter@2.kind.json").unlink()
    told = json.dumps({"describe": KIND_FILE})
    (folder / "stdworker-kind-greeter@2").write_text(f"#!/bin/sh\ncat <<'END'\n{told}\nEND\n")

    done = explain("--kind", "greeter@2", "--output", "json", STDWORKER_KINDS_PATH=str(folder))

    assert leaves(done)["/settings/region"] == ("eu", "kind file")
    assert "describe" in json.loads(done.stdout)["layers"][0]["where"]


def test_a_config_that_is_not_legal_is_exit_status_1_and_every_mistake_is_named(folder):
    (folder / "override.toml").write_text("timeout = 60\n[env]\nA = 1\n")

    done = explain(*FILES, "./stdworker-kind-greeter@2", cwd=folder)

    assert done.returncode == 1
    problems = [line for line in done.stdout.splitlines() if line.startswith("Problem in the override: ")]
    assert len(problems) == 3
    assert "unknown key 'timeout'" in problems[0]
    assert "/env/A" in problems[1]
    assert "'env', which the kind's config seals" in problems[2]


def test_a_program_that_is_not_there_is_a_problem(folder):
    done = explain("./gone", cwd=folder)

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"Problem: /command: no program '{folder}/gone'")


def test_a_program_behind_a_socket_need_not_be_here(folder):
    (folder / "socket.json").write_text('{"mode": "socket", "socket": "unix:/run/greeter.sock"}')

    assert explain("--config", "socket.json", "./gone", cwd=folder).returncode == 0


def test_a_resource_is_explained_by_what_the_engine_holds(serve, tmp_path):
    server = serve()
    (tmp_path / "all.json").write_text(
        "\n".join(
            json.dumps(document)
            for document in (
                KIND_FILE | GREETER,
                {
                    "type": "providerconfig",
                    "name": "slow",
                    "kind": "greeter",
                    "kind_version": 1,
                    "spec": {"timeout_seconds": 90, "settings": {"n": 2**64}},
                },
                {"kind": "greeter", "kind_version": 1, "name": "ada", "spec": {}, "provider_config_ref": "slow"},
            )
        )
    )
    applied = run("conctl", "apply", "-f", tmp_path / "all.json", CONVERGE_SERVER=server.rest)
    assert applied.returncode == 0, applied.stderr

    done = explain("greeter/ada", "--output", "json", CONVERGE_SERVER=server.rest)

    assert done.returncode == 0, done.stderr
    found = leaves(done)
    assert found["/settings/region"] == ("eu", "default")
    assert found["/settings/token"] == ("***", "default")
    assert found["/timeout_seconds"] == (90, "override")
    assert found["/settings/n"] == (2**64, "override")
    assert {layer["layer"] for layer in json.loads(done.stdout)["layers"]} == {"default", "override"}


def test_an_engine_that_is_not_there_and_a_resource_that_is_not_are_one_clear_sentence(serve):
    server = serve()

    away = explain("greeter/ada", "--server", "http://127.0.0.1:1")
    unknown = explain("greeter/nobody", "--server", server.rest)

    assert (away.returncode, unknown.returncode) == (1, 1)
    assert "no engine answers at http://127.0.0.1:1" in away.stderr
    assert "greeter/nobody" in unknown.stderr
    assert "Traceback" not in away.stderr + unknown.stderr


def test_files_do_not_go_with_a_resource():
    done = explain("greeter/ada", "--config", "default.yaml")

    assert done.returncode == 2
    assert "--config" in done.stderr


def test_a_kind_that_no_program_here_serves_is_a_usage_error():
    done = explain("--kind", "ghost@3")

    assert done.returncode == 2
    assert "serves ghost@3" in done.stderr


def test_configs_alone_are_explained_without_a_program(folder):
    done = explain(*FILES, "--output", "json", cwd=folder)

    assert done.returncode == 0, done.stdout
    assert leaves(done)["/timeout_seconds"] == (60, "override")
    assert json.loads(done.stdout)["program"] is None
