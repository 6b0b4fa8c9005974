"""The first look: does the program answer at all? If not, which rule does it break?

All other cases build on an answer; without one they are skipped, so that one mistake is told once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stdworker.framing.messages import Answer
from stdworker.model.json_text import members
from stdworker.testing.conformance.exchange import Ending, Exchange, judge_answer
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.peer import Peer
from stdworker.testing.conformance.reproduce import call_command

QUIET_SECONDS = 0.2  # an answer over several lines is whole when nothing more comes for so long


@dataclass(frozen=True, slots=True)
class Probe:
    """`blame` is the id of the case that fails by it, "" when the program answers as it should."""

    exchange: Exchange
    blame: str = ""
    message: str = ""


async def probe(lab: Lab) -> Probe:
    request = lab.request("answer")
    if not lab.streams:
        exchange = await lab.ask(request)
        if exchange.lingered:
            return Probe(exchange, "end-of-input", "it answered, and then it didn't end")
        return _judged(exchange)
    request_id, line = lab.line(request)
    async with lab.running() as peer:
        found = await lab.send_to(peer, request_id, line)
        found = replace(found, command=call_command(lab.subject, request))
        return await _look_closer(lab, peer, request_id, found)


async def _look_closer(lab: Lab, peer: Peer, request_id: str, found: Exchange) -> Probe:
    """Tell apart why a persistent program's answer was not understood."""
    if found.ending is Ending.BROKEN:
        await peer.until(lambda: False, QUIET_SECONDS)
        found = replace(found, stdout=bytes(peer.stdout))
        if any(isinstance(message, Answer) and message.id != request_id for message in peer.messages()):
            return Probe(found, "ids", found.why)
        start = bytes(peer.stdout).find(b"{")
        if b"\n" in peer.stdout[start:].strip() and members(bytes(peer.stdout[start:])) is not None:
            return Probe(found, "one-line", "the answer is spread over several lines")
    if found.ending is Ending.SILENT:
        peer.close_input()
        await peer.ended(lab.grace_seconds)
        late = judge_answer(found.sent, request_id, peer, lab.seconds)
        if late.response is not None:
            late = replace(late, command=found.command)
            return Probe(
                late, "flush", f"nothing came for {lab.seconds:g} s, the answer only when the input was closed"
            )
    return _judged(found)


def _judged(exchange: Exchange) -> Probe:
    return Probe(exchange) if exchange.sound else Probe(exchange, "answer", str(exchange))
