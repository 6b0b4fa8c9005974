"""Config edits, cancels, deadlines, a changing program file and the end, at any moment, with programs that fail in many
ways: every request ends, with its own answer or a failure, and nothing is left.

FUZZ_ROUNDS multiplies how many histories there are, FUZZ_SEED chooses others.
"""

import asyncio
import json
import os
import random
import sys

import pytest

from stdworker.bridge import stream

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "1"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
HISTORIES = 6
LANES = 12
REQUESTS_A_LANE = 25
HANG_SECONDS = 60

# Each step of a program, with how likely it is; then it answers.
FLAKY = r"""
import json, os, random, signal, sys, time
chance = random.Random(os.getpid())
def say(text): os.write(1, text.encode() + b"\n")
def child():
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
STEPS = [
    (0.03, lambda: os._exit(3)),
    (0.01, lambda: (os.close(0), time.sleep(600))),
    (0.01, lambda: (os.close(1), time.sleep(600))),
    (0.01, lambda: os.kill(os.getpid(), signal.SIGSTOP)),
    (0.02, lambda: time.sleep(600)),
    (0.02, lambda: say("{")),
    (0.02, lambda: say('{"id":"nobody","status":0}')),
    (0.02, lambda: say('{"ready":%s}' % chance.choice(["true", "false"]))),
    (0.02, lambda: time.sleep(0.05)),
    (0.02, child),
]
if chance.random() < 0.5: say('{"hello":{"cancel":true,"shutdown":true,"config":true}}')
if chance.random() < 0.1: sys.exit(1)
if chance.random() < 0.2: signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        for likely, step in STEPS:
            if chance.random() < likely: step()
        say(json.dumps({"id": request["id"], "status": request["spec"]}))
"""


async def flaky_sidecar(reader, writer):
    try:
        while line := await reader.readline():
            request = json.loads(line)
            step = random.random()
            if step < 0.05:
                return
            if "id" in request and step > 0.08:
                writer.write(json.dumps({"id": request["id"], "status": request["spec"]}).encode() + b"\n")
    except OSError:
        pass
    finally:
        writer.close()


def write_program(folder, chance):
    """All at once: nobody may start half of it."""
    (folder / "new").write_text(f"{FLAKY}\n# {chance.random()}\n")
    (folder / "new").rename(folder / "program.py")


def some_config(chance, folder):
    common = {
        "grace_seconds": chance.choice([0, 0.05, 0.2]),
        "timeout_seconds": chance.choice([0.2, 0.5]),
        "pools_max": chance.choice([1, 2, 16]),
    }
    program = {"command": sys.executable, "args": ["-S", f"{folder}/program.py"]}
    many = {"processes": chance.choice([1, 3]), "concurrency": chance.choice([1, 4])}
    stream_program = {**common, **program, **many, "mode": "stream", "spares": chance.choice([0, 1])}
    return chance.choices(
        [
            stream_program,
            {**common, **many, "mode": "socket", "socket": f"unix:{folder}/socket"},
            {**common, **program},
            {**common, "command": "/nonexistent", "mode": "stream"},
        ],
        [12, 4, 3, 1],
    )[0]


@pytest.fixture
def hasty(impatient, monkeypatch):
    monkeypatch.setattr(stream, "HALF_CLOSED_SECONDS", 0.05)


@pytest.fixture
async def no_task_is_left():
    yield
    assert [task for task in asyncio.all_tasks() if "anyio" not in repr(task)] == []


@pytest.mark.parametrize("history", range(HISTORIES * ROUNDS))
async def test_at_any_moment_every_request_ends_with_its_own_answer_or_a_failure(
    no_task_is_left, provide, hasty, tmp_path, history
):
    chance = random.Random(f"{SEED}/{history}")
    write_program(tmp_path, chance)
    sidecar = await asyncio.start_unix_server(flaky_sidecar, tmp_path / "socket")
    program = await provide(**some_config(chance, tmp_path))
    results = []

    async def ask(n):
        override = chance.choice([None, None, {"settings": {"n": n}}, {"env": {"N": str(chance.randrange(4))}}])
        request = program.request(b"%d" % n, name=f"r{n % 20}", seconds=chance.choice([0.3, 3]), override=override)
        asking = asyncio.ensure_future(program.provider.run(request))
        if chance.random() < 0.1:
            asyncio.get_running_loop().call_later(chance.random() * 0.05, asking.cancel)
        await asyncio.wait({asking})
        results.append(n)
        if not asking.cancelled() and asking.result().failure is None:
            assert asking.result().outcome.status == b"%d" % n

    async def lane(number):
        for n in range(REQUESTS_A_LANE):
            await ask(number * REQUESTS_A_LANE + n)

    async def edit():
        while True:
            await asyncio.sleep(chance.random() * 0.3)
            await program.configure(**some_config(chance, tmp_path))
            write_program(tmp_path, chance)
            await program.provider.ready()
            program.provider.view()

    editing = asyncio.ensure_future(edit())
    lanes = asyncio.gather(*map(lane, range(LANES)))
    async with asyncio.timeout(HANG_SECONDS):
        if history % 2:  # the end comes while requests are in flight
            await asyncio.sleep(chance.random())
            await program.provider.close()
        await lanes
        editing.cancel()
        await asyncio.wait({editing})
        await program.provider.close()
    sidecar.close()
    await sidecar.wait_closed()

    assert len(results) == LANES * REQUESTS_A_LANE
