import json
import logging
import os
from pathlib import Path

import pytest

from stdworker.errors import ConfigError
from stdworker.model.kind import KindVersion
from stdworker.plugins import program_kinds
from stdworker.plugins.program_kinds import (
    ProgramKind,
    find_program_kinds,
    folders_of,
    kind_file_beside,
    missing_folders,
)

REACTIONS = [{"name": "work", "trigger": "specChange", "emits": ["status"]}]


def program(folder, name, *, mode=0o755):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def kind_file(folder, name, **members):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"kind": "greeter", "kind_version": 1, "reactions": REACTIONS} | members))
    return path


def only(*folders):
    [found] = find_program_kinds(folders)
    return found


def refused(*folders):
    found = only(*folders)
    assert isinstance(found, ConfigError)
    return str(found)


def test_an_executable_of_that_name_is_a_kind_of_version_one(tmp_path):
    path = program(tmp_path, "stdworker-kind-greeter")

    assert only(tmp_path) == ProgramKind(KindVersion("greeter", 1), path)


def test_a_suffix_is_the_version(tmp_path):
    program(tmp_path, "stdworker-kind-greeter@2")

    assert only(tmp_path).pair == KindVersion("greeter", 2)


def test_a_kind_may_have_dots(tmp_path):
    program(tmp_path, "stdworker-kind-greeter.sh")

    assert only(tmp_path).pair == KindVersion("greeter.sh")


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml"])
def test_a_kind_file_beside_it_describes_it(tmp_path, suffix):
    path = program(tmp_path, "stdworker-kind-greeter")
    kind_file(tmp_path, f"greeter.kind.{suffix}", default_config={"settings": {"big": 2**70}})

    found = only(tmp_path)

    assert found.program == path
    assert found.declared_by == str(tmp_path / f"greeter.kind.{suffix}")
    assert found.kind_file.manifest.worker.name == "work"
    assert found.kind_file.default_config.value() == {"settings": {"big": 2**70}}


def test_a_kind_file_may_be_toml(tmp_path):
    program(tmp_path, "stdworker-kind-greeter")
    (tmp_path / "greeter.kind.toml").write_text(
        'kind = "greeter"\nkind_version = 1\n'
        'reactions = [{name = "work", trigger = "specChange", emits = ["status"]}]\n'
        "[default_config]\ntimeout_seconds = 5\n"
    )

    assert only(tmp_path).kind_file.default_config == b'{"timeout_seconds":5}'


@pytest.mark.parametrize("name", ["greeter", "greeter.sh", "stdworker-kind-greeter"])
def test_a_kind_file_makes_the_executable_beside_it_a_kind(tmp_path, name):
    path = program(tmp_path, name)
    kind_file(tmp_path, "greeter.kind.json")

    assert only(tmp_path).program == path


def test_the_exact_name_wins_over_one_with_an_extension(tmp_path):
    path = program(tmp_path, "greeter")
    program(tmp_path, "greeter.old")
    kind_file(tmp_path, "greeter.kind.json")

    assert only(tmp_path).program == path


def test_versions_lie_beside_each_other(tmp_path):
    program(tmp_path, "greeter")
    program(tmp_path, "greeter@2")
    kind_file(tmp_path, "greeter.kind.json")
    kind_file(tmp_path, "greeter@2.kind.json", kind_version=2)

    found = list(find_program_kinds([tmp_path]))

    assert [(kind.pair.version, kind.program.name) for kind in found] == [(1, "greeter"), (2, "greeter@2")]


def test_the_first_folder_wins_with_a_warning(tmp_path, caplog):
    first = program(tmp_path / "a", "stdworker-kind-greeter")
    program(tmp_path / "b", "stdworker-kind-greeter")

    found = only(tmp_path / "a", tmp_path / "b")

    assert found.program == first
    assert found.shadows == (f"{tmp_path}/b/stdworker-kind-greeter",)
    assert caplog.messages == [
        f"greeter@1: {tmp_path}/b/stdworker-kind-greeter is not used, {tmp_path}/a/stdworker-kind-greeter comes first"
    ]
    assert caplog.records[0].levelno == logging.WARNING


