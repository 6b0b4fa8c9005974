"""What the words of a conctl command line mean: options that all commands share, types, names, paths."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click
from click.core import ParameterSource

from stdworker.cli.conctl.client import Client, Connection, Failed
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE
from stdworker.cli.numbers import WholeNumber
from stdworker.errors import StdworkerError
from stdworker.model.kind import VERSION_MAX
from stdworker.model.settings import Environment

MEMBER, DEAD_LETTER = "member", "deadletter"
ALIASES = {
    RESOURCE: ("resources", "res"),
    KIND: ("manifests", "kind", "kinds", "crd", "crds"),
    CONFIG: ("providerconfigs", "config", "configs", "pc"),
    BINDING: ("reactorbindings", "binding", "bindings", "rb"),
    DEAD_LETTER: ("deadletters", "dl"),
    MEMBER: ("members", "cluster", "clusters", "nodes"),
}
TYPES = {alias: name for name, aliases in ALIASES.items() for alias in (name, *aliases)}

TIMEOUT_HOURS_MAX = 8_760  # a year; what a socket takes is bounded too

KIND_VERSION = WholeNumber(1, VERSION_MAX)
_VERSION = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)

F = TypeVar("F", bound=Callable[..., Any])


def duration(text: str) -> float:
    """`500ms`, `30s`, `1m30s`, as seconds; above 0, at most `TIMEOUT_HOURS_MAX`."""
    try:
        seconds = Environment({"it": text}).duration("it", 0.0)
    except StdworkerError:
        raise click.BadParameter(f"{text!r} is not a duration such as 500ms, 30s or 1m30s") from None
    if not 0 < seconds <= TIMEOUT_HOURS_MAX * 3600:
        raise click.BadParameter(f"{text!r} is not between 1ms and {TIMEOUT_HOURS_MAX}h")
    return seconds


def type_name(text: str) -> str:
    """A type of thing, by any of its names."""
    if text.lower() not in TYPES:
        raise click.BadParameter(
            f"{text!r} is not one of {', '.join(ALIASES)} or their short names"
            f" (a kind goes before a name, KIND/NAME, or in a list after --kind: conctl list --kind {text})"
        )
    return TYPES[text.lower()]


@dataclass(slots=True)
class Session:
    """What the shared options say."""

    connection: Connection = field(default_factory=Connection)
    output: str = "table"

    def client(self) -> Client:
        return Client(self.connection)

    @property
    def is_table(self) -> bool:
        return self.output == "table"

    def for_people_only(self, instead: str = "its exit status says whether it was done") -> None:
        """Refuse an --output that the command would ignore."""
        if not self.is_table:
            raise click.UsageError(f"this command has no --output {self.output}; {instead}")


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHARED = (
    click.option("--server", envvar="CONVERGE_SERVER", metavar="URL", help="The engine. [http://localhost:8080]"),
    click.option("-o", "--output", type=click.Choice(["table", "json", "yaml", "name"]), help="How to print. [table]"),
    click.option("--timeout", "timeout_seconds", type=duration, help="How long to wait for the engine. [30s]"),
    click.option("--tls-cert", type=_FILE, envvar="TLS_CERT_FILE", help="Our certificate."),
    click.option("--tls-key", type=_FILE, envvar="TLS_KEY_FILE", help="Its key."),
    click.option("--tls-ca", type=_FILE, envvar="TLS_CA_FILE", help="Whom to trust."),
    click.option("--insecure", is_flag=True, default=None, help="Trust any certificate."),
)


def shared(command: F) -> F:
    """Give a command the options that all have, before or after its name; it takes the session first.

    Errors of ours become one sentence and exit status 1.
    """

    @functools.wraps(command)
    @click.pass_context
    def wrapped(ctx: click.Context, /, **options: Any) -> Any:
        session = ctx.ensure_object(Session)
        for name in _OPTIONS:
            value = options.pop(name)
            if value is not None and _is_meant(ctx, name):
                setattr(session if name == "output" else session.connection, name, value)
        session.connection.server = _address(session.connection.server)
        if session.connection.insecure and session.connection.tls_ca:
            raise click.UsageError("--insecure and --tls-ca exclude each other")
        if session.connection.tls_key and not session.connection.tls_cert:
            raise click.UsageError("--tls-key needs --tls-cert, the certificate that it is the key of")
        try:
            return command(session, **options)
        except StdworkerError as error:
            raise Failed(str(error)) from None

    for option in reversed(_SHARED):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


_OPTIONS = ("server", "output", "timeout_seconds", "tls_cert", "tls_key", "tls_ca", "insecure")


def _is_meant(ctx: click.Context, name: str) -> bool:
    """The environment counts once, for the group: a command must not undo what was typed before its name."""
    return ctx.parent is None or ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _address(server: str) -> str:
    if not server.startswith(("http://", "https://")):
        raise click.UsageError(f"--server {server!r} is not an address such as http://localhost:8080")
    return server.rstrip("/")


class FilesCommand(click.Command):
    """A command that takes files by -f alone, and says so of others."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            named = " ".join(f"-f {shlex.quote(word)}" for word in rest)
            raise click.UsageError(f"-f goes before each file: {ctx.command_path} {named}", ctx)
        return rest


