"""Whatever a program prints, the host's memory stays bounded and the program, or the next one, works afterwards."""

import json
import subprocess
import sys

import pytest

GROWTH_MIB_MAX = 160  # a response at the limit, as bytes and as text, and the interpreter's own; far below a gigabyte

# Runs in a process of its own, so that its peak is that of this one case. Prints the growth and what was told.
HOST = r"""
import asyncio, json, resource, sys
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

async def main(config):
    runtime = BridgeRuntime()
    provider = ProgramProvider(KindVersion("flood"), run=runtime)
    default = ProviderConfig(dumps(config))
    await provider.on_config(default)
    async def ask(spec):
        resource = Resource("u", "flood", "n", 1, 1, spec_json=RawJson(spec))
        kind = KindVersion("flood")
        request = ReactionRequest(Stage.WORK, Trigger.SPEC_CHANGE, "work", kind, resource, default=default)
        return await provider.run(request)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flooded = await ask(b"true")
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    after = await ask(b"false")
    await provider.close()
    await runtime.close()
    failure, outcome = flooded.failure, after.outcome
    print(json.dumps([growth // 1024, str(failure) if failure else None, outcome and json.loads(outcome.status)]))

asyncio.run(main(json.loads(sys.argv[1])))
"""
PROGRAM = r"""
import os, sys
def write(fd, data):
    while data: data = data[os.write(fd, data):]
for line in sys.stdin:
    id = line.split('"id":"')[1].split('"')[0].encode()
    if '"spec":true' in line:
        for _ in range(%(times)d): write(%(fd)d, %(flood)s)
        write(1, %(end)s)
    write(1, b'{"id":"' + id + b'","status":1}\n')
"""
NO_NEWLINE, NEWLINES, SHORT_LINES, NULS = "b'x'*1048576", "b'\\n'*1048576", "b'ab\\n'*349525", "b'\\0'*1048576"
HALF_UTF8 = "b'\\xf0\\x9f'*524288"


def run(mode, flood, times, *, fd=1, end="b'\\n'", **limits):
    program = PROGRAM % {"flood": flood, "times": times, "fd": fd, "end": end}
    config = {"mode": mode, "command": sys.executable, "args": ["-S", "-c", program], "limits": limits}
    command = [sys.executable, "-c", HOST, json.dumps(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    growth, failure, after = json.loads(done.stdout)
    assert growth < GROWTH_MIB_MAX, f"the host grew by {growth} MiB"
    assert after == 1
    return failure


@pytest.mark.parametrize("flood", [NO_NEWLINE, NEWLINES, SHORT_LINES, NULS, HALF_UTF8])
def test_a_one_shot_program_is_cut_at_the_limit_and_the_message_names_it(flood):
    failure = run("oneshot", flood, 1_000)

    assert "printed more than 67108864 bytes" in failure
    assert "raise limits.stdout_bytes" in failure


@pytest.mark.parametrize("flood", [NO_NEWLINE, NEWLINES, SHORT_LINES, NULS, HALF_UTF8])
def test_a_persistent_program_is_cut_at_the_limit_and_the_next_request_runs(flood):
    failure = run("stream", flood, 1_000)

    assert "printed more than 67108864 bytes (limits.stdout_bytes)" in failure


def test_a_line_one_byte_over_the_limit_is_named_and_the_same_process_answers_the_next_request():
    failure = run("stream", "b''", 1, end="""b'{"id":"' + id + b'","status":"' + b'x' * 16777216 + b'"}\\n'""")

    assert "a line of 1677" in failure
    assert "over limits.line_bytes (16777216)" in failure
    assert "raise limits.line_bytes" in failure


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
@pytest.mark.parametrize("flood", [NO_NEWLINE, SHORT_LINES, NULS])
def test_stderr_has_no_limit_and_takes_no_memory(mode, flood):
    assert run(mode, flood, 100, fd=2) is None
