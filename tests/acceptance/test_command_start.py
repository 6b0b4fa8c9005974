"""The first moments of every command, and what each says of itself."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import stdworker

BIN = Path(sys.executable).parent
HANG_SECONDS = 30

# Presses Ctrl-C at the moment when a module is about to be imported.
INTERRUPT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


def run(*command, **environment):
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


@pytest.mark.parametrize("name", ["stdworker", "converge", "conctl"])
def test_every_command_says_its_version(name):
    assert run(name, "--version").stdout == f"{name}, version {stdworker.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("stdworker cal", "call"), ("stdworker plugin", "plugins"), ("conctl gett", "get"), ("converge server", "serve")],
)
def test_a_misspelt_command_is_told_the_near_one(typed, meant):
    done = run(*typed.split())

    assert done.returncode == 2
    assert done.stderr.endswith(f"Error: No such command {typed.split()[1]!r}. Did you mean {meant!r}?\n")


def test_the_module_is_the_command():
    assert run("python", "-m", "stdworker", "--version").stdout == f"stdworker, version {stdworker.__version__}\n"


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("stdworker run --broker-addr http://127.0.0.1:9", "click"),
        ("stdworker run --broker-addr http://127.0.0.1:9", "stdworker.host.loader"),
        ("stdworker run --broker-addr http://127.0.0.1:9", "stdworker.plugins.stdio"),
        ("stdworker run --broker-addr http://127.0.0.1:9", "grpc"),
        ("stdworker call -- true", "stdworker.bridge"),
        ("stdworker dev .", "watchfiles"),
        ("stdworker status", "http.client"),
        ("converge serve", "click"),
        ("converge serve", "sqlalchemy"),
        ("conctl list", "click"),
        ("conctl list", "httpx"),
    ],
)
def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_traceback(tmp_path, command, module):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)

    done = run(*command.split(), PYTHONPATH=str(tmp_path), INTERRUPT_AT=module, TMPDIR=str(tmp_path))

    assert done.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert done.stderr == ""


def test_a_command_that_is_started_with_ctrl_c_ignored_goes_on_ignoring_it(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)
    script = "trap '' INT; exec stdworker --version"

    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path), "INTERRUPT_AT": "click"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )

    assert done.stdout == f"stdworker, version {stdworker.__version__}\n"


@pytest.mark.parametrize("variable", ["LISTEN_ADDR", "BROKER_ADDR_LISTEN"])
def test_an_address_that_is_taken_is_one_line_that_names_it_once(tmp_path, variable):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        free = {"LISTEN_ADDR": "127.0.0.1:0", "BROKER_ADDR_LISTEN": "127.0.0.1:0"}
        done = run("converge", "serve", **free | {variable: address, "DATABASE_URL": f"sqlite:///{tmp_path}/c.db"})

    assert done.stderr == (
        f"Error: {variable} is '{address}'; expected an address that is free (Address already in use)\n"
    )
