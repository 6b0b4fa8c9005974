"""Programs that do anything at random: every request ends as the table of exits says, and nothing is left of it.

FUZZ_ROUNDS multiplies how many behaviours there are, FUZZ_SEED chooses others.
"""

import asyncio
import json
import os
import random
import signal
import sys
from dataclasses import dataclass, field

import pytest

from stdworker.errors import Released, Retry, Terminal
from stdworker.model.json_text import members

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "1"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
LANES = 12
STDOUT_BYTES_MAX = 150_000
LARGE = "x" * 300_000  # more than a pipe holds
HANG_SECONDS = 0.4  # a program that hangs is given so long
HELLO = '{"hello":{"cancel":true,"shutdown":true}}'

ACTOR = r"""
import os, signal, time
def write(fd, data):
    try:
        while data: data = data[os.write(fd, data):]
    except OSError: pass
def act(steps, id=""):
    for step, *values in steps:
        match step:
            case "write": write(values[0], values[1].replace("@ID", id).encode("latin-1"))
            case "trickle":
                text, size, pause = values
                data = text.replace("@ID", id).encode("latin-1")
                for n, at in enumerate(range(0, len(data), size)):
                    write(1, data[at : at + size])
                    if n < 10: time.sleep(pause)
            case "sleep": time.sleep(values[0])
            case "read": os.read(0, 1 << 20)
            case "close":
                try: os.close(values[0])
                except OSError: pass
            case "flood": write(values[0], values[1].encode() * values[2])
            case "deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case "child":
                if os.fork() == 0:
                    if values[0] == "session": os.setsid()
                    if values[0] == "deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    if values[0] == "busy":
                        while True: pass
                    time.sleep(600)
                    os._exit(0)
            case "exit": os._exit(values[0])
            case "kill": os.kill(os.getpid(), values[0])
            case "hang":
                while True: time.sleep(600)
"""
ONESHOT = ACTOR + "import json, sys; act(json.loads(sys.argv[1]))"
STREAM = (
    ACTOR
    + r"""
import json
if "HELLO" in os.environ: write(1, os.environ["HELLO"].encode() + b"\n")
rest = b""
while chunk := os.read(0, 65536):
    *lines, rest = (rest + chunk).split(b"\n")
    for line in lines:
        request = json.loads(line)
        if "protocol" in request: act(request["spec"]["do"], request["id"])
"""
)


def responses(n):
    """A response, and how the `error` in it is to be taken."""
    return [
        (f'{{"status":{n}}}', None),
        (f'{{\n  "status": [{n}.0,\n 1e2, 123456789012345678901234567890]\n}}', None),
        (f'{{"id":"any","status":{{"n":{n}}},"conditions":[{{"type":"Ready","status":"True"}}]}}', None),
        ("{}", None),
        (f'{{"status":{n},"error":{{"message":"busy"}}}}', Retry),
        ('{"error":{"message":"no","terminal":true,"reason":"No"}}', Terminal),
    ]


BAD = [
    '{"status":NaN}',
    '{"status":1,"status":2}',
    '{"status":{"a":',
    '{"children":7}',
    '{"status":"\\ud800"}',
    '{"a":1}',
]
BAD += ["[1]", "just text", '{"status":"\xff"}', "{" * 500, '{"status":1e999}', '{"id":7}']
STRAY = ["loading", "[1,2]", "42", '"{"', "\xff\xfe", "\0\0", "}"]
NOTICES = ['{"log":{"level":"warn","message":"m"}}', '{"progress":{"fraction":0.5}}', '{"log":"text"}']


@dataclass
class Behaviour:
    """What one one-shot program does, and how its request must end."""

    n: int
    steps: list = field(default_factory=list)
    seconds: float | None = None
    strict: bool = False
    spec: str = "1"
    cancelled: bool = False
    expected: object = None


def behaviour(seed, n):
    chance = random.Random(f"{seed}/{n}")
    it = Behaviour(n, strict=chance.random() < 0.1, spec=json.dumps(chance.choice([n, n, LARGE])))
    kind = chance.choices(["good", "bad", "silent", "two", "flood"], [10, 4, 2, 1, 1])[0]
    document, error = chance.choice(responses(n))
    strays = [chance.choice(STRAY) for _ in range(chance.choice([0, 0, 0, 1, 2]))] if kind in ("good", "two") else []
    said = {"good": [document], "bad": [chance.choice(BAD)], "two": [document, document]}.get(kind, [])
    it.steps = [*before(chance), trickle(chance, printed(chance, [*said, *strays]))]
    if kind == "flood":
        it.steps.append(["flood", 1, chance.choice(["x", "\n", "{", "{}\n", "y\n", "\0"]), 200_000])
    if chance.random() < 0.15:
        at = chance.randrange(len(it.steps) + 1)
        it.steps.insert(at, ["flood", 2, chance.choice(["x", "\n", "\xff", "E: no\n"]), 200_000])
    it.cancelled = chance.random() < 0.04
    steps, exit_class = ending(chance, deaf=["deaf"] in it.steps)
    it.steps += steps
    if kind == "flood":
        it.expected = Terminal, {"OutputTooLarge"}
    elif ["hang"] in steps:
        it.seconds = HANG_SECONDS
        it.expected = Retry, {"DeadlineExceeded"}
    else:
        it.expected = verdict(kind, document, error, exit_class, stray=bool(strays) and it.strict)
    return it


