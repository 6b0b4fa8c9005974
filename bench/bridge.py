"""The bridge alone: round trips through a persistent program, and one-shot programs against a bare spawn loop."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from bench.figure import Figure
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

NAME = "bridge"
BUDGET = (
    "persistent, 32 in flight: 40,000 round trips/s; answers of 10 MB: 200 MB/s;"
    " one-shot bash: 85 % of a bare asyncio spawn loop"
)

ROUND_TRIPS_MIN = 40_000.0
ONESHOT_RATIO_MIN = 0.85
LARGE_MB_A_SECOND_MIN = 200.0
IN_FLIGHT = 32
ONESHOT_PARALLEL = 16
TURNS = 3
LARGE_ANSWERS = {"small": 1, "full": 20}
SIZES = {"small": (500, 16), "full": (200_000, 1_600)}  # round trips, spawns

KIND = KindVersion("bench")
ANSWER = r"""
import os, re
find = re.compile(rb'"id":("[^"]*")').search
rest = b""
while chunk := os.read(0, 65536):
    *lines, rest = (rest + chunk).split(b"\n")
    os.write(1, b"".join(b'{"id":%s,"status":{"ok":true}}\n' % find(line)[1] for line in lines))
"""
LARGE = r"""
import os, re
find = re.compile(rb'"id":("[^"]*")').search
large = %s
rest = b""
while chunk := os.read(0, 65536):
    *lines, rest = (rest + chunk).split(b"\n")
    for line in lines:
        answer = memoryview(b'{"id":%%s,"status":%%s}\n' %% (find(line)[1], large))
        while answer:
            answer = answer[os.write(1, answer):]
"""
TEXT = """b'"' + b'x' * 10_000_000 + b'"'"""
OBJECTS = """b'[' + b','.join(b'{"name":"item-%d","size":%d,"ok":true}' % (n, n) for n in range(220_000)) + b']'"""
ONESHOT = ["-c", 'read -r line; echo \'{"status":{"ok":true}}\'']


async def run(size: str) -> list[Figure]:
    round_trips, spawns = SIZES[size]
    stream = await stream_round_trips(round_trips, IN_FLIGHT)
    oneshot = await oneshot_bash(spawns)
    rate, ratio = stream["per_second"], oneshot["ratio"]
    text, objects = await large_answers(TEXT, LARGE_ANSWERS[size]), await large_answers(OBJECTS, LARGE_ANSWERS[size])
    return [
        Figure(
            "persistent python, 32 in flight",
            rate,
            "round trips/s",
            f"≥ {ROUND_TRIPS_MIN:,.0f}",
            rate >= ROUND_TRIPS_MIN,
        ),
        Figure(
            "answers of 10 MB, one text",
            text,
            "MB/s",
            f"≥ {LARGE_MB_A_SECOND_MIN:,.0f}",
            text >= LARGE_MB_A_SECOND_MIN,
        ),
        Figure("answers of 10 MB, 220,000 objects", objects, "MB/s"),
        Figure("one-shot bash", oneshot["per_second"], "tasks/s"),
        Figure("one-shot bash, bare asyncio loop", oneshot["bare_per_second"], "spawns/s"),
        Figure("one-shot bash, bridge ÷ bare", ratio, "", f"≥ {ONESHOT_RATIO_MIN}", ratio >= ONESHOT_RATIO_MIN),
    ]


async def stream_round_trips(n: int, in_flight: int) -> dict[str, float]:
    """Requests that a persistent python program answers at once; the best of three turns."""
    config = {"mode": "stream", "command": sys.executable, "args": ["-S", "-c", ANSWER], "concurrency": in_flight}
    async with Bridge(config) as work:
        await repeat(work, in_flight, in_flight)
        seconds = min([await repeat(work, n // TURNS, in_flight) for _ in range(TURNS)])
    return {"per_second": n // TURNS / seconds}


async def large_answers(document: str, n: int) -> float:
    """Megabytes a second of answers that a persistent python program has ready, one at a time; the best of n."""
    config = {"mode": "stream", "command": sys.executable, "args": ["-S", "-c", LARGE % document]}
    async with Bridge(config) as work:
        outcome = await work()
        seconds = min([await repeat(work, 1, 1) for _ in range(n)])
    return len(outcome.status) / 1e6 / seconds


async def oneshot_bash(n: int) -> dict[str, float]:
    """A bash program for each request, in turns with the same program started by a bare asyncio loop."""
    ours, bare = [], []
    async with Bridge({"command": "bash", "args": ONESHOT}) as work:
        for _ in range(TURNS):
            bare.append(await bare_spawns(n // TURNS))
            ours.append(n // TURNS / await repeat(work, n // TURNS, ONESHOT_PARALLEL))
    ratio = statistics.median(o / b for b, o in zip(bare, ours, strict=True))
    return {"per_second": max(ours), "bare_per_second": max(bare), "ratio": ratio}


async def bare_spawns(n: int) -> float:
    """How many bash programs a second a bare asyncio loop starts and reads, of n."""
    _use_pidfd_watcher()
    return n / await repeat(_bare_spawn, n, ONESHOT_PARALLEL)


class Bridge:
    """A provider under a config, as a function that runs one request."""

    def __init__(self, config: dict[str, object]) -> None:
        self.config = ProviderConfig(dumps(config))
        self.runtime = BridgeRuntime()
        self.provider = ProgramProvider(KIND, run=self.runtime)

    async def __aenter__(self) -> Callable[[], Awaitable[Any]]:
        await self.provider.on_config(self.config)
        resource = Resource(
            "00000000-0000-0000-0000-000000000001", KIND.kind, "one", 1, 1, spec_json=RawJson(b'{"n":1}')
        )
        request = ReactionRequest(Stage.WORK, Trigger.SPEC_CHANGE, "work", KIND, resource, default=self.config)
        return lambda: self.provider.work(request)

    async def __aexit__(self, *_: object) -> None:
        await self.provider.close()
        await self.runtime.close()


async def _bare_spawn() -> None:
    process = await asyncio.create_subprocess_exec(
        "bash",
        *ONESHOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    await process.communicate(b'{"spec":{"n":1}}\n')


async def repeat(work: Callable[[], Awaitable[Any]], n: int, parallel: int) -> float:
    """Seconds for n calls, `parallel` at a time."""
    left = iter(range(n))

    async def lane() -> None:
        for _ in left:
            await work()

    started = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(parallel)))
    return time.perf_counter() - started


def _use_pidfd_watcher() -> None:
    """The fair opponent: the default since Python 3.12."""
    if sys.version_info < (3, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            watcher = asyncio.PidfdChildWatcher()
            watcher.attach_loop(asyncio.get_running_loop())
            asyncio.set_child_watcher(watcher)