# ---- names ----


def target_of(words: Sequence[str]) -> tuple[str, str]:
    """`TYPE NAME`, or only `KIND/NAME` for a resource."""
    if len(words) == 1 and "/" in words[0]:
        return RESOURCE, words[0]
    if len(words) != 2:
        hint = f"; conctl list{_kind_or_type(words[0])} shows all" if len(words) == 1 else ""
        raise click.UsageError(f"expected TYPE NAME, or KIND/NAME for a resource{hint}")
    return type_name(words[0]), words[1]


def _kind_or_type(word: str) -> str:
    return f" {word}" if word.lower() in TYPES else f" --kind {word}"


def path_of(kind: str, name: str, version: int = 1) -> str:
    if kind == CONFIG:
        return f"/providerconfigs/{_segment(name)}"
    if kind == BINDING:
        return f"/reactor-bindings/{_segment(name)}"
    if kind == DEAD_LETTER:
        if not (name.isascii() and name.isdigit()):
            raise click.UsageError(
                f"{name!r} is not a dead letter's id, a whole number; conctl list deadletters shows them"
            )
        return f"/dead-letters/{name}"
    if kind == KIND:
        base, _, number = title_of(kind, name, version).partition("@")
        return f"/kinds/{_segment(base)}/versions/{number}/manifest"
    if kind == MEMBER:
        raise click.UsageError("members can only be listed: conctl cluster")
    owner, slash, rest = name.partition("/")
    if not (owner and slash and rest):
        raise click.UsageError(f"{name!r} is not a resource's KIND/NAME")
    return f"/resources/{_segment(owner)}/{_segment(rest)}"


def title_of(kind: str, name: str, version: int = 1) -> str:
    """What a thing is called: a kind with its version, which `version` is if the name has none."""
    if kind != KIND:
        return name
    base, at, given = name.partition("@")
    if at and not (_VERSION.fullmatch(given) and int(given) <= VERSION_MAX):
        raise click.UsageError(f"{name!r} is not KIND@VERSION, the version a number from 1 to {VERSION_MAX}")
    return f"{base}@{given or version}"


def _segment(name: str) -> str:
    """A name as a part of a path. Raises UsageError for what would make it another path, and for what isn't UTF-8.

    A client resolves `.` and `..` before it asks, however they are escaped.
    """
    try:
        quoted = quote(name, safe="")
    except UnicodeEncodeError:
        quoted = ""
    if quoted in ("", ".", "..") or "/" in name:
        raise click.UsageError(f"{name!r} is no name")
    return quoted


def owner_of(text: str) -> str:
    try:
        path_of(RESOURCE, text)
    except click.UsageError:
        raise click.UsageError(f"--owner {text!r} is not a resource's KIND/NAME") from None
    return text


def label_of(text: str) -> str:
    key, equals, value = text.partition("=")
    if not (key and equals) or ":" in key:  # no label has such a key, and a filter is key:value
        raise click.UsageError(f"--label {text!r} is not KEY=VALUE")
    return f"{key}:{value}"
