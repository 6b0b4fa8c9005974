import json

import pytest

from stdworker.bridge.describe import NotDescribed
from stdworker.errors import ConfigError, ManifestError
from stdworker.model.kind import KindVersion
from stdworker.plugins import described
from stdworker.plugins.described import ask, mentions, with_descriptions
from stdworker.plugins.program_kinds import find_program_kinds

MANIFEST = {"kind": "greeter", "kind_version": 1, "reactions": [{"name": "work", "trigger": "specChange", "emits": []}]}


@pytest.fixture
def program(tmp_path):
    """Write a program that notes each run and answers this."""

    def write(answer, *, name="stdworker-kind-greeter", folder="a"):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(answer)
        path.write_text(f"#!/bin/sh\necho run >>{tmp_path}/runs\nread -r request\ncat <<'END'\n{text}\nEND\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def runs(tmp_path):
    """How often programs were started."""
    notes = tmp_path / "runs"
    return lambda: len(notes.read_text().splitlines()) if notes.exists() else 0


def kinds_of(path):
    return with_descriptions(find_program_kinds([path.parent]))


def test_a_program_on_path_without_kind_file_declares_itself(program):
    path = program({"describe": MANIFEST | {"default_config": {"mode": "stream"}}})

    [found] = kinds_of(path)

    assert (found.pair, found.program, found.declared_by) == (KindVersion("greeter"), path, "describe")
    assert found.kind_file.default_config == b'{"mode": "stream"}'


def test_a_program_without_the_word_is_never_asked(program, runs):
    [found] = kinds_of(program({"status": {}}))

    assert (found.declared_by, found.kind_file) == ("", None)
    assert runs() == 0


def test_a_program_with_a_kind_file_is_never_asked(program, runs):
    path = program({"describe": MANIFEST})
    (path.parent / "greeter.kind.json").write_text(json.dumps(MANIFEST))

    [found] = kinds_of(path)

    assert found.declared_by == str(path.parent / "greeter.kind.json")
    assert runs() == 0


def test_a_program_that_has_the_word_and_answers_something_else_is_served_as_it_is(program, runs):
    path = program({"status": {"text": "nothing to describe"}})

    [found] = kinds_of(path)

    assert (found.program, found.kind_file) == (path, None)
    assert runs() == 1


def test_a_description_must_agree_with_the_name_of_the_file(program):
    path = program({"describe": MANIFEST}, name="stdworker-kind-greeter@2")

    [error] = kinds_of(path)

    assert str(error) == f"{path} describes greeter@1, its name says greeter@2"
    assert error.code == "kind_file_disagrees"


def test_an_illegal_description_is_an_error_and_the_others_are_found(program):
    path = program({"describe": MANIFEST | {"reactions": [{"name": "work"}]}})
    program({"describe": MANIFEST | {"kind": "second"}}, name="stdworker-kind-second")

    error, found = kinds_of(path)

    assert isinstance(error, ManifestError)
    assert str(path) in str(error)
    assert "/reactions/0" in str(error)
    assert found.pair == KindVersion("second")


def test_a_program_is_asked_again_only_after_it_changed(program, runs):
    path = program({"describe": MANIFEST})
    for _ in range(3):
        kinds_of(path)
    assert runs() == 1

    program({"describe": MANIFEST | {"description": "another"}})

    assert kinds_of(path)[0].kind_file.manifest.description == "another"
    assert runs() == 2


def test_one_that_does_not_answer_costs_its_neighbours_nothing(program, monkeypatch):
    monkeypatch.setattr(described, "DESCRIBE_SECONDS", 0.5)
    path = program({"describe": MANIFEST})
    silent = program({"describe": 1}, name="stdworker-kind-silent")
    silent.write_text("#!/bin/sh\nexec sleep 1000 # describe\n")

    answers = ask({silent: KindVersion("silent"), path: KindVersion("greeter")})

    assert isinstance(answers[silent], NotDescribed)
    assert answers[path].pair == KindVersion("greeter")


def test_programs_that_do_not_answer_take_no_more_time_together_than_one(program, monkeypatch, runs):
    monkeypatch.setattr(described, "DESCRIBE_SECONDS", 0.3)
    monkeypatch.setattr(described, "AT_ONCE_MAX", 1)
    silent = [program({}, name=f"stdworker-kind-{name}") for name in ("a", "b", "c")]
    for path in silent:
        path.write_text(path.read_text() + "exec sleep 1000 # describe\n")

    answers = ask({path: KindVersion("silent") for path in silent})

    assert runs() == 1
    assert [answers[path].reason for path in silent[1:]] == [
        "the programs that were asked before it took all of 0.3 s"
    ] * 2


def test_a_program_that_can_not_be_started_is_an_error_of_its_own(program):
    path = program({"describe": MANIFEST})
    path.write_text("#!/nowhere/describe\n")

    [error] = kinds_of(path)

    assert isinstance(error, ConfigError)
    assert "/nowhere/describe" in str(error)


def test_words_are_looked_for_in_the_text_of_the_file(tmp_path):
    (tmp_path / "binary").write_bytes(b"\x7fELF\0describe\0reactions\xff")
    (tmp_path / "empty").touch()

    assert mentions(tmp_path / "binary", b"describe", b"reactions")
    assert not mentions(tmp_path / "binary", b"describe", b"manifest")
    assert not mentions(tmp_path / "empty", b"describe")
    assert not mentions(tmp_path / "nowhere", b"describe")
