"""Which programs of a folder are kinds, and how a worker and an engine learn of them."""

import json
from pathlib import Path

import pytest

from stdworker.cli.dev.programs import Programs
from stdworker.model.kind import KindVersion
from stdworker.model.settings import WorkerSettings

MANIFEST = {"kind": "greeter", "kind_version": 1, "reactions": [{"name": "work", "trigger": "specChange", "emits": []}]}


@pytest.fixture
def program(tmp_path):
    """Write an executable that answers this, whatever it is asked."""

    def write(name, answer):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nread -r request\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
        path.chmod(0o755)
        return path

    return write


def declared(programs):
    return [(item.type, item.name) for item in programs.items]


def test_a_program_that_describes_itself_is_declared_to_the_engine_and_named_to_the_worker(program, tmp_path):
    path = program("bin/greet.sh", {"describe": MANIFEST})

    programs = Programs.of(tmp_path)

    assert programs.described[KindVersion("greeter")].program == path
    assert declared(programs) == [("manifest", "greeter@1"), ("providerconfig", "greeter")]
    assert programs.variables(WorkerSettings()) == {
        "STDIO_KINDS": "stdio@1,greeter@1",
        "STDIO_COMPOSER_KINDS": "stdio-composer@1",
    }


def test_a_program_on_path_that_describes_itself_is_declared_and_found_by_the_worker_itself(program, tmp_path):
    program("stdworker-kind-greeter", {"describe": MANIFEST})

    programs = Programs.of(tmp_path)

    assert (list(programs.on_path), programs.described) == ([KindVersion("greeter")], {})
    assert declared(programs) == [("manifest", "greeter@1"), ("providerconfig", "greeter")]
    assert programs.variables(WorkerSettings(kinds_path=(Path("more"),))) == {
        "STDWORKER_KINDS_PATH": f"{tmp_path}:more"
    }


def test_a_kind_file_declares_its_program_and_nobody_asks_it(program, tmp_path):
    program("greeter", {"describe": "reactions"})
    (tmp_path / "greeter.kind.json").write_text(json.dumps(MANIFEST))

    programs = Programs.of(tmp_path)

    assert (list(programs.on_path), programs.items, programs.mistakes) == ([KindVersion("greeter")], [], set())


def test_settings_that_name_no_composer_stay_so(program, tmp_path):
    program("greet", {"describe": MANIFEST})
    settings = WorkerSettings(stdio_kinds=(), stdio_composer_kinds=())

    assert Programs.of(tmp_path).variables(settings) == {"STDIO_KINDS": "greeter@1"}


def test_a_kind_that_two_programs_describe_is_the_first_ones_and_the_other_is_told(program, tmp_path):
    program("a", {"describe": MANIFEST})
    program("b", {"describe": MANIFEST})
    program("c", {"describe": MANIFEST | {"kind": "third"}})
    program("stdworker-kind-third", {})

    programs = Programs.of(tmp_path)

    assert programs.described.keys() == {KindVersion("greeter")}
    assert programs.mistakes == {
        f"{tmp_path}/b describes greeter@1, which {tmp_path}/a is already",
        f"{tmp_path}/c describes third@1, which {tmp_path}/stdworker-kind-third is already",
    }


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"status": "describe reactions"}, "nothing declares the kind of"),
        ({"describe": MANIFEST | {"kind_version": 0}}, "/kind_version"),
        ({"describe": MANIFEST | {"default_config": {"mode": "daemon"}}}, "/default_config/mode: expected one of"),
    ],
)
def test_what_is_wrong_with_a_program_is_told_and_the_others_are_served(program, tmp_path, answer, complaint):
    program("bad", answer)
    program("good", {"describe": MANIFEST | {"kind": "good"}})

    programs = Programs.of(tmp_path)

    [mistake] = programs.mistakes
    assert complaint in mistake
    assert f"{tmp_path}/bad" in mistake
    assert ("manifest", "good@1") in declared(programs)


def test_another_description_of_a_program_on_path_is_another_program_for_a_worker(program, tmp_path):
    """It knows the default config from its start, while of the others the engine tells it."""
    program("stdworker-kind-greeter", {"describe": MANIFEST})
    program("third", {"describe": MANIFEST | {"kind": "third"}})
    before = Programs.of(tmp_path)
    program("third", {"describe": MANIFEST | {"kind": "third", "default_config": {"settings": 1}}})
    same = Programs.of(tmp_path)
    program("stdworker-kind-greeter", {"describe": MANIFEST | {"default_config": {"settings": 1}}})
    after = Programs.of(tmp_path)

    assert before.served == same.served != after.served
    assert before.items != same.items
