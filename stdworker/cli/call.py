"""`stdworker call`: run tasks of one program through the bridge, without a broker."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from stdworker.bridge import BridgeResult, BridgeRuntime
from stdworker.bridge.launch import MODES
from stdworker.bridge.result_json import verdict
from stdworker.cli.call_output import EXIT_STATUS, as_json, as_text, summary
from stdworker.cli.logs import log_as_asked
from stdworker.cli.numbers import WholeNumber
from stdworker.cli.program_arguments import GivenProgram, ProgramCommand, read_config, read_spec, resource_name
from stdworker.cli.signals import until_interrupted
from stdworker.cli.terminal import plain
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, escape_token, join_members
from stdworker.model.kind import Stage, Transition
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest

if TYPE_CHECKING:
    from jsonschema import ValidationError

NIL_UID = str(UUID(int=0))
REPEAT_MAX = 1_000_000
CHECKED_BYTES_MAX = 1 << 20  # of a document that is compared with its schema, which takes seconds a megabyte
VIOLATIONS_SHOWN_MAX = 5
VIOLATION_CHARACTERS_MAX = 200


@click.command(cls=ProgramCommand)
@click.option("--kind", metavar="KIND", help="NAME or NAME@VERSION. [the kind file's, or the program's file name]")
@click.option("--name", default="call", show_default=True, help="The resource's name.")
@click.option("--reaction", metavar="NAME", help="The reaction to run. [the kind file's, or work]")
@click.option("--stage", type=click.Choice([stage.value for stage in Stage]), help="The stage. [the reaction's]")
@click.option("--spec", metavar="JSON|@FILE|-", help="The resource's spec; - reads it from stdin.")
@click.option("--config", metavar="FILE", help="The kind's default launch config (JSON, YAML or TOML).")
@click.option("--override", metavar="FILE", help="The resource's own config, merged over it.")
@click.option("--mode", type=click.Choice(MODES), help="How the program is run.")
@click.option("--repeat", type=WholeNumber(1, REPEAT_MAX), default=1, help="Run so many tasks, one after the other.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Add the tasks to this record.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("command", nargs=-1, metavar="[--] PROGRAM [ARGS]...", type=click.UNPROCESSED)
def call(command: tuple[str, ...], repeat: int, record: Path | None, output: str, **asked: str | None) -> None:
    """Run one task of PROGRAM as a worker would, and show the outcome.

    A kind file beside the program is used. With --mode socket no program is started: what listens at the `socket`
    of --config is asked. Exit status: 0 success, 1 a failure that a worker would retry, 2 one that it would not.
    """
    log_as_asked(os.environ)
    if not command and asked["mode"] != "socket":
        raise click.UsageError("Missing argument PROGRAM; only --mode socket goes without")
    program = GivenProgram.of(command) if command else GivenProgram("")
    request = _request(program, asked)
    _warn_of_schema(program, "spec", request.resource.spec_json)
    show = as_json if output == "json" else as_text
    sys.exit(asyncio.run(until_interrupted(_run(program, [request] * repeat, record, show))))


def _request(program: GivenProgram, asked: Mapping[str, str | None]) -> ReactionRequest:
    pair = program.pair(asked["kind"])
    reaction, stage = program.reaction(asked["reaction"], asked["stage"])
    reacts, deletes = stage is Stage.REACT, stage is Stage.DELETE
    resource = Resource(
        NIL_UID,
        pair.kind,
        resource_name(asked["name"] or ""),
        pair.version,
        generation=1,
        spec_json=read_spec(asked["spec"]),
        finalizers=tuple(filter(None, [program.finalizer(reaction)])) if deletes else (),
    )
    return ReactionRequest(
        stage=stage,
        trigger=stage.trigger,
        reaction=reaction,
        kind=pair,
        resource=resource,
        operation=Operation(program.verb(reaction)) if stage is Stage.OPERATE else None,
        transition=Transition.SYNCED if reacts else None,
        dedup_token=f"{NIL_UID}:{Transition.SYNCED}:1:1:call" if reacts else "",
        default=program.default_config(asked["config"], mode=asked["mode"]),
        override=ProviderConfig(join_members(read_config("--override", asked["override"]))),
    )


def _warn_of_schema(program: GivenProgram, part: str, document: RawJson | None) -> None:
    """An engine would not run what breaks the kind's schema; here the program is tried all the same."""
    schema = getattr(program.kind_file.manifest, f"{part}_schema") if program.kind_file else None
    if schema is None or document is None or len(document) > CHECKED_BYTES_MAX:
        return
    for error in _violations(schema, document):
        path = "".join(f"/{escape_token(str(token))}" for token in (part, *error.absolute_path))
        told = f"{part}_schema of {program.pair()} refuses {path}: {error.message[:VIOLATION_CHARACTERS_MAX]}"
        click.echo(plain(f"Warning: {told}"), err=True)


def _violations(schema: Mapping[str, Any], document: RawJson) -> list[ValidationError]:
    from jsonschema import Draft202012Validator

    try:
        return list(islice(Draft202012Validator(schema).iter_errors(document.value()), VIOLATIONS_SHOWN_MAX))
    except RecursionError:  # a schema that refers to itself without end judges nothing
        return []


# ---- the run ----


async def _run(
    program: GivenProgram,
    requests: Sequence[ReactionRequest],
    record: Path | None,
    show: Callable[[BridgeResult], str],
) -> int:
    """The worst exit status of all tasks."""
    provider = program.provider(requests[0].kind, BridgeRuntime(), record_file=record)
    told: list[tuple[str, float]] = []
    try:
        for request in requests:
            result = await provider.run(request)
            told.append((verdict(result), result.duration_seconds))
            click.echo(show(result))
    finally:
        await provider.close()
    if result.outcome is not None:
        _warn_of_schema(program, "status", result.outcome.status)
    if show is as_text and len(told) > 1:
        click.echo(summary(told))
    return max(EXIT_STATUS[word] for word, _ in told)
