"""`stdworker explain`: the effective config of a kind or a resource, with the layer that set each leaf."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from stdworker.bridge.launch import effective_launch, parse_launch
from stdworker.cli.explain_layers import BUILT_IN, KIND_FILE, Explained, Mistake, explain_layers
from stdworker.cli.program_arguments import GivenProgram, read_config
from stdworker.cli.terminal import aligned, plain
from stdworker.errors import ConfigError
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_elements, join_members, loads, members
from stdworker.model.kind import KIND, RESOURCE_NAME, KindVersion
from stdworker.model.layers import DEFAULT, OVERRIDE
from stdworker.model.settings import Environment
from stdworker.plugins.described import with_descriptions
from stdworker.plugins.program_kinds import ProgramKind, find_program_kinds, folders_of
from stdworker.process.command import resolve
from stdworker.process.environment import program_environment

if TYPE_CHECKING:
    from stdworker.cli.conctl.client import Client

MERGING = "objects merge key by key, arrays and all else replace; null counts as absent, but in settings it is a value"
SHOWN_CHARACTERS_MAX = 60
HEADINGS = ("POINTER", "VALUE", "LAYER", "REPLACED")

_RESOURCE = re.compile(rf"(?:{KIND.pattern})/(?:{RESOURCE_NAME.pattern})")


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose config it is: where each layer came from, and the layers."""

    title: str
    pair: KindVersion | None
    where: Mapping[str, str]
    base: RawJson | None = None
    default: RawJson | None = None
    override: RawJson | None = None
    program: str | None = None
    is_sealed: bool = False

    def explain(self) -> Explained:
        explained = explain_layers(
            self.base, self.default, self.override, program=self.program, is_sealed=self.is_sealed
        )
        absent = [] if explained.mistakes else list(self._absent())
        return replace(explained, mistakes=[*explained.mistakes, *absent])

    def _absent(self) -> Iterator[Mistake]:
        """A PROGRAM that isn't there. What an engine's config names may be on another machine; a socket needs none."""
        if self.program is None:
            return
        launch = parse_launch(effective_launch(self.base, self.default, self.override), default_command=self.program)
        environment = program_environment(
            os.environ, inherit=launch.inherit_env, passthrough=launch.env_passthrough, extra=launch.env
        )
        try:
            if launch.command and launch.mode != "socket":
                resolve(launch.command, launch.args, launch.cwd, environment)
        except ConfigError as error:
            yield Mistake(error.path, "", error.message, error.hint)


@click.command()
@click.option("--kind", metavar="KIND", help="NAME or NAME@VERSION; without PROGRAM the one found on PATH.")
@click.option("--config", metavar="FILE", help="The kind's default launch config (JSON, YAML or TOML).")
@click.option("--override", metavar="FILE", help="The resource's own config, merged over it.")
@click.option("--server", envvar="CONVERGE_SERVER", default="http://localhost:8080", show_default=True, metavar="URL")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("target", required=False, metavar="[PROGRAM | KIND/NAME]")
def explain(
    kind: str | None, config: str | None, override: str | None, server: str, output: str, target: str | None
) -> None:
    """Show the effective launch config, and which layer set each leaf.

    Of a PROGRAM: its kind file, then --config, then --override. Of a resource KIND/NAME: what the engine at --server
    holds. Secrets are shown as ***. Exit status 1 when the config is not legal, or PROGRAM can't be run.
    """
    if target is not None and _RESOURCE.fullmatch(target) and not os.path.exists(target):
        if kind or config or override:
            raise click.UsageError(f"--kind, --config and --override go with a PROGRAM; {target} is a resource")
        subject = _of_resource(target, server)
    else:
        subject = _of_program(target, kind, config, override)
    explained = subject.explain()
    if output == "json":
        click.echo(_as_json(subject, explained))
    else:
        for line in _lines(subject, explained):
            click.echo(plain(line))
    sys.exit(1 if explained.mistakes else 0)


# ---- a program ----


def _of_program(target: str | None, kind: str | None, config: str | None, override: str | None) -> Subject:
    given = GivenProgram.of([target]) if target is not None else _found(kind) if kind is not None else None
    kind_file, pair = (given.kind_file, given.pair(kind)) if given else (None, None)
    layers = {KIND_FILE: kind_file.where if kind_file else None, DEFAULT: config, OVERRIDE: override}
    return Subject(
        title=f"{pair}, program {shutil.which(given.command) or given.command}" if given else "no program",
        pair=pair,
        where={name: place for name, place in layers.items() if place is not None},
        base=kind_file.default_config if kind_file else None,
        default=_read("--config", config),
        override=_read("--override", override),
        program=given.command if given else None,
        is_sealed=given.is_sealed if given else False,
    )


