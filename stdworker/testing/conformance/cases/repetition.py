"""The same request again: tasks run at least once, so sometimes twice."""

from __future__ import annotations

from stdworker.model.json_text import RawJson, dumps, equal
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.verdict import Finding, Skipped, case, failed, passed, warned


@case(
    "idempotent",
    "the same request twice has the same outcome",
    why="A task whose worker died is run again, and a resync runs it every few minutes.",
    advice="Look whether the thing is there before you create it; name things after name and uid, not at random.",
)
async def idempotent(lab: Lab) -> Finding:
    first, second = [await lab.ask(lab.request("idempotent")) for _ in range(2)]
    if first.ending is not Ending.SUCCESS:
        return failed(str(first), first)
    if second.ending is not Ending.SUCCESS:
        return failed(f"the second time {second}", second)
    for name in ("children", "edges", "configs"):
        if _outcome(first, name) != _outcome(second, name):
            return failed(f"the second time the {name} are others", second)
    if not _same_status(first, second):
        told = "the second time the status is another; each resync will look like a change"
        return warned(told, second)
    return passed()


@case(
    "delete-twice",
    "deleting what is gone succeeds",
    why="A delete is tried until it succeeds; one that fails because nothing is left keeps its resource for ever.",
    advice="Treat 'not found' as success when the trigger is deleteRequested.",
)
async def delete_twice(lab: Lab) -> Finding:
    deleter = next((r for r in lab.subject.reactions if r.stage is Stage.DELETE), None)
    if deleter is None:
        raise Skipped("it has no deleteRequested reaction")
    await lab.ask(lab.request("delete-twice"))
    for time in ("first", "second"):
        found = await lab.ask(lab.request("delete-twice", reaction=deleter))
        if found.ending is not Ending.SUCCESS:
            return failed(f"the {time} time {found}", found)
    return passed()


@case(
    "unknown-fields",
    "it ignores fields of a request that it doesn't know",
    why="Later hosts say more; a program that refuses what it doesn't know breaks with the next version.",
    advice="Pick the members that you need and ignore the rest; don't validate requests against a closed schema.",
)
async def unknown_fields(lab: Lab) -> Finding:
    request_id, line = lab.line(lab.request("unknown-fields"))
    later = line.rstrip()[:-1] + b',"x_check":{"later":[1,null]},"x_check_text":"later"}\n'
    found = await lab.send_raw(request_id, later)
    return passed() if found.ending is Ending.SUCCESS else failed(str(found), found)


def _outcome(exchange: Exchange, name: str) -> object:
    assert exchange.response is not None
    outcome: Outcome = exchange.response.outcome
    return [repr(entry) for entry in getattr(outcome, name)]


def _same_status(first: Exchange, second: Exchange) -> bool:
    assert first.response is not None
    assert second.response is not None
    one, other = (_document(exchange) for exchange in (first, second))
    return equal(one, other)


def _document(exchange: Exchange) -> RawJson | None:
    status = exchange.response.outcome.status if exchange.response else None
    return None if status is None else dumps(status)


CASES = (idempotent, delete_twice, unknown_fields)
