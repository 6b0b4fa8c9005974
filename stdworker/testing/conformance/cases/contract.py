"""What a program declares, held against what it does."""

from __future__ import annotations

from stdworker.bridge.describe import NotDescribed, describe
from stdworker.errors import ManifestError
from stdworker.model.kind import Emit, Stage
from stdworker.model.manifest import Reaction
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.keywords import misspelt
from stdworker.testing.conformance.lab import Lab, status_of
from stdworker.testing.conformance.samples import first_violation
from stdworker.testing.conformance.verdict import PROCESS, Finding, Skipped, case, failed, passed, warned

MADE_UP = (Stage.OPERATE, Stage.REACT, Stage.ROLLUP)  # their requests hold things that nobody has seen

_OUTCOME_EMITS = (Emit.STATUS, Emit.CONDITIONS, Emit.CHILDREN, Emit.EDGES, Emit.CONFIGS)


@case(
    "reactions",
    "it answers every reaction that it declares",
    why="The engine runs each declared reaction: a delete that fails keeps its resource for ever.",
    advice="Look at trigger or reaction in the request and handle each, or take the reaction out of the kind file.",
)
async def reactions(lab: Lab) -> Finding:
    worst = passed(", ".join(reaction.name for reaction in lab.subject.reactions))
    for reaction in lab.subject.reactions:
        found = await lab.react("reaction", reaction)
        told = f"{reaction.name}: {found}"
        if not found.sound or (found.ending is not Ending.SUCCESS and reaction.stage not in MADE_UP):
            return failed(told, found)
        if found.ending is not Ending.SUCCESS:
            worst = warned(told, found)
    return worst


@case(
    "emits",
    "it hands back only what its reactions emit",
    why="The engine drops what the manifest doesn't let a reaction emit, and records a warning each time.",
    advice="Add what is missing to emits of the reaction in the kind file, or don't answer it.",
)
async def emits(lab: Lab) -> Finding:
    for reaction in _declared(lab):
        found = await lab.react("emits", reaction)
        over = _over(found, reaction)
        if over:
            told = f"{reaction.name} answers {', '.join(over)}, which is not in its emits"
            return failed(told, found)
    return passed()


def _over(found: Exchange, reaction: Reaction) -> list[str]:
    if found.response is None:
        return []
    outcome = found.response.outcome
    over = [emit.value for emit in _OUTCOME_EMITS if emit not in reaction.emits and getattr(outcome, emit)]
    if outcome.output is not None and Emit.OPERATION_OUTPUT not in reaction.emits:
        over.append("output")
    return over


@case(
    "status-schema",
    "its status fits its status_schema",
    why="Others build on the schema: values that flow into dependents, people who read the API.",
    advice="Change the status or the status_schema in the kind file until they agree.",
)
async def status_schema(lab: Lab) -> Finding:
    schema = lab.subject.manifest.status_schema if lab.subject.manifest else None
    if schema is None:
        raise Skipped("the kind declares no status_schema")
    for reaction in _declared(lab):
        found = await lab.react("status", reaction)
        status = status_of(found)
        if status is None or Emit.STATUS not in reaction.emits:
            continue
        violation = first_violation(schema, status.value())
        if violation:
            return failed(f"the status of {reaction.name} at {violation}", found)
    return passed()


@case(
    "schema-keywords",
    "its schemas have no misspelt keyword",
    why="JSON Schema lets names pass that it doesn't know: a misspelt keyword checks nothing, and nobody says so.",
    advice="Correct the name in the kind file.",
    needs_success=False,
)
async def schema_keywords(lab: Lab) -> Finding:
    manifest = lab.subject.manifest
    if manifest is None:
        raise Skipped("there is no kind file, so nothing is declared")
    schemas = {name: getattr(manifest, name) for name in ("spec_schema", "status_schema", "config_schema")}
    found = sorted(at for name, schema in schemas.items() for at in misspelt(schema, f"/{name}"))
    told = "; ".join(f"{path}: did you mean {keyword!r}?" for path, keyword in found)
    return warned(told) if told else passed()


@case(
    "describe",
    "what it describes of itself is a legal kind",
    why="A program that answers the describe request needs no kind file, but a wrong answer serves nobody.",
    advice="Answer trigger describe with the manifest of the kind, the same that the kind file holds.",
    modes=PROCESS,
    needs_success=False,
)
async def describes(lab: Lab) -> Finding:
    subject = lab.subject
    try:
        found = await describe(subject.command, subject.arguments, kind=subject.kind, run=lab.runtime)
    except ManifestError as error:
        return failed(str(error))
    if isinstance(found, NotDescribed):
        raise Skipped("it doesn't describe itself")
    if found.pair != subject.kind:
        return failed(f"it describes {found.pair}, but it serves {subject.kind}")
    if subject.manifest and {r.name for r in found.manifest.reactions} != {r.name for r in subject.manifest.reactions}:
        return failed("the reactions that it describes are not those of the kind file")
    return passed()


def _declared(lab: Lab) -> tuple[Reaction, ...]:
    if lab.subject.manifest is None:
        raise Skipped("there is no kind file, so nothing is declared")
    return lab.subject.reactions


CASES = (reactions, emits, status_schema, schema_keywords, describes)