def test_a_shadow_is_told_once_however_often_the_folders_are_searched(tmp_path, caplog):
    program(tmp_path / "a", "stdworker-kind-greeter")
    program(tmp_path / "b", "stdworker-kind-greeter")

    for _ in range(3):
        find_program_kinds([tmp_path / "a", tmp_path / "b"])

    assert len(caplog.messages) == 1


def test_a_folder_with_two_names_is_searched_once(tmp_path, caplog):
    program(tmp_path / "a", "stdworker-kind-greeter")
    (tmp_path / "b").symlink_to("a")

    assert only(tmp_path / "a", tmp_path / "b").program.parent == tmp_path / "a"
    assert not caplog.messages


def test_a_bare_name_and_version_one_are_the_same_kind(tmp_path):
    program(tmp_path, "stdworker-kind-greeter")
    program(tmp_path, "stdworker-kind-greeter@1")

    assert refused(tmp_path).endswith("2 programs for greeter@1: stdworker-kind-greeter, stdworker-kind-greeter@1")


def test_a_folder_beyond_all_measure_is_passed_over_with_a_warning(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(program_kinds, "FOLDER_FILES_MAX", 2)
    for name in ("stdworker-kind-greeter", "a", "b"):
        program(tmp_path / "huge", name)
    other = program(tmp_path / "small", "stdworker-kind-greeter")

    assert only(tmp_path / "huge", tmp_path / "small").program == other
    assert caplog.messages == [f"{tmp_path}/huge is not searched for kinds: it holds more than 2 files"]


def test_a_kind_file_that_is_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path):
    program(tmp_path, "stdworker-kind-greeter")
    os.mkfifo(tmp_path / "greeter.kind.json")

    assert refused(tmp_path).endswith("greeter.kind.json is not a file")


def test_the_kind_file_beside_a_program_is_found_by_its_name(tmp_path):
    path = program(tmp_path, "greeter.py")
    kind_file(tmp_path, "greeter.kind.json")
    kind_file(tmp_path, "other.kind.json", kind="other")

    assert kind_file_beside(path).pair == KindVersion("greeter")
    assert kind_file_beside(program(tmp_path, "third")) is None


def test_two_kind_files_beside_a_program_are_refused_naming_them(tmp_path):
    path = program(tmp_path, "greeter")
    kind_file(tmp_path, "greeter.kind.json")
    kind_file(tmp_path, "greeter.kind.yaml")

    with pytest.raises(ConfigError, match=r"2 kind files for greeter: greeter\.kind\.json, greeter\.kind\.yaml"):
        kind_file_beside(path)


def test_a_broken_kind_is_not_replaced_by_one_further_back(tmp_path):
    program(tmp_path / "a", "stdworker-kind-greeter", mode=0o644)
    program(tmp_path / "b", "stdworker-kind-greeter")

    assert "a/stdworker-kind-greeter is not an executable file (chmod +x)" in refused(tmp_path / "a", tmp_path / "b")


def test_a_folder_that_is_named_twice_is_searched_once(tmp_path, caplog):
    program(tmp_path, "stdworker-kind-greeter")

    assert len(list(find_program_kinds([tmp_path, tmp_path]))) == 1
    assert not caplog.messages


def test_a_folder_that_is_not_there_has_no_kinds(tmp_path):
    assert list(find_program_kinds([tmp_path / "nowhere"])) == []


def test_a_folder_of_the_kinds_path_that_is_not_there_is_told_by_its_whole_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "kinds").mkdir()

    told = [str(error) for error in missing_folders([Path("kinds"), Path("knids"), Path("file")])]

    assert told == [
        f"STDWORKER_KINDS_PATH names {tmp_path}/{name}, which is not a folder (create it, or take it out)"
        for name in ("knids", "file")
    ]


def test_other_files_are_passed_over(tmp_path):
    program(tmp_path, "greeter")
    program(tmp_path, "stdworker")
    (tmp_path / "kind.json").write_text("{}")

    assert list(find_program_kinds([tmp_path])) == []


