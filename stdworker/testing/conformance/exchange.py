"""One request and what came of it, judged by the rules of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from stdworker.bridge.result import EXIT_TERMINAL
from stdworker.errors import ResponseError
from stdworker.framing.document import read_document
from stdworker.framing.messages import Answer, Broken, Message, Stray
from stdworker.framing.response import Response, check_edges, parse_response
from stdworker.model.resource import Ref
from stdworker.process.exits import Exit
from stdworker.testing.conformance.peer import Peer

EXITS_OF_SHELLS = (126, 127)  # a command was not executable, or not found: the program itself is broken


class Ending(StrEnum):
    SUCCESS = "succeeded"
    REFUSED = "refused it for good"
    FAILED = "failed for now"
    BROKEN = "broke the protocol"
    SILENT = "gave no answer"
    DIED = "died"


@dataclass(frozen=True, slots=True)
class Exchange:
    """`sent` and what came back. `command` is a shell command that does the same; `stray` is text that is no message.

    `lingered`: a one-shot program had answered but not ended when its time was over.
    """

    sent: bytes
    stdout: bytes
    stderr: str
    exit: Exit | None
    ending: Ending
    why: str = ""
    response: Response | None = None
    stray: tuple[bytes, ...] = ()
    lingered: bool = False
    command: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"the program {self.ending}" + (f": {self.why}" if self.why else "")

    @property
    def sound(self) -> bool:
        """The program kept the protocol, whatever it said."""
        return self.ending in (Ending.SUCCESS, Ending.REFUSED, Ending.FAILED)

    def without_secrets(self, redact: Callable[[str], str]) -> Exchange:
        """The texts as they may be shown; `command` has no secrets, and the rest is not shown."""
        sent, stdout = (
            redact(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            for text in (self.sent, self.stdout)
        )
        return replace(self, sent=sent, stdout=stdout, stderr=redact(self.stderr))


def judge_oneshot(sent: bytes, peer: Peer, seconds: float) -> Exchange:
    """What a process that was given one request and the end of its input has done with it."""
    found = seen(sent, peer)
    if peer.flooded:
        return _flooded(found)
    text = peer.without_notices()
    try:
        document = read_document(text)
        response = parse_response(document.response or b"{}")
    except ResponseError as error:
        return _without_response(found, error, seconds)
    found = replace(found, response=response, stray=document.stray)
    if peer.exit is None:
        if document.response is None:
            return _silent(found, seconds)
        return replace(_by_response(found, response), lingered=True)
    if peer.exit.code == 0:
        return _by_response(found, response)
    said = response.error.message if response.error else ""
    return _by_exit(found, peer.exit, said)


def judge_answer(sent: bytes, request_id: str, peer: Peer, seconds: float, *, since: int = 0) -> Exchange:
    """What a persistent process said to one request; `since` is how many messages it had sent before."""
    messages = peer.messages()[since:]
    found = replace(seen(sent, peer), stray=tuple(m.start for m in messages if isinstance(m, Stray)))
    if peer.flooded:
        return _flooded(found)
    for message in messages:
        if isinstance(message, Answer) and message.id in (request_id, None):
            return _by_document(found, message.document)
        if isinstance(message, Broken):
            return replace(found, ending=Ending.BROKEN, why=_reason(message.error))
        if isinstance(message, Answer) and message.id not in peer.asked:
            why = f"it answered with the id {message.id!r}, the request's is {request_id!r}"
            return replace(found, ending=Ending.BROKEN, why=why)
    if peer.exit is not None:
        return replace(found, ending=Ending.DIED, why=str(peer.exit))
    if peer.over:
        return replace(found, ending=Ending.DIED, why="it closed the connection")
    return _silent(found, seconds)


def judge_children(found: Exchange, observed: Iterable[Ref]) -> Exchange:
    """The rules that span children and edges; `observed` are the children that there were before."""
    if found.ending is not Ending.SUCCESS or found.response is None:
        return found
    try:
        check_edges(found.response.outcome, observed)
    except ResponseError as error:
        return replace(found, ending=Ending.BROKEN, why=_reason(error))
    return found


def is_decisive(message: Message, asked_before: Set[str]) -> bool:
    """Is it an answer, and not another one to an earlier request? Such a one is dropped."""
    return isinstance(message, Broken) or (isinstance(message, Answer) and message.id not in asked_before)


def _reason(error: ResponseError) -> str:
    """The message without what was received: the exchange has all of it."""
    return error.message.partition("; received: ")[0]


def seen(sent: bytes, peer: Peer) -> Exchange:
    """Evidence of what a process has done so far, without a judgement."""
    stderr = peer.stderr.value().decode("utf-8", "replace")
    return Exchange(sent, bytes(peer.stdout), stderr, peer.exit, Ending.SILENT)


def _silent(found: Exchange, seconds: float) -> Exchange:
    return replace(found, ending=Ending.SILENT, why=f"nothing in {seconds:g} s")


def _flooded(found: Exchange) -> Exchange:
    return replace(found, ending=Ending.BROKEN, why=f"it printed more than {len(found.stdout)} bytes")


def _without_response(found: Exchange, error: ResponseError, seconds: float) -> Exchange:
    if found.exit is None:
        return _silent(found, seconds)
    if found.exit.code == 0:
        return replace(found, ending=Ending.BROKEN, why=_reason(error))
    return _by_exit(found, found.exit, "")


def _by_document(found: Exchange, document: bytes) -> Exchange:
    try:
        response = parse_response(document)
    except ResponseError as error:
        return replace(found, ending=Ending.BROKEN, why=_reason(error))
    return _by_response(found, response)


def _by_response(found: Exchange, response: Response) -> Exchange:
    found = replace(found, response=response)
    if response.error is None:
        return replace(found, ending=Ending.SUCCESS)
    ending = Ending.REFUSED if response.error.terminal else Ending.FAILED
    return replace(found, ending=ending, why=response.error.message)


def _by_exit(found: Exchange, ended: Exit, said: str) -> Exchange:
    why = f"{ended}; it said: {said}" if said else str(ended)
    if ended.signal is not None or ended.code in EXITS_OF_SHELLS:
        return replace(found, ending=Ending.DIED, why=why)
    return replace(found, ending=Ending.REFUSED if ended.code == EXIT_TERMINAL else Ending.FAILED, why=why)
