"""A worker that is killed takes its programs with it."""

import os
import select
import signal
import subprocess
import sys

PATIENCE_SECONDS = 30

HOST = """
import asyncio
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

KIND = KindVersion("greeter")
STREAM = b'''{"mode":"stream","command":"bash","args":["-c","trap '' TERM; read -r l; sleep 1000; sleep 1000"]}'''
ONESHOT = b'''{"command":"bash","args":["-c","trap '' TERM; sleep 1000 & wait; sleep 1000"]}'''

async def main():
    runtime = BridgeRuntime()
    providers = [ProgramProvider(KIND, run=runtime) for _ in range(2)]
    tasks = []
    for provider, config in zip(providers, (STREAM, ONESHOT)):
        default = ProviderConfig(RawJson(config))
        await provider.on_config(default)
        ada = Resource("u", "greeter", "ada")
        request = ReactionRequest(Stage.WORK, Trigger.SPEC_CHANGE, "work", KIND, ada, default=default)
        tasks += [asyncio.create_task(provider.run(request)) for _ in range(2)]
    while len(runtime.processes) < 3:
        await asyncio.sleep(0.01)
    print(*(process.pid for process in runtime.processes), flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_programs_of_a_worker_that_was_killed_are_gone_within_seconds():
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        groups = [os.pidfd_open(int(pid)) for pid in host.stdout.readline().split()]
        host.send_signal(signal.SIGKILL)

    assert len(groups) == 3
    for group in groups:
        assert select.select([group], [], [], PATIENCE_SECONDS)[0]
        os.close(group)
