"""`stdworker call`: run tasks of one program through the bridge, without a broker."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import click

from stdworker.bridge import BridgeResult, BridgeRuntime, ProgramProvider
from stdworker.cli.call_output import as_json, as_text, exit_status
from stdworker.cli.logs import set_up_logging
from stdworker.errors import ConfigError, JsonError
from stdworker.model.config import ProviderConfig
from stdworker.model.documents import parse_documents
from stdworker.model.json_text import RawJson, check, dumps, join_members, members
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.kind_file import KindFile
from stdworker.model.manifest import Reaction
from stdworker.model.resource import Operation, Resource
from stdworker.model.settings import LOG_FORMATS, LOG_LEVELS, Environment
from stdworker.model.task import ReactionRequest
from stdworker.plugins.program_kinds import PREFIX, kind_file_beside

NIL_UID = str(UUID(int=0))
STAGES = {stage.trigger: stage for stage in Stage} | {Trigger.RESYNC: Stage.WORK}


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--kind", metavar="KIND", help="NAME or NAME@VERSION. [the kind file's, or the program's file name]")
@click.option("--name", default="call", show_default=True, help="The resource's name.")
@click.option("--reaction", metavar="NAME", help="The reaction to run. [the kind file's, or work]")
@click.option("--stage", type=click.Choice([stage.value for stage in Stage]), help="The stage. [the reaction's]")
@click.option("--spec", metavar="JSON|@FILE|-", help="The resource's spec; - reads it from stdin.")
@click.option("--config", metavar="FILE", help="The kind's default launch config (JSON, YAML or TOML).")
@click.option("--override", metavar="FILE", help="The resource's own config, merged over it.")
@click.option("--mode", type=click.Choice(["oneshot", "stream"]), help="How the program is run.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Run this many tasks, one after the other.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("command", nargs=-1, required=True, metavar="[--] PROGRAM [ARGS]...", type=click.UNPROCESSED)
def call(command: tuple[str, ...], repeat: int, output: str, **asked: str | None) -> None:
    """Run one task of PROGRAM as a worker would, and show the outcome.

    A kind file beside the program is used. Exit status: 0 success, 1 a failure that a worker would retry,
    2 one that it would not.
    """
    if command[0].startswith("-"):
        raise click.NoSuchOption(command[0])
    environment = Environment(os.environ)
    set_up_logging(
        environment.choice("LOG_LEVEL", "info", LOG_LEVELS), environment.choice("LOG_FORMAT", "text", LOG_FORMATS)
    )
    program = str(Path(command[0]).absolute()) if os.sep in command[0] else command[0]
    located = shutil.which(program) or program
    kind_file = kind_file_beside(Path(located)) if os.sep in located else None
    request = _request(program, command[1:], kind_file, asked)
    show = as_json if output == "json" else as_text
    sys.exit(asyncio.run(_run_until_interrupted(program, kind_file, [request] * repeat, show)))


# ---- the request ----


def _request(
    program: str, arguments: Sequence[str], kind_file: KindFile | None, asked: Mapping[str, str | None]
) -> ReactionRequest:
    pair = _pair(asked["kind"], program, kind_file)
    reaction, stage = _reaction(asked["reaction"], asked["stage"], kind_file)
    said = {key: dumps(value) for key, value in (("args", list(arguments)), ("mode", asked["mode"])) if value}
    return ReactionRequest(
        stage=stage,
        trigger=stage.trigger,
        reaction=reaction,
        kind=pair,
        resource=Resource(
            NIL_UID, pair.kind, asked["name"] or "", pair.version, generation=1, spec_json=_spec(asked["spec"])
        ),
        operation=Operation(_verb(reaction, kind_file)) if stage is Stage.OPERATE else None,
        default=ProviderConfig(
            join_members(_config("--config", asked["config"]) | said),
            kind_file.default_bundle if kind_file else None,
        ),
        override=ProviderConfig(join_members(_config("--override", asked["override"]))),
    )


def _pair(kind: str | None, program: str, kind_file: KindFile | None) -> KindVersion:
    if kind is not None:
        try:
            return KindVersion.parse(kind)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--kind") from None
    return kind_file.pair if kind_file else KindVersion(Path(program).name.removeprefix(PREFIX))


def _reaction(name: str | None, stage: str | None, kind_file: KindFile | None) -> tuple[str, Stage]:
    """The reaction to run and its stage: as asked, else as the kind file says, else as the name suggests."""
    known = {r.name: _stage(r) for r in kind_file.manifest.reactions} if kind_file else {}
    if name is None and stage is None:
        name = next(iter(known), Stage.WORK.value)
    if name is None:
        name = next((known_name for known_name, runs in known.items() if runs == stage), stage)
    assert name is not None
    suggested = known.get(name) or (Stage(name) if name in set(Stage) else Stage.WORK)
    return name, Stage(stage) if stage else suggested


def _stage(reaction: Reaction) -> Stage:
    composes = reaction.composes and reaction.trigger is not Trigger.DELETE_REQUESTED
    return Stage.COMPOSE if composes else STAGES[reaction.trigger]


def _verb(reaction: str, kind_file: KindFile | None) -> str:
    reactions = kind_file.manifest.reactions if kind_file else ()
    return next((r.verb for r in reactions if r.name == reaction and r.verb), reaction)


def _spec(text: str | None) -> RawJson | None:
    if text is None:
        return None
    try:
        if text == "-":
            return check(sys.stdin.buffer.read().strip())
        return check(Path(text[1:]).read_bytes().strip() if text.startswith("@") else text.encode())
    except (JsonError, UnicodeEncodeError) as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--spec") from None
    except OSError as error:
        raise click.BadParameter(f"{text[1:]} can't be read: {error.strerror}", param_hint="--spec") from None


def _config(option: str, path: str | None) -> dict[str, RawJson]:
    """The members of a launch config but `command`: PROGRAM replaces it."""
    if path is None:
        return {}
    try:
        documents = parse_documents(Path(path).read_bytes(), path)
    except OSError as error:
        raise click.BadParameter(f"{path} can't be read: {error.strerror}", param_hint=option) from None
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    found = members(documents[0].raw) if len(documents) == 1 else None
    if found is None:
        raise click.BadParameter(f"{path} must hold one object", param_hint=option)
    return {key: value for key, value in found.items() if key != "command"}


# ---- the run ----


async def _run_until_interrupted(
    program: str, kind_file: KindFile | None, requests: Sequence[ReactionRequest], show: Callable[[BridgeResult], str]
) -> int:
    """The worst exit status of all tasks; at SIGINT or SIGTERM the program is stopped, then 128 + signal."""
    received: list[int] = []
    running = asyncio.create_task(_run(program, kind_file, requests, show))

    def interrupt(number: int) -> None:
        received.append(number)
        running.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
    await asyncio.wait({running})
    return 128 + received[0] if running.cancelled() else running.result()


async def _run(
    program: str, kind_file: KindFile | None, requests: Sequence[ReactionRequest], show: Callable[[BridgeResult], str]
) -> int:
    provider = ProgramProvider(
        requests[0].kind,
        fixed_command=program,
        base_config=kind_file.default_config if kind_file else None,
        sealed_by_default=kind_file is not None,
        run=BridgeRuntime(),
    )
    worst = 0
    try:
        for request in requests:
            result = await provider.run(request)
            click.echo(show(result))
            worst = max(worst, exit_status(result))
    finally:
        await provider.close()
    return worst