def test_a_name_that_is_no_kind_is_refused_and_the_others_are_found(tmp_path):
    program(tmp_path, "stdworker-kind-Greeter")
    program(tmp_path, "stdworker-kind-ok@0")
    program(tmp_path, "stdworker-kind-fine")

    *errors, found = find_program_kinds([tmp_path])

    assert "stdworker-kind-Greeter: 'Greeter' is not a kind name" in str(errors[0])
    assert "'0' is not a kind version (1 to 32767)" in str(errors[1])
    assert found.pair == KindVersion("fine")


def test_a_kind_file_without_a_program_is_refused(tmp_path):
    program(tmp_path, "greeter.sh", mode=0o644)
    kind_file(tmp_path, "greeter.kind.json")

    assert "is no executable stdworker-kind-greeter, greeter or greeter.EXTENSION" in refused(tmp_path)


def test_a_kind_file_beside_two_programs_is_refused_naming_them(tmp_path):
    program(tmp_path, "greeter.js")
    program(tmp_path, "greeter.sh")
    kind_file(tmp_path, "greeter.kind.json")

    assert refused(tmp_path).endswith("describes one program, beside it are greeter.js, greeter.sh")


def test_two_kind_files_for_one_kind_are_refused_naming_them(tmp_path):
    program(tmp_path, "stdworker-kind-greeter")
    kind_file(tmp_path, "greeter.kind.json")
    kind_file(tmp_path, "greeter.kind.yaml")

    assert "2 kind files for greeter@1: greeter.kind.json, greeter.kind.yaml" in refused(tmp_path)


@pytest.mark.parametrize("members", [{"kind_version": 2}, {"kind": "other"}])
def test_a_kind_file_must_agree_with_its_name(tmp_path, members):
    program(tmp_path, "stdworker-kind-greeter")
    kind_file(tmp_path, "greeter.kind.json", **members)

    assert refused(tmp_path).endswith("its name says greeter@1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a kind file holds one document, this one 0"),
        ("{", "greeter.kind.json:1:2: not JSON"),
        ("[1]", "/: expected an object"),
        ('{"kind": "greeter"}', "/: kind_version, reactions must be given"),
        ('{"kind": "greeter", "kind": "greeter"}', "the key appears twice"),
    ],
)
def test_a_malformed_kind_file_is_refused_naming_file_and_place(tmp_path, text, told):
    program(tmp_path, "stdworker-kind-greeter")
    (tmp_path / "greeter.kind.json").write_text(text)

    found = refused(tmp_path)

    assert str(tmp_path / "greeter.kind.json") in found
    assert told in found


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"default_config": []}, "/default_config: expected an object"),
        ({"default_config": {"command": "x"}}, "/default_config/command: a kind file names no command"),
        ({"default_bundle": "%"}, "/default_bundle: expected base64"),
        ({"default_bundle": 7}, "/default_bundle: expected base64"),
        ({"spec_schema": {"type": "objet"}}, "/spec_schema/type: not JSON Schema: 'objet' is not valid"),
        ({"default_confg": {}}, "/default_confg: unknown key; did you mean"),
    ],
)
def test_a_kind_file_that_breaks_a_rule_is_refused_where_it_does(tmp_path, members, told):
    program(tmp_path, "stdworker-kind-greeter")
    kind_file(tmp_path, "greeter.kind.json", **members)

    assert told in refused(tmp_path)


def test_a_bundle_is_base64(tmp_path):
    program(tmp_path, "stdworker-kind-greeter")
    kind_file(tmp_path, "greeter.kind.json", default_bundle="aGk=", type="manifest", **{"$schema": "x"})

    assert only(tmp_path).kind_file.default_bundle == b"hi"


def test_the_kinds_path_is_searched_before_path_whose_empty_entries_are_dropped():
    assert folders_of([Path("kinds")], {"PATH": "/usr/bin::/bin"}) == [Path("kinds"), Path("/usr/bin"), Path("/bin")]