def printed(chance, lines):
    """The lines in any order, with notices among them, as a text."""
    lines += [chance.choice(NOTICES) for _ in range(chance.choice([0, 0, 1, 3]))]
    chance.shuffle(lines)
    text = "".join(line + "\n" for line in lines)
    if chance.random() < 0.2:
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if chance.random() < 0.2 else text


def before(chance):
    """What a program may do before it answers."""
    steps = [["read"]] if chance.random() < 0.7 else []
    if chance.random() < 0.1:
        steps.append(["close", 0])
    if chance.random() < 0.1:
        steps.append(["deaf"])
    if chance.random() < 0.15:
        steps.append(["child", chance.choice(["group", "session", "deaf", "busy"])])
    return steps


def ending(chance, *, deaf):
    """The last steps, and the class of the failure that the exit status alone decides."""
    steps = [["close", 1]] if chance.random() < 0.1 else []
    code = chance.choice([0, 0, 0, 0, 0, 1, 2, 3, 77, 127, 137])
    number = chance.choice([signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGKILL if deaf else signal.SIGTERM])
    match chance.choices(["exit", "kill", "hang"], [12, 3, 2])[0]:
        case "exit":
            return [*steps, ["exit", code]], {0: None, 2: Terminal}.get(code, Retry)
        case "kill":
            return [*steps, ["kill", int(number)]], Retry
        case _:
            return [*steps, ["hang"]], None


def verdict(kind, document, error, exit_class, *, stray):
    """The table of exits: the class of a failure and its reason, or None and the status."""
    own_words = {"No", "ProgramFailed"}
    if exit_class is not None:
        return exit_class, own_words if kind == "good" and error else {"ExitTerminal", "ExitTransient", "ProgramKilled"}
    if kind in ("bad", "two"):
        return Terminal, {"BadResponse"}
    if stray:
        return Terminal, {"StrayOutput"}
    if kind == "good" and error:
        return error, own_words
    return None, members(document.encode()).get("status") if kind == "good" else None


def trickle(chance, text):
    """The text in pieces, with pauses between the first ones."""
    return ["trickle", text, chance.choice([1, 3, 20, 10_000]), chance.choice([0, 0, 0.002])]


async def in_lanes(count, one):
    """`one(n)` for n below `count`, some at a time; what each answered."""
    left = iter(range(count))

    async def lane():
        return [await one(n) for n in left]

    return [each for ended in await asyncio.gather(*(lane() for _ in range(LANES))) for each in ended]


