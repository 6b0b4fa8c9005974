"""A worker that is killed takes its programs with it, and all that they started."""

import os
import select
import signal
import subprocess
import sys

import pytest

PATIENCE_SECONDS = 30

HOST = """
import asyncio, sys
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest
from stdworker.process.guardian import Guardian

KIND = KindVersion("greeter")
if "unreported" in sys.argv:
    Guardian.add = lambda *_: None  # killed after the spawn and before this

async def main():
    runtime = BridgeRuntime()
    provider = ProgramProvider(KIND, run=runtime)
    default = ProviderConfig(dumps({"command": sys.argv[1], "mode": sys.argv[2]}))
    await provider.on_config(default)
    request = ReactionRequest(
        Stage.WORK, Trigger.SPEC_CHANGE, "work", KIND, Resource("u", "greeter", "ada"), default=default
    )
    await provider.run(request)

asyncio.run(main())
"""
PROCESSES = 4
STUBBORN = """#!/bin/bash
trap '' TERM
setsid bash -c 'trap "" TERM; echo $$ >{fifo}; while :; do sleep 1000; done' &
set -m
env -i bash -c 'trap "" TERM; echo $$ >{fifo}; while :; do sleep 1000; done' &
set +m
sleep 1000 &
echo $! >{fifo}
echo $$ >{fifo}
while :; do wait; sleep 1000; done
"""


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
@pytest.mark.parametrize("reported", ["reported", "unreported"])
def test_programs_of_a_worker_that_was_killed_are_gone_within_seconds(tmp_path, mode, reported):
    fifo, program = tmp_path / "pids", tmp_path / "program"
    os.mkfifo(fifo)
    program.write_text(STUBBORN.format(fifo=fifo))
    program.chmod(0o755)
    with (
        os.fdopen(os.open(fifo, os.O_RDWR)) as pids,
        subprocess.Popen([sys.executable, "-c", HOST, str(program), mode, reported]) as host,
    ):
        processes = [os.pidfd_open(int(pids.readline())) for _ in range(PROCESSES)]
        host.send_signal(signal.SIGKILL)

    for process in processes:
        assert select.select([process], [], [], PATIENCE_SECONDS)[0]
        os.close(process)
