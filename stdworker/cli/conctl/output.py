"""What conctl prints: tables that fit the terminal, and JSON or YAML with every number as it came."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import click
import yaml
from rich.console import Console
from rich.text import Text

from stdworker.cli.terminal import PIPE_COLUMNS

PHASE_STYLES = {
    "Ready": "green",
    "Reconciling": "cyan",
    "Degraded": "yellow",
    "Failed": "red",
    "Orphaned": "magenta",
    "Quarantined": "magenta",
    "Deleting": "bright_black",
}


def console() -> Console:
    """Standard output; colours and cutting only on a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS)


def phase(name: str | None) -> Text:
    return Text(name or "-", PHASE_STYLES.get(name or "", ""))


def show(renderable: Any, *, cut: bool = False) -> None:
    """Print without blanks at the ends of lines; lines that are too long are wrapped, or else `cut`."""
    out = console()
    with out.capture() as captured:
        out.print(renderable, no_wrap=cut or None, overflow="ellipsis" if cut else None)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=True if out.color_system else None)


def age(instant: str | None) -> str:
    """How long ago, in the largest unit that says something."""
    if instant is None:
        return "-"
    seconds = int((datetime.now(UTC) - datetime.fromisoformat(instant)).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{max(seconds, 0)}s"


def doomed(answer: Mapping[str, Any]) -> str:
    """What goes with it, or goes without it, as the end of a sentence; nothing for what nobody misses."""
    if pair := answer.get("without_default"):
        return f"; resources of {pair} then have no default config"
    below, dependents = answer.get("below", 0), answer.get("dependents", 0)
    parts = [f"{_resources(below)} below it"] if below else []
    if dependents:
        names = [f"{ref['kind']}/{ref['name']}" for ref in answer["first_dependents"]]
        more = ["…"] if dependents > len(names) else []
        count = dependents if below else _resources(dependents)
        parts.append(f"{count} that depend{'s' if dependents == 1 else ''} on it: {', '.join(names + more)}")
    return f", with {' and '.join(parts)}" if parts else ""


def _resources(count: int) -> str:
    return f"{count} resource{'' if count == 1 else 's'}"


# ---- documents ----

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def pretty_json(document: bytes, depth: int = 0) -> str:
    """The same tokens, one member a line; `depth` is how deep it is inside another document."""
    out: list[str] = []
    tokens = [match.group().decode() for match in _TOKEN.finditer(document)]
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        if token in ("}", "]"):
            depth -= 1
            out.append(token if before in ("{", "[") else f"\n{'  ' * depth}{token}")
            continue
        if before in ("{", "[", ","):
            out.append(f"\n{'  ' * depth}")
        out.append(": " if token == ":" else token)
        depth += token in ("{", "[")
    return "".join(out)


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, members in their order."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_LIKE_A_NUMBER = re.compile(r"[-+]?[.0-9][0-9A-Za-z_.+-]*")  # to a reader of YAML 1.2; the dumper knows 1.1 only


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "'" if _LIKE_A_NUMBER.fullmatch(data) else None
    if not data.isprintable():
        style = "|" if data.replace("\n", "").isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


def _number(dumper: yaml.SafeDumper, data: _Number) -> yaml.ScalarNode:
    kind = "float" if any(c in data for c in ".eE") else "int"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", str(data))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Number, _number)


def pretty_yaml(document: bytes) -> str:
    """The same document as YAML, numbers spelled as they came."""
    value = json.loads(document, parse_int=_Number, parse_float=_Number)
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def print_document(document: bytes, form: str) -> None:
    """A document as json or yaml."""
    click.echo(pretty_yaml(document) if form == "yaml" else pretty_json(document) + "\n", nl=False)


def print_list(member: str, found: Iterable[bytes], form: str) -> None:
    """A document with one list, each item as it comes: `{"resources": [ … ]}`. Nothing is printed before the first."""
    items = iter(found)
    first = next(items, None)
    if first is None:
        print_document(b'{"%b":[]}' % member.encode(), form)
    else:
        (_yaml_list if form == "yaml" else _json_list)(member, chain([first], items))


def _json_list(member: str, found: Iterable[bytes]) -> None:
    click.echo(f'{{\n  "{member}": [', nl=False)
    between = ""
    for item in found:
        click.echo(f"{between}\n    {pretty_json(item, 2)}", nl=False)
        between = ","
    click.echo("\n  ]\n}")


def _yaml_list(member: str, found: Iterable[bytes]) -> None:
    click.echo(f"{member}:")
    for item in found:
        click.echo(pretty_yaml(b"[" + item + b"]"), nl=False)
