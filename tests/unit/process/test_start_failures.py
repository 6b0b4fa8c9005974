"""Each reason why a program can't be started is told apart, from the real error of the system."""

import asyncio

import pytest

from stdworker.errors import ConfigError, Retry
from stdworker.process.command import Command
from stdworker.process.diagnose import crlf_shebang
from stdworker.process.spawn import spawn

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaves_nothing")]


async def refusal(path, *arguments, cwd=None, **variables):
    with pytest.raises((ConfigError, Retry)) as refused:
        spawn(Command(str(path), arguments, cwd, variables), asyncio.get_running_loop())
    return refused.value


async def test_a_text_without_interpreter_line(program):
    error = await refusal(program("echo hi\n"))

    assert error.code == "no_shebang"
    assert "#!/bin/bash" in error.hint


async def test_an_empty_file(program):
    error = await refusal(program(""))

    assert error.code == "no_shebang"
    assert "is empty" in error.message


async def test_an_interpreter_that_is_missing(program):
    error = await refusal(program("#!/no/such/interpreter -x\n"))

    assert error.code == "interpreter_missing"
    assert "'/no/such/interpreter'" in error.message
    assert error.hint == "install it, or change the #! line"


async def test_an_interpreter_line_with_windows_line_end(program):
    assert (await refusal(program("#!/bin/bash\r\necho\r\n"))).code == "shebang_crlf"


async def test_an_interpreter_that_is_not_executable(program, tmp_path):
    program("", "interpreter", mode=0o644)

    error = await refusal(program(f"#!{tmp_path}/interpreter\n"))

    assert (error.code, error.hint) == ("interpreter_unusable", "change the #! line")


async def test_a_binary_for_another_machine(program):
    header = bytearray(64)
    header[:20] = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + b"\xf3\x00"

    error = await refusal(program(bytes(header)))

    assert error.code == "wrong_architecture"
    assert "built for riscv64" in error.message
    assert error.hint == "build it for this one"


async def test_a_file_that_went_away(tmp_path):
    error = await refusal(tmp_path / "gone")

    assert (error.code, error.hint) == ("program_not_found", "put it back, or name another")


async def test_a_working_directory_that_went_away(tmp_path):
    assert (await refusal("/bin/true", cwd=str(tmp_path / "gone"))).code == "cwd_missing"


async def test_a_file_that_is_being_written_passes_by_itself(program):
    path = program("#!/bin/sh\n")
    with path.open("ab"):
        error = await refusal(path)

    assert isinstance(error, Retry)
    assert error.code == "file_busy"


async def test_an_argument_that_is_too_long_is_named_with_its_size():
    error = await refusal("/bin/true", "short", "x" * 140_000)

    assert error.code == "argument_too_long"
    assert "argument 2 has 140000 bytes" in error.message
    assert "settings" in error.hint


async def test_a_variable_that_is_too_long_is_named_with_its_size():
    error = await refusal("/bin/true", BIG="x" * 140_000)

    assert "the environment variable BIG has 140004 bytes" in error.message


async def test_a_nul_character_is_no_crash():
    assert (await refusal("/bin/true", "a\0b")).code == "nul_character"


@pytest.mark.parametrize("free", range(12))
async def test_a_host_out_of_descriptors_fails_for_now_and_loses_none(free, only_descriptors):
    with only_descriptors(free):
        process, error = attempt()

    if process is None:
        assert error.code == "spawn_refused"
    else:
        assert free > 6
        await process.exited
        process.close()


def attempt():
    try:
        return spawn(Command("/bin/true", (), None, {}), asyncio.get_running_loop()), None
    except Retry as error:
        return None, error


async def test_a_windows_line_end_that_env_would_stumble_over_is_seen(program, tmp_path):
    assert crlf_shebang(str(program("#!/usr/bin/env bash\r\n")))
    assert not crlf_shebang(str(program("#!/usr/bin/env bash\n")))
    assert not crlf_shebang(str(tmp_path / "gone"))
