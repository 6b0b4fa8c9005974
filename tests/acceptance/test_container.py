"""The worker as the first process of a container: nobody else reaps what ends up with it."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_SECONDS = 60
NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.fixture
def namespace():
    """The command line that makes what follows it PID 1 of a process namespace."""
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0:
        assert not os.environ.get("CI"), "CI must be able to make process namespaces"
        pytest.skip("this machine lets nobody make a process namespace (unshare)")
    return NAMESPACE


@pytest.fixture
def container(namespace, tmp_path, eventually):
    """`stdworker run` as PID 1: its process id outside."""
    command = [*namespace, sys.executable, "-m", "stdworker", "run"]
    environment = {"PATH": os.environ["PATH"], "BROKER_ADDR": f"unix://{tmp_path}/nobody"}
    log = tmp_path / "log"
    with log.open("wb") as stderr, subprocess.Popen(command, env=environment, stderr=stderr) as outer:
        try:
            eventually(lambda: "nobody" in log.read_text())
            yield int(children(outer.pid)[0])
        finally:
            outer.kill()


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_orphans_that_nobody_here_started_are_reaped(container, tmp_path, eventually):
    fifo = tmp_path / "end"
    os.mkfifo(fifo)
    enter = ["nsenter", "--target", str(container), "--pid", "--mount", "sh", "-c", f"setsid sh -c 'read _ <{fifo}' &"]
    subprocess.run(enter, check=True)
    (orphan,) = eventually(lambda: children(container))

    fifo.write_text("now\n")

    eventually(lambda: "zombie" in Path(f"/proc/{orphan}/status").read_text())
    eventually(lambda: not children(container))


def test_a_worker_that_is_the_first_process_ends_at_sigterm(container):
    ended = os.pidfd_open(container)

    os.kill(container, signal.SIGTERM)

    assert select.select([ended], [], [], PATIENCE_SECONDS)[0]
    os.close(ended)


def test_the_first_process_learns_the_exit_status_of_its_own_programs(namespace, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n(setsid sleep 0.01 &)\nexit 3\n")
    program.chmod(0o755)
    call = [sys.executable, "-m", "stdworker", "call", "--repeat", "5", "--output", "json", str(program)]

    ran = subprocess.run([*namespace, *call], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    assert [json.loads(line)["exit"]["code"] for line in ran.stdout.splitlines()] == [3] * 5
