"""The last case: what the others have made is deleted again."""

from __future__ import annotations

from contextlib import AsyncExitStack

from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.peer import Peer
from stdworker.testing.conformance.verdict import Finding, Skipped, case, failed, passed


@case(
    "clean-up",
    "it deletes all that it has made",
    why="What a check made should not stay; and what was made from an odd spec must be deletable like all else.",
    advice="Let the deleteRequested reaction find things by name and uid alone, and succeed when they are gone.",
)
async def clean_up(lab: Lab) -> Finding:
    if lab.subject.deleter is None:
        raise Skipped("it has no deleteRequested reaction")
    requests = [lab.deletion(name) for name in lab.made]
    async with AsyncExitStack() as stack:
        peer = await stack.enter_async_context(lab.running()) if lab.persistent and requests else None
        for request in requests:
            found = await _delete(lab, peer, request)
            if found.ending is not Ending.SUCCESS:
                return failed(f"{request.resource.name}, and what was made after it, is still there: {found}", found)
    return passed(f"{len(requests)} resources")


async def _delete(lab: Lab, peer: Peer | None, request: ReactionRequest) -> Exchange:
    """In the running process of a persistent program, as long as that lives."""
    if peer is None or peer.over:
        return await lab.ask(request)
    found = await lab.ask_in(peer, request)
    return await lab.ask(request) if found.ending is Ending.DIED else found


CASES = (clean_up,)