async def with_luck(run, chance, *, cancelled):
    """The result, or None when the task was cancelled."""
    task = asyncio.ensure_future(run)
    if cancelled:
        asyncio.get_running_loop().call_later(chance.random() * 0.05, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return None


@pytest.fixture
async def no_task_is_left():
    yield
    assert [task for task in asyncio.all_tasks() if "anyio" not in repr(task)] == []


async def test_every_one_shot_program_ends_as_the_table_says(no_task_is_left, provide):
    program = await provide(
        command=sys.executable, grace_seconds=0.2, limits={"stdout_bytes": STDOUT_BYTES_MAX, "stderr_tail_bytes": 1_000}
    )

    async def one(n):
        does = behaviour(SEED, n)
        override = {"args": ["-S", "-c", ONESHOT, json.dumps(does.steps)], "strict": does.strict}
        run = program.run(does.spec.encode(), name=f"r{n}", seconds=does.seconds, override=override)
        return does, await with_luck(run, random.Random(n), cancelled=does.cancelled)

    for does, result in await in_lanes(100 * ROUNDS, one):
        if result is not None:
            kind, told = does.expected
            assert type(result.failure) is (kind or type(None)), (does, result.failure)
            if kind is None:
                assert words(result.outcome.status) == words(told), does
            else:
                assert result.failure.reason in told, (does, result.failure)
                assert result.failure.message


def words(document):
    return document and document.split()


# ---- persistent programs ----


def own(text):
    return ["write", 1, text]


def good_turn(chance, n):
    """Steps of a persistent program that answers its request; its process goes on."""
    answer = f'{{"id":"@ID","status":{n}}}\n'
    return chance.choice(
        [
            [own(answer)],
            [own(answer)],
            [trickle(chance, f'{{"id": "@ID","status": {n}}}\r\n')],
            [own("noise\n\n[1]\n" + "".join(line + "\n" for line in NOTICES) + answer)],
            [own(answer + answer)],
            [own(answer), ["sleep", 0.01], own(answer)],
            [["sleep", chance.random() * 0.03], own(answer)],
            [["flood", 2, chance.choice(["x", "no\n", "\0"]), 100_000], own(answer)],
            [["flood", 1, chance.choice(["\n", "no\n", "x"]), 20_000], own("\n" + answer)],
            [["child", chance.choice(["group", "deaf"])], own(answer)],
            [["deaf"], own(answer)],
            [own('{"progress":{"id":"@ID","fraction":0.5}}\n{"progress":{"id":"nobody"}}\n' + answer)],
            [own('{"id":"nobody","status":0}\n{"ready":true}\n' + answer)],
        ]
    )


def bad_turn(chance):
    """Steps that end in no answer, the failure that is due when nobody else is there, and its reason."""
    return chance.choice(
        [
            ([], Retry, "DeadlineExceeded"),
            ([["close", 0], ["hang"]], Retry, "DeadlineExceeded"),
            ([own('{"id":"@ID","status":NaN}\n')], Terminal, "BadResponse"),
            ([own('{"id":"@ID","children":7}\n')], Terminal, "BadResponse"),
            ([own('{"id":null}\n')], Terminal, "BadResponse"),
            ([own("{\n}\n")], Terminal, "BadResponse"),
            ([own('{"id":"@ID","status":"' + "x" * 5_000 + '"}\n')], Terminal, "BadResponse"),
            ([own('{"id":"@ID","status":'), ["exit", 0]], Retry, "ProgramDied"),
            ([own("bye\n"), ["exit", 3]], Retry, "ProgramDied"),
            ([["kill", int(signal.SIGKILL)]], Retry, "ProgramDied"),
            ([["close", 1], ["sleep", 9]], Retry, "ProgramDied or, when a child holds it open, DeadlineExceeded"),
            ([["flood", 1, chance.choice(["x", "\n", "y\n"]), 200_000]], Terminal, "OutputTooLarge"),
            ([own('{"id":"@ID","error":{"message":"no"}}\n')], Retry, "ProgramFailed"),
        ]
    )


def stream_config(hello, **config):
    return {
        "mode": "stream",
        "command": sys.executable,
        "args": ["-S", "-c", STREAM],
        "timeout_seconds": 2,
        "grace_seconds": 0.2,
        "limits": {"line_bytes": 4_000, "stdout_bytes": STDOUT_BYTES_MAX, "stderr_tail_bytes": 1_000},
        "env": {"HELLO": HELLO} if hello else {},
        **config,
    }


@pytest.mark.parametrize("hello", [False, True], ids=["plain", "announces cancel"])
async def test_one_request_at_a_time_gets_what_its_own_turn_deserves(no_task_is_left, provide, impatient, hello):
    program = await provide(**stream_config(hello, processes=4))

    async def one(n):
        chance = random.Random(f"{SEED}/{hello}/{n}")
        steps, kind, told = bad_turn(chance) if chance.random() < 0.12 else (good_turn(chance, n), None, [b"%d" % n])
        spec = json.dumps({"n": n, "do": steps}).encode()
        return (
            steps,
            kind,
            told,
            await with_luck(program.run(spec, name=f"r{n}"), chance, cancelled=chance.random() < 0.03),
        )

    for steps, kind, told, result in await in_lanes(150 * ROUNDS, one):
        if result is not None:
            assert type(result.failure) is (kind or type(None)), (steps, result.failure)
            assert (result.failure.reason if kind else result.outcome.status) in told, (steps, result.failure)


@pytest.mark.parametrize("hello", [False, True], ids=["plain", "announces cancel"])
async def test_among_others_no_request_gets_what_isn_t_its_own(no_task_is_left, provide, impatient, hello):
    program = await provide(**stream_config(hello, processes=2, concurrency=3))
    answered = 0

    async def one(n):
        chance = random.Random(f"{SEED}/several/{hello}/{n}")
        ill = chance.random() < 0.1
        steps = bad_turn(chance)[0] if ill else good_turn(chance, n)
        if not ill and chance.random() < 0.05:
            steps.append(chance.choice([["exit", 0], ["kill", int(signal.SIGKILL)], ["close", 0], ["close", 1]]))
        spec = json.dumps({"n": n, "do": steps}).encode()
        run = program.run(spec, name=f"r{n}")
        return n, ill, steps, await with_luck(run, chance, cancelled=chance.random() < 0.03)

    for n, ill, steps, result in await in_lanes(150 * ROUNDS, one):
        if result is None:
            continue
        if result.failure is None:
            assert result.outcome.status == b"%d" % n, steps
            answered += 1
        else:
            assert type(result.failure) in ((Retry, Terminal, Released) if ill else (Retry, Released)), (
                steps,
                result.failure,
            )
    assert answered > 75 * ROUNDS