def _read(option: str, path: str | None) -> RawJson | None:
    return join_members(read_config(option, path, keeps_command=True)) if path is not None else None


def _found(kind: str) -> GivenProgram:
    """The program that a worker here would serve the kind with."""
    try:
        pair = KindVersion.parse(kind)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kind") from None
    folders = folders_of(Environment(os.environ).folders("STDWORKER_KINDS_PATH"), os.environ)
    served = [found for found in find_program_kinds(folders) if isinstance(found, ProgramKind) and found.pair == pair]
    for found in with_descriptions(served):
        if isinstance(found, ConfigError):
            raise found
        return GivenProgram(str(found.program), kind_file=found.kind_file)
    told = f"no program on STDWORKER_KINDS_PATH or PATH serves {pair}; name it as PROGRAM"
    raise click.BadParameter(told, param_hint="--kind")


# ---- a resource of an engine ----


def _of_resource(target: str, server: str) -> Subject:
    try:
        from stdworker.cli.conctl.client import Client, Connection
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}; it comes with: pip install 'stdworker[engine]'") from None
    kind, _, name = target.partition("/")
    with Client(Connection(server.rstrip("/"))) as client:
        resource = client.value(f"/resources/{kind}/{name}")
        pair = KindVersion(kind, resource["kind_version"])
        default = _default_of(client, pair)
        own = _config(client, (resource["provider_config"] or {}).get("name"))
    found = {DEFAULT: default, OVERRIDE: own}
    return Subject(
        title=f"{target} at {server}, {pair}",
        pair=pair,
        where={layer: f"provider config {config['name'].value()}" for layer, config in found.items() if config},
        default=default.get("spec"),
        override=own.get("spec"),
    )


def _default_of(client: Client, pair: KindVersion) -> dict[str, RawJson]:
    query = {"kind": pair.kind, "kind_version": pair.version}
    listed = [loads(item) for item in client.items("/providerconfigs", "providerconfigs", query).items]
    return _config(client, next((config["name"] for config in listed if config["is_default"]), None))


def _config(client: Client, name: str | None) -> dict[str, RawJson]:
    """The members of a provider config that say something, verbatim."""
    found = members(client.document(f"/providerconfigs/{name}")) or {} if name is not None else {}
    return {key: raw for key, raw in found.items() if raw != b"null"}


# ---- for machines and for people ----


def _as_json(subject: Subject, explained: Explained) -> str:
    told = [
        {
            "path": dumps(leaf.path),
            "value": leaf.value,
            "layer": dumps(leaf.layer),
            "replaced": join_elements(
                [join_members({"layer": dumps(name), "value": value}) for name, value in leaf.replaced]
            ),
        }
        for leaf in explained.leaves
    ]
    document = {
        "kind": dumps(subject.pair.kind if subject.pair else None),
        "kind_version": dumps(subject.pair.version if subject.pair else None),
        "program": dumps(subject.program),
        "layers": dumps([{"layer": layer, "where": place} for layer, place in subject.where.items()]),
        "leaves": join_elements([join_members(leaf) for leaf in told]),
        "config": explained.config or RawJson(b"null"),
        "sealed": dumps(list(explained.sealed)),
        "problems": dumps([_document(mistake) for mistake in explained.mistakes]),
    }
    return ascii_line(join_members(document)).decode()


def _document(mistake: Mistake) -> dict[str, str]:
    return {"path": mistake.path, "layer": mistake.layer, "message": mistake.message, "hint": mistake.hint}


def _lines(subject: Subject, explained: Explained) -> Iterator[str]:
    yield subject.title
    for layer, place in subject.where.items():
        yield f"  {layer}: {place}"
    yield f"  {MERGING}"
    yield ""
    rows = [(leaf.path, _short(leaf.value), leaf.layer, _replaced(leaf.replaced)) for leaf in explained.leaves]
    said = [row for row in rows if row[2] != BUILT_IN or row[3]]
    yield from aligned([HEADINGS, *said, *(row for row in rows if row not in said)])
    yield ""
    config = "nothing" if explained.config is None else explained.config.decode()
    yield f"The program gets as config: {config}"
    yield f"An override may not set: {', '.join(explained.sealed)}"
    for mistake in explained.mistakes:
        hint = f" ({mistake.hint})" if mistake.hint else ""
        yield f"Problem{f' in the {mistake.layer}' if mistake.layer else ''}: {mistake.message}{hint}"


def _replaced(replaced: Sequence[tuple[str, RawJson]]) -> str:
    return ", ".join(f"{_short(value)} ({layer})" for layer, value in replaced)


def _short(value: RawJson) -> str:
    text = ascii_line(value).decode()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"
