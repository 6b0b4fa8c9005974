"""A process that serves many requests: ids, order, and the control lines that it asked for."""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.framing.messages import Answer, Hello
from stdworker.framing.request import SHUTDOWN_LINE, cancel_line, config_line
from stdworker.model.json_text import RawJson, dumps, members
from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.exchange import Ending
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.peer import Peer
from stdworker.testing.conformance.samples import NoSample, place
from stdworker.testing.conformance.verdict import PERSISTENT, Finding, Skipped, case, failed, passed, warned

IN_FLIGHT_MAX = 16  # requests at once, however high the concurrency is


@case(
    "next-request",
    "it goes on after an answer",
    why="Each end of a process costs a restart with a delay that grows; five within two minutes make the kind unready.",
    advice="Read requests in a loop until the end of input, or use mode oneshot.",
    modes=PERSISTENT,
    needs_success=False,
)
async def next_request(lab: Lab) -> Finding:
    async with lab.running() as peer:
        for number in range(1, 4):
            found = await lab.ask_in(peer, lab.request(f"next-request-{number}"))
            if not found.sound:
                return failed(f"request {number}: {found}", found)
    return passed()


@case(
    "ids",
    "an answer carries the id of its request",
    why="Only the id says whose answer it is: without it nothing can be asked while another request is in flight.",
    advice="Copy id from the request into the answer, as it is.",
    modes=PERSISTENT,
    needs_success=False,
)
async def ids(lab: Lab) -> Finding:
    async with lab.running() as peer:
        found = await lab.ask_in(peer, lab.request("ids"))
        missing = any(answer.id is None for answer in peer.answers())
    if not missing:
        return passed()
    if lab.launch.concurrency > 1:
        return failed("its answers have no id, and concurrency is more than 1", found)
    return warned("its answers have no id; that works only while concurrency is 1", found)


@case(
    "concurrency",
    "it answers as many requests at once as it is sent",
    why="The host sends up to `concurrency` requests before the first answer; each must get its own.",
    advice="Take request and answer together (no global state), or set concurrency to 1.",
    modes=PERSISTENT,
)
async def concurrency(lab: Lab) -> Finding:
    count = min(lab.launch.concurrency, IN_FLIGHT_MAX)
    if count == 1:
        raise Skipped("concurrency is 1")
    numbers = range(1, count + 1)
    requests = [lab.request(f"concurrency-{number}", _own_spec(lab, number)) for number in numbers]
    alone = await _one_by_one(lab, requests)
    if any("error" in told for told in alone):  # it takes only certain specs
        requests = [lab.request(f"concurrency-{number}") for number in numbers]
        alone = await _one_by_one(lab, requests)
    lines = dict(lab.line(request) for request in requests)
    together = b"".join(lines.values())
    async with lab.running() as peer:
        peer.write(together)
        await peer.until(lambda: len(peer.answers()) >= count, lab.seconds)
        found = lab.seen(peer, together)
        answers = {answer.id: _told(answer) for answer in peer.answers()}
    missing = len(lines.keys() - answers.keys())
    if missing:
        return failed(f"of {count} requests sent at once, {missing} got no answer", found)
    for request_id, told in zip(lines, alone, strict=False):
        if answers[request_id] != told and answers[request_id] in alone:
            return failed("requests that were sent at once got each other's answers", found)
    return passed(f"{count} at once")


def _own_spec(lab: Lab, number: int) -> RawJson:
    """Of one of several requests, so that their answers differ where they show the spec."""
    subject = lab.subject
    try:
        text = f"check-{number}"
        return dumps(place(subject.spec_schema, subject.base_spec.value(), text, type_names=("string",)))
    except NoSample:
        return subject.base_spec


async def _one_by_one(lab: Lab, requests: Sequence[ReactionRequest]) -> list[dict[str, RawJson]]:
    """What each is told. Raises Skipped when the answers have no ids."""
    async with lab.running() as peer:
        for request in requests:
            await lab.ask_in(peer, request)
        if any(answer.id is None for answer in peer.answers()):
            raise Skipped("its answers have no id (see ids)")
        return [_told(answer) for answer in peer.answers()]


@case(
    "cancel",
    "a cancelled request is answered within the grace period",
    why="A program that announces cancel keeps its process when a request runs out of time, if it answers.",
    advice="Answer a cancelled request, with an error or as if nothing had been; or don't announce cancel in hello.",
    modes=PERSISTENT,
)
async def cancel(lab: Lab) -> Finding:
    async with lab.running() as peer:
        await _announced(lab, peer, "cancel")
        request_id, line = lab.line_unjudged(lab.request("cancel"))
        peer.write(line + cancel_line(request_id))
        answered = await peer.until(lambda: any(a.id == request_id for a in peer.answers()), lab.grace_seconds)
        if not answered:
            return failed("no answer to the request that was cancelled", lab.seen(peer, line + cancel_line(request_id)))
        found = await lab.ask_in(peer, lab.request("cancel-next"))
    return passed() if found.sound else failed(f"after a cancel {found}", found)


@case(
    "config-line",
    "it goes on after new settings",
    why="A program that announces config gets the kind's new settings while it runs.",
    advice='Take {"config": …} as what it is: no request, no answer; or don\'t announce config in hello.',
    modes=PERSISTENT,
)
async def config(lab: Lab) -> Finding:
    async with lab.running() as peer:
        await _announced(lab, peer, "config")
        peer.write(config_line(lab.launch.settings))
        found = await lab.ask_in(peer, lab.request("config-line"))
    return passed() if found.ending is Ending.SUCCESS else failed(f"after new settings {found}", found)


@case(
    "shutdown",
    "it ends when it is told to",
    why="A program that announces shutdown may do its last things; then it must end before the grace period does.",
    advice='Leave the loop at {"shutdown": {}}; or don\'t announce shutdown in hello.',
    modes=PERSISTENT,
)
async def shutdown(lab: Lab) -> Finding:
    async with lab.running() as peer:
        await _announced(lab, peer, "shutdown")
        peer.write(SHUTDOWN_LINE)
        ended = await peer.ended(lab.grace_seconds)
        found = lab.seen(peer, SHUTDOWN_LINE)
    return passed() if ended else failed(f"{lab.grace_seconds:g} s after shutdown it was still there", found)


async def _announced(lab: Lab, peer: Peer, line: str) -> None:
    """After its first answer a program has said hello, or never will."""
    await lab.ask_in(peer, lab.request("hello"))
    hello = next((message for message in peer.messages() if isinstance(message, Hello)), None)
    if hello is None or not getattr(hello, line):
        raise Skipped(f"it doesn't announce {line}")


def _told(answer: Answer) -> dict[str, RawJson]:
    """All but the id, to compare."""
    return {name: value for name, value in (members(answer.document) or {}).items() if name != "id"}


CASES = (next_request, ids, concurrency, cancel, config, shutdown)
