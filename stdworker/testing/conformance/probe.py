"""The first look: does the program answer at all? If not, which rule does it break?

All other cases build on an answer; without one they are skipped, so that one mistake is told once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stdworker.errors import StdworkerError
from stdworker.model.json_text import members
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.peer import Peer

QUIET_SECONDS = 0.2  # an answer over several lines is whole when nothing more comes for so long


@dataclass(frozen=True, slots=True)
class Probe:
    """`blame` is the id of the case that fails by it, "" when the program answers as it should.

    Without `exchange` nothing could be sent at all.
    """

    exchange: Exchange | None
    blame: str = ""
    message: str = ""


async def probe(lab: Lab) -> Probe:
    if not lab.subject.has_sample:
        return Probe(None, "answer", "nobody can guess a spec that the schema allows: give one with --spec")
    try:
        return await _look(lab)
    except StdworkerError as error:
        return Probe(None, "start", str(error))


async def _look(lab: Lab) -> Probe:
    request = lab.request("answer")
    if not lab.persistent:
        exchange = await lab.ask(request)
        if exchange.lingered:
            return Probe(exchange, "end-of-input", "it answered, and then it didn't end")
        return _judged(lab, exchange)
    async with lab.running() as peer:
        found = await lab.ask_in(peer, request)
        return await _look_closer(lab, peer, found)


async def _look_closer(lab: Lab, peer: Peer, found: Exchange) -> Probe:
    """Tell apart why a persistent program's answer was not understood."""
    if found.ending is Ending.BROKEN:
        await peer.until(lambda: False, QUIET_SECONDS)
        found = replace(found, stdout=bytes(peer.stdout))
        if peer.answers():
            return Probe(replace(found, command=lab.seen(peer, found.sent).command), "ids", found.why)
        start = bytes(peer.stdout).find(b"{")
        if b"\n" in peer.stdout[start:].strip() and members(bytes(peer.stdout[start:])) is not None:
            return Probe(found, "one-line", "the answer is spread over several lines")
    if found.ending is Ending.SILENT:
        peer.close_input()
        await peer.ended(lab.grace_seconds)
        if peer.answers():
            late = replace(found, stdout=bytes(peer.stdout), exit=peer.exit)
            told = f"nothing came for {lab.seconds:g} s, the answer only when the input was closed"
            return Probe(late, "flush", told)
    return _judged(lab, found)


def _judged(lab: Lab, found: Exchange) -> Probe:
    """A spec that was made up may be refused, nothing else may happen to it."""
    made_up = not lab.subject.specs
    if found.ending is Ending.SUCCESS or (made_up and found.ending is Ending.REFUSED):
        return Probe(found)
    return Probe(found, "answer", f"{found}, given a spec that was made up (--spec)" if made_up else str(found))
