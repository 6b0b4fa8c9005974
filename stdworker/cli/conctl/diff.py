"""What applying documents would change, as a unified diff of declarations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click

from stdworker.cli.conctl.items import Item
from stdworker.cli.conctl.output import pretty_yaml
from stdworker.cli.conctl.plan import Would
from stdworker.cli.terminal import plain

CONTEXT_LINES = 3

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def unified(item: Item, would: Would) -> Iterator[str]:
    """The lines of an item's diff; none when nothing would change."""
    if would.result == "unchanged":
        return
    before, after = (_lines(side) for side in (would.before, would.after))
    name = item.title
    found = list(
        difflib.unified_diff(before, after, f"{name} (engine)", f"{name} ({item.where})", "", "", CONTEXT_LINES, "")
    )
    yield from found or [
        f"--- {name} (engine)",
        f"+++ {name} ({item.where})",
        "only secrets differ, which are not shown",
    ]


def _lines(document: bytes | None) -> list[str]:
    return plain(pretty_yaml(document)).splitlines() if document else []


def show_diff(lines: Iterator[str]) -> None:
    for line in lines:
        is_heading = line.startswith(("---", "+++"))
        click.secho(line, bold=is_heading or None, fg=None if is_heading else _STYLES.get(line[:1]))
