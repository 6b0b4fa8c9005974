"""A program as the commands of `stdworker` are given it: PROGRAM [ARGS…], the kind file beside it, JSON in options."""

from __future__ import annotations

import codecs
import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.bridge.describe import kind_named
from stdworker.errors import ConfigError, JsonError
from stdworker.model.config import ProviderConfig
from stdworker.model.documents import parse_documents, read_source
from stdworker.model.json_text import RawJson, check, dumps, join_members, members
from stdworker.model.kind import RESOURCE_NAME, KindVersion, Stage
from stdworker.model.kind_file import KindFile
from stdworker.plugins.program_kinds import PREFIX, kind_file_of

NEAR = 0.75  # how like a known option a word must be to be taken for a misspelt one


class ProgramCommand(click.Command):
    """A command whose last argument is PROGRAM [ARGS…]: options that it doesn't know are the program's."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = args[: args.index("--")] if "--" in args else list(args)
        rest = super().parse_args(ctx, args)
        words = ctx.params.get("command") or ()
        if words and words[0].startswith("-"):
            raise click.NoSuchOption(words[0], possibilities=self._near(ctx, words[0]), ctx=ctx)
        for word in words[1:]:
            near = self._near(ctx, word) if word in ours else []
            if near:
                told = f"Warning: {word} goes to the program; did you mean {near[0]}? (-- before the program says no)"
                click.echo(told, err=True)
        return rest

    def _near(self, ctx: click.Context, word: str) -> list[str]:
        if not word.startswith("--"):
            return []
        known = [name for parameter in self.get_params(ctx) for name in parameter.opts if name.startswith("--")]
        return difflib.get_close_matches(word.partition("=")[0], known, n=1, cutoff=NEAR)


@dataclass(frozen=True, slots=True)
class GivenProgram:
    """A program and what is known about it before it runs.

    `command` is an absolute path, a name for PATH, or "" when the program runs already, behind a socket.
    """

    command: str
    arguments: tuple[str, ...] = ()
    kind_file: KindFile | None = None

    @classmethod
    def of(cls, words: Sequence[str]) -> GivenProgram:
        """From PROGRAM [ARGS…]. Raises ConfigError when the kind file beside it is malformed."""
        command = str(Path(words[0]).absolute()) if os.sep in words[0] else words[0]
        return cls(command, tuple(words[1:]), kind_file_of(command))

    def pair(self, kind: str | None = None) -> KindVersion:
        """As asked, else the kind file's, else the program's file name."""
        if kind is not None:
            try:
                return KindVersion.parse(kind)
            except ValueError as error:
                raise click.BadParameter(str(error), param_hint="--kind") from None
        if self.kind_file:
            return self.kind_file.pair
        if not self.command:
            raise click.UsageError("--kind is needed where there is no PROGRAM that is named like one")
        return kind_named(self.command)

    @property
    def is_sealed(self) -> bool:
        """A kind that a worker finds by itself: overrides may change little."""
        return self.kind_file is not None or Path(self.command).name.startswith(PREFIX)

    @property
    def stages(self) -> dict[str, Stage]:
        """The reactions of the kind file and the stage that each runs."""
        return {r.name: r.stage for r in self.kind_file.manifest.reactions} if self.kind_file else {}

    def reaction(self, name: str | None = None, stage: str | None = None) -> tuple[str, Stage]:
        """A reaction and its stage: as asked, else as the kind file says, else as the name suggests."""
        known = self.stages
        if name is None and stage is None:
            name = next(iter(known), Stage.WORK.value)
        if name is None:
            name = next((known_name for known_name, runs in known.items() if runs == stage), stage)
        assert name is not None
        suggested = known.get(name) or (Stage(name) if name in set(Stage) else Stage.WORK)
        return name, Stage(stage) if stage else suggested

    def verb(self, reaction: str) -> str:
        """What an operation of this name is asked to do."""
        reactions = self.kind_file.manifest.reactions if self.kind_file else ()
        return next((r.verb for r in reactions if r.name == reaction and r.verb), reaction)

    def finalizer(self, reaction: str) -> str:
        """What the success of a delete strips; "" when nobody says."""
        if self.kind_file is None:
            return ""
        manifest = self.kind_file.manifest
        own = next((r.finalizer for r in manifest.reactions if r.name == reaction), "")
        return own or manifest.finalizer_name

    def default_config(self, path: str | None = None, *, mode: str | None = None) -> ProviderConfig:
        """The kind's default config: the file of `--config`, arguments and mode as typed, the kind file's bundle."""
        typed = {key: dumps(value) for key, value in (("args", list(self.arguments)), ("mode", mode)) if value}
        bundle = self.kind_file.default_bundle if self.kind_file else None
        return ProviderConfig(join_members(read_config("--config", path) | typed), bundle)

    def provider(
        self, pair: KindVersion, runtime: BridgeRuntime, *, record_file: Path | None = None
    ) -> ProgramProvider:
        """What runs it, as a worker would."""
        return ProgramProvider(
            pair,
            fixed_command=self.command or None,
            base_config=self.kind_file.default_config if self.kind_file else None,
            sealed_by_default=self.is_sealed,
            record_file=record_file,
            run=runtime,
        )


def resource_name(text: str, option: str = "--name") -> str:
    """A name that the engine would accept."""
    if not RESOURCE_NAME.fullmatch(text):
        expected = "letters, digits, '.', '_' and '-', at most 253, the first a letter or digit"
        raise click.BadParameter(f"{text!r} can't name a resource ({expected})", param_hint=option)
    return text


def read_spec(text: str | None, option: str = "--spec") -> RawJson | None:
    """A document given as JSON, as @FILE, or as - for stdin."""
    if text is None:
        return None
    try:
        typed = text != "-" and not text.startswith("@")
        found = text.encode() if typed else read_source(text.removeprefix("@"))
        return check(found.removeprefix(codecs.BOM_UTF8).strip())
    except (JsonError, UnicodeEncodeError) as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint=option) from None
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    except OSError as error:
        raise click.BadParameter(f"{text[1:]} can't be read: {error.strerror}", param_hint=option) from None


def read_config(option: str, path: str | None, *, keeps_command: bool = False) -> dict[str, RawJson]:
    """The members of a launch config, without `command` where PROGRAM replaces it."""
    if path is None:
        return {}
    try:
        documents = parse_documents(read_source(path), path)
    except OSError as error:
        raise click.BadParameter(f"{path} can't be read: {error.strerror}", param_hint=option) from None
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    found = members(documents[0].raw) if len(documents) == 1 else None
    if found is None:
        raise click.BadParameter(f"{path} must hold one object", param_hint=option)
    return {key: value for key, value in found.items() if keeps_command or key != "command"}
