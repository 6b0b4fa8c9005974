"""The last moments of a command: nobody reads it, it is interrupted, or its output can't be written."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
COMMANDS = [
    "stdworker --help",
    "stdworker call -- cat",
    "stdworker check --only answer -- cat",
    "stdworker check --list",
    "stdworker doctor",
    "stdworker explain -- cat",
    "stdworker plugins",
    "stdworker new bash greeter",
    "conctl --help",
    "converge --help",
]


@pytest.fixture
def start(tmp_path):
    def started(command, **streams):
        name, *arguments = command.split()
        streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen(
            [str(BIN / name), *arguments],
            env={"PATH": os.environ["PATH"], "LOG_LEVEL": "error"},
            cwd=tmp_path,
            text=True,
            **streams,
        )

    return started


def end(process):
    with process:
        _, stderr = process.communicate(timeout=HANG_SECONDS)
    return process.returncode, stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_reader_has_gone_ends_in_silence_as_by_sigpipe(start, command):
    reading, writing = os.pipe()
    os.close(reading)

    process = start(command, stdout=writing)
    os.close(writing)

    assert end(process) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_output_can_not_be_written_says_why(start, command):
    with Path("/dev/full").open("w") as full:
        status, stderr = end(start(command, stdout=full))

    assert status == 1
    assert stderr == "Error: No space left on device\n"


@pytest.mark.parametrize("command", ["stdworker explain --config pipe", "stdworker call -- ./waits"])
def test_ctrl_c_ends_a_command_in_silence_with_130(start, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "waits").write_text("#!/bin/sh\necho >pipe\nexec sleep 60\n")
    (tmp_path / "waits").chmod(0o755)
    process = start(command, stdout=subprocess.DEVNULL)

    mode = "w" if "explain" in command else "r"
    with (tmp_path / "pipe").open(mode):  # returns when the other side is open too
        process.send_signal(signal.SIGINT)
        ended = end(process)

    assert ended == (130, "")


@pytest.mark.parametrize("option", ["--spec @/dev/zero", "--config /dev/zero"])
def test_a_file_without_an_end_is_refused(start, option):
    status, stderr = end(start(f"stdworker call {option} cat", stdout=subprocess.DEVNULL))

    assert status == 2
    assert re.search(r"/dev/zero is larger than \d+ MiB$", stderr.strip())


def test_closed_stdin_is_an_empty_one(tmp_path):
    script = f"exec {BIN}/stdworker call --spec - cat <&-"

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=HANG_SECONDS)

    assert done.returncode == 2
    assert "--spec: not JSON: the text ends" in done.stderr
