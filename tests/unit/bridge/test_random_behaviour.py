"""Programs that do anything at random: every request ends, with its own answer or a failure, and nothing is left."""

import asyncio
import json
import random
import sys

import pytest

from stdworker.bridge import supervision
from stdworker.errors import Released, Retry, Terminal

pytestmark = pytest.mark.anyio

REQUESTS = 250
SEEDS = (1, 2, 3)
HELLO = '{"hello":{"cancel":true,"shutdown":true}}'

PROGRAM = r"""
import json, os, random, sys
def say(text): os.write(1, text.encode())
if "HELLO" in os.environ: say(os.environ["HELLO"] + "\n")
late = []
for line in sys.stdin:
    request = json.loads(line)
    if "protocol" not in request: continue
    spec, id = request["spec"], request["id"]
    for answer in late: say(answer)
    late.clear()
    good = json.dumps({"id": id, "status": spec["n"]}) + "\n"
    match spec["do"]:
        case "answer": say(good)
        case "pieces":
            for character in good: say(character)
        case "noise": say("noise\n\n[1]\n" + '{"log":{"message":"m"}}\n' + good)
        case "twice": say(good + good)
        case "late": late.append(good)
        case "never": pass
        case "broken": say('{"id":"%s","status":NaN}\n' % id)
        case "anonymous": say('{"status":"whose?"}\n')
        case "garbage": say("{\n}\n")
        case "long": say('{"id":"%s","status":"%s"}\n' % (id, "x" * 5000))
        case "die": os._exit(3)
        case "killed": os.kill(os.getpid(), 9)
        case "answer and die": say(good); os._exit(0)
"""
GOOD = ("answer", "answer", "answer", "answer", "pieces", "noise", "twice", "answer and die")
BAD = ("late", "never", "broken", "anonymous", "garbage", "long", "die", "killed")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "hello", [None, '{"hello":{"cancel":true,"shutdown":true}}'], ids=["plain", "announces cancel"]
)
async def test_every_request_ends_with_its_own_answer_or_a_failure(provide, monkeypatch, seed, hello):
    monkeypatch.setattr(supervision, "DELAY_SECONDS_MIN", 0.01)
    monkeypatch.setattr(supervision, "DELAY_SECONDS_MAX", 0.02)
    chance = random.Random(seed)
    program = await provide(
        mode="stream",
        command=sys.executable,
        args=["-S", "-c", PROGRAM],
        processes=2,
        concurrency=chance.choice([1, 3]),
        timeout_seconds=0.5,
        grace_seconds=0.2,
        limits={"line_bytes": 4_000},
        env={"HELLO": hello} if hello else {},
    )

    async def one(n):
        does = chance.choice(BAD if chance.random() < 0.08 else GOOD)
        task = asyncio.ensure_future(program.run(json.dumps({"n": n, "do": does}).encode(), name=f"r{n}"))
        if chance.random() < 0.03:
            asyncio.get_running_loop().call_later(chance.random() * 0.02, task.cancel)
        try:
            return n, does, await task
        except asyncio.CancelledError:
            return n, "cancelled", None

    left = iter(range(REQUESTS))

    async def lane():
        return [await one(n) for n in left]

    ended = [each for lane_ended in await asyncio.gather(*(lane() for _ in range(8))) for each in lane_ended]

    assert len(ended) == REQUESTS
    for n, does, result in ended:
        if result is None:
            continue
        if result.failure is None:
            assert result.outcome.status in (b"%d" % n, b'"whose?"' if does == "anonymous" else b"")
        else:
            assert isinstance(result.failure, Retry | Terminal | Released)
            assert does in BAD or isinstance(result.failure, Retry | Released), result.failure
    answered = sum(1 for _, does, result in ended if result and result.failure is None and does in GOOD)
    assert answered > REQUESTS / 2
