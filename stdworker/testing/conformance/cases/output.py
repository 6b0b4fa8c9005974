"""What a program prints: an answer, at once, on one line, and nothing else."""

from __future__ import annotations

from stdworker.framing.messages import Answer
from stdworker.model.json_text import RawJson, dumps, join_members, members
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.verdict import (
    PERSISTENT,
    PROCESS,
    Finding,
    Skipped,
    already_judged,
    case,
    failed,
    passed,
    warned,
)

START_SECONDS = 1.0  # a program that needs longer for its first answer is slow
SHOWN_CHARACTERS_MAX = 120
SECRET = "check-secret-5b1f0c9e"

start = case(
    "start",
    "it can be started, or reached",
    why="The host must find the program and may run it, before anything else; in mode socket somebody listens.",
    advice="Look at the path, the permission, the #! line, or the address, as the message says.",
    needs_success=False,
)(already_judged)


@case(
    "answer",
    "it answers a request",
    why="Everything else builds on it: a request came on stdin, an answer in the protocol goes to stdout.",
    advice=(
        "Read one JSON object from stdin, print one JSON object with status, children, output or error. If the program"
        " needs a certain spec to succeed, give it with --spec; if it says no, let it exit with 2 or print an error."
    ),
    needs_success=False,
)
async def answer(lab: Lab) -> Finding:
    found = lab.answered
    if found.ending is Ending.SUCCESS:
        return passed()
    return warned(f"{found}, given a spec that was made up: give one that works with --spec", found)


@case(
    "start-time",
    "it starts quickly",
    why="In mode oneshot every task pays for the start of the program, after a crash every waiting one does.",
    advice=(
        "Load less at the start (slow imports first of all), or use mode stream, where a process serves many requests."
    ),
    modes=PROCESS,
    needs_success=False,
)
async def start_time(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("start-time"))
    told = f"{found.seconds * 1_000:.0f} ms to the first answer"
    return passed(told) if found.seconds <= START_SECONDS else warned(told, found)


flush = case(
    "flush",
    "an answer leaves at once",
    why="A persistent program whose output waits in a buffer looks hung: every request runs into its deadline.",
    advice=(
        "Flush after each answer: print(…, flush=True), jq --unbuffered, sed -u, grep --line-buffered, awk's fflush(),"
        " fflush(stdout), or run the program under stdbuf -oL."
    ),
    modes=PERSISTENT,
    needs_success=False,
)(already_judged)


one_line = case(
    "one-line",
    "an answer is one line",
    why="A line is what ends a message of a persistent program; half an object is an error.",
    advice="Print compact JSON: jq -c, json.dumps without indent, JSON.stringify without a third argument.",
    modes=PERSISTENT,
    needs_success=False,
)(already_judged)


@case(
    "stray-output",
    "it prints nothing but messages",
    why="Text between the messages is logged as stray, and under strict it fails the task.",
    advice='Print what is for people on stderr, or as {"log": {"message": …}}.',
    needs_success=False,
)
async def stray_output(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("stray-output"))
    if not found.stray:
        return passed()
    first = found.stray[0][:SHOWN_CHARACTERS_MAX].decode("utf-8", "replace")
    told = f"no message is: {first}" + (f" (and {len(found.stray) - 1} lines more)" if len(found.stray) > 1 else "")
    return _as_strict_as_the_host(lab, told, found)


@case(
    "answer-fields",
    "an answer has the protocol's fields only",
    why="A misspelt field is lost: the host warns and goes on, under strict it fails the task.",
    advice="Put what you report inside status; the fields of an answer are those of response.schema.json.",
    needs_success=False,
)
async def answer_fields(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("answer-fields"))
    unknown = found.response.unknown if found.response else ()
    if not unknown:
        return passed()
    told = f"unknown fields: {', '.join(unknown)}"
    return _as_strict_as_the_host(lab, told, found)


def _as_strict_as_the_host(lab: Lab, told: str, found: Exchange) -> Finding:
    """What a host lets pass with a warning, under `strict` it doesn't."""
    return failed(told, found) if lab.launch.strict else warned(told, found)


@case(
    "one-answer",
    "a request gets one answer",
    why="A second answer to the same request is dropped; most often a loop forgot to stop.",
    advice="Print one answer for each request, and report what happens before it as a log or progress notice.",
    modes=PERSISTENT,
    needs_success=False,
)
async def one_answer(lab: Lab) -> Finding:
    async with lab.running() as peer:
        first = await lab.ask_in(peer, lab.request("one-answer-1"))
        await lab.ask_in(peer, lab.request("one-answer-2"))
        peer.close_input()
        await peer.ended(lab.grace_seconds)
        answers = [message for message in peer.messages() if isinstance(message, Answer)]
    if len(answers) <= 2:
        return passed()
    return failed(f"two requests got {len(answers)} answers", first)


@case(
    "secrets",
    "it prints no secrets",
    why="What a program prints ends in logs and messages. Secrets are masked there, but not in every spelling.",
    advice="Don't dump the whole request or the config for debugging; print the members that you need.",
)
async def secrets(lab: Lab) -> Finding:
    known = members(lab.launch.settings or RawJson(b"{}"))
    if known is None:
        raise Skipped("its settings are not an object")
    settings = join_members({**known, "check_token": dumps(SECRET)})
    found = await lab.ask(lab.request("secrets"), settings=settings)
    if found.ending is not Ending.SUCCESS:
        raise Skipped("it doesn't take a setting that it doesn't know")
    if SECRET in found.stderr:
        return warned("the value of the setting check_token is on stderr", found)
    if SECRET.encode() in found.stdout:
        return warned("the value of the setting check_token is in the answer", found)
    return passed()


CASES = (start, answer, start_time, flush, one_line, stray_output, answer_fields, one_answer, secrets)
