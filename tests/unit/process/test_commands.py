"""A command in a config becomes a program file, or an error that says what is wrong with it."""

import os

import pytest

from stdworker.errors import ConfigError
from stdworker.process.command import resolve, signature

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def refusal(command, *arguments, cwd=None, **variables):
    with pytest.raises(ConfigError) as refused:
        resolve(command, arguments, cwd, ENVIRONMENT | variables)
    return refused.value


def test_a_bare_name_is_found_on_the_path_of_the_program_not_of_the_host(program, tmp_path):
    path = program("#!/bin/sh\n", "only-here")

    assert resolve("only-here", (), None, {"PATH": f"/nowhere:{tmp_path}"}).path == str(path)
    assert refusal("only-here").code == "program_not_found"


def test_a_relative_path_is_relative_to_cwd(program, tmp_path):
    path = program("#!/bin/sh\n")

    assert resolve("./program", ("a",), str(tmp_path), ENVIRONMENT).argv == [str(path), "a"]


def test_the_first_executable_on_the_path_wins_over_a_file_that_is_none(program, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    program("", "a/tool", mode=0o644)
    path = program("#!/bin/sh\n", "b/tool")

    assert resolve("tool", (), None, {"PATH": f"{tmp_path}/a:{tmp_path}/b"}).path == str(path)


def test_a_missing_program_is_reported_with_the_path_that_was_searched():
    error = refusal("no-such-tool", PATH="/one:/two")

    assert (error.code, error.path) == ("program_not_found", "/command")
    assert "/one:/two" in error.message


def test_a_missing_file_is_reported_with_its_full_path(tmp_path):
    assert f"{tmp_path}/x doesn't exist" in refusal("./x", cwd=str(tmp_path)).message


@pytest.mark.parametrize(
    ("command", "cwd", "hint"),
    [
        ("no-such-tool", None, "install it, or name it with its path"),
        ("/no/such/tool", None, "put it there, or name another"),
        ("./tool", None, "put it there, or name another"),
        ("/", None, "name a file in it"),
        ("bash", "/no/such/folder", "create it, or take cwd out"),
    ],
)
def test_what_is_not_there_is_reported_with_what_to_do(command, cwd, hint):
    assert refusal(command, cwd=cwd).hint == hint


def test_a_missing_file_is_named_once():
    assert refusal("/no/tool").message == "/command: no program '/no/tool': it doesn't exist"


LONG = "x" * 300  # the system refuses even to look, as it does in a folder that may not be searched


@pytest.mark.parametrize(
    ("command", "cwd", "code", "told"),
    [
        (f"./{LONG}", None, "program_not_found", f"{LONG} can't be reached: File name too long"),
        (LONG, None, "program_not_found", "not on the program's PATH"),
        (f"bash -c {LONG}", None, "command_line_as_program", "looks like a command line"),
        ("bash", f"/{LONG}", "cwd_missing", f"{LONG} can't be reached: File name too long"),
    ],
)
def test_what_can_not_be_looked_at_is_refused_like_what_is_not_there(command, cwd, code, told):
    error = refusal(command, cwd=cwd)

    assert error.code == code
    assert told in error.message


def test_a_folder_of_the_path_that_can_not_be_looked_into_is_passed_over(program, tmp_path):
    path = program("#!/bin/sh\n", "tool")

    assert resolve("tool", (), None, {"PATH": f"/{LONG}:{tmp_path}"}).path == str(path)


def test_a_file_that_is_not_executable_is_named_with_its_mode(program):
    error = refusal(str(program("#!/bin/sh\n", mode=0o640)))

    assert error.code == "not_executable"
    assert "-rw-r-----" in error.message
    assert "chmod +x" in error.hint


def test_a_directory_is_no_program(tmp_path):
    assert refusal(str(tmp_path)).code == "is_a_directory"


def test_a_missing_working_directory_is_reported_as_such(tmp_path):
    error = refusal("bash", cwd=str(tmp_path / "gone"))

    assert (error.code, error.path) == ("cwd_missing", "/cwd")


def test_a_command_line_as_one_string_is_recognised():
    error = refusal("bash -c true")

    assert error.code == "command_line_as_program"
    assert '"command": "bash", "args": ["-c", "true"]' in error.hint


def test_a_nul_character_is_refused_wherever_it_is():
    assert refusal("bash", "a\0b").code == "nul_character"
    assert refusal("bash", X="a\0b").code == "nul_character"
    assert refusal("ba\0sh").code == "nul_character"


@pytest.mark.parametrize(("name", "mode"), [("server.py", 0o644), ("Server.JS", 0o644), ("server", 0o755)])
def test_a_change_of_the_program_or_of_a_script_among_its_arguments_is_seen(program, tmp_path, name, mode):
    script = program("print(1)", name, mode=mode)
    command = resolve("bash", ("-u", name, "-v"), str(tmp_path), ENVIRONMENT)
    before = signature(command)

    assert signature(command) == before
    script.write_text("print(22)")
    assert signature(command) != before


def test_a_change_of_the_program_itself_is_seen_whatever_it_is_called(program):
    path = program("#!/bin/sh\n", "tool.data")
    before = signature(resolve(str(path), (), None, ENVIRONMENT))

    path.write_text("#!/bin/sh\nexit 1\n")

    assert signature(resolve(str(path), (), None, ENVIRONMENT)) != before


def test_a_file_that_a_program_works_on_is_no_part_of_it(program, tmp_path):
    state = program("1", "state.db", mode=0o644)
    command = resolve("bash", ("state.db", str(tmp_path)), str(tmp_path), ENVIRONMENT)
    before = signature(command)

    state.write_text("22")

    assert signature(command) == before
