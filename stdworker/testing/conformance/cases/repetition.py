"""The same request again: tasks run at least once, so sometimes twice."""

from __future__ import annotations

from stdworker.model.json_text import equal
from stdworker.model.kind import Trigger
from stdworker.model.outcome import Outcome
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab, status_of
from stdworker.testing.conformance.verdict import Finding, Skipped, case, failed, passed, warned

UNKNOWN_MEMBERS = b',"x_check":{"later":[1,null]},"x_check_text":"later"'


@case(
    "idempotent",
    "the same request twice has the same outcome",
    why="A task whose worker died is run again, and a resync runs it every few minutes.",
    advice="Look whether the thing is there before you create it; name things after name and uid, not at random.",
)
async def idempotent(lab: Lab) -> Finding:
    first = await lab.ask(lab.request("idempotent"))
    again = lab.request("idempotent")
    again.resource.status_json = status_of(first)
    second = await lab.ask(again)
    if first.ending is not Ending.SUCCESS:
        return failed(str(first), first)
    if second.ending is not Ending.SUCCESS:
        return failed(f"the second time {second}", second)
    for name in ("children", "edges", "configs"):
        if _outcome(first, name) != _outcome(second, name):
            return failed(f"the second time the {name} are others", second)
    if not equal(status_of(first), status_of(second)):
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
    if lab.subject.deleter is None:
        raise Skipped("it has no deleteRequested reaction")
    first = await lab.react("twice", lab.subject.deleter)
    if first.ending is not Ending.SUCCESS:
        raise Skipped("it can't be deleted once (see reactions)")
    second = await lab.ask(lab.request(f"twice-{lab.subject.deleter.name}", reaction=lab.subject.deleter))
    return passed() if second.ending is Ending.SUCCESS else failed(f"the second time {second}", second)


@case(
    "resync",
    "it answers a resync",
    why="With resync_interval_secs the engine runs the specChange reaction again and again, with the trigger resync.",
    advice="Do the same for the trigger resync as for specChange, or declare a resync reaction.",
)
async def resync(lab: Lab) -> Finding:
    manifest, maker = lab.subject.manifest, lab.subject.maker
    if manifest is None or maker is None or not manifest.resync_interval_secs or manifest.resyncer is not None:
        raise Skipped("its resources are not run again after a while, or a reaction of its own does that")
    await lab.ask(lab.request("resync"))
    request = lab.request("resync")
    request.trigger = Trigger.RESYNC
    found = await lab.ask(request)
    return passed() if found.ending is Ending.SUCCESS else failed(str(found), found)


@case(
    "unknown-fields",
    "it ignores fields of a request that it doesn't know",
    why="Later hosts say more; a program that refuses what it doesn't know breaks with the next version.",
    advice="Pick the members that you need and ignore the rest; don't validate requests against a closed schema.",
)
async def unknown_fields(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("unknown-fields"), more=UNKNOWN_MEMBERS)
    return passed() if found.ending is Ending.SUCCESS else failed(str(found), found)


def _outcome(exchange: Exchange, name: str) -> object:
    assert exchange.response is not None
    outcome: Outcome = exchange.response.outcome
    return [repr(entry) for entry in getattr(outcome, name)]


CASES = (idempotent, resync, delete_twice, unknown_fields)
