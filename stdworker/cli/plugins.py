"""`stdworker plugins` and `stdworker kinds`: what this worker could serve, and why it can't."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any

import click

from stdworker.errors import PluginError
from stdworker.host.loader import Plugin, Plugins
from stdworker.model.json_text import ascii_line
from stdworker.model.settings import WorkerSettings

HEADINGS = ("PLUGIN", "DISTRIBUTION", "VERSION", "SERVES", "FROM")


@click.command()
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def plugins(output: str) -> None:
    """Show every plugin: its origin, its kinds, and what is wrong with it.

    Exit status 1 when something is broken.
    """
    settings = WorkerSettings.from_environment(os.environ, dials=False)
    logging.getLogger("stdworker.plugins").setLevel(logging.CRITICAL)  # errors are shown below, once
    found = Plugins.load(allowed=settings.plugins)
    clash: PluginError | None = None
    try:
        found.registry(settings)
    except PluginError as error:
        clash = error
    found.kind_files(settings)
    show = _show_json if output == "json" else _show_table
    show(found)
    if clash:
        raise clash
    sys.exit(1 if found.broken else 0)


@click.command()
def kinds() -> None:
    """Print the kind files of all plugins and programs, one JSON document a line.

    An engine learns them by: stdworker kinds | conctl apply -f -
    """
    settings = WorkerSettings.from_environment(os.environ, dials=False)
    found = Plugins.load(allowed=settings.plugins)
    for kind_file in found.kind_files(settings):
        click.echo(ascii_line(kind_file.document))
    sys.exit(1 if found.broken else 0)


def _show_json(found: Plugins) -> None:
    click.echo(json.dumps([_document(plugin) for plugin in found], indent=2))


def _document(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "module": plugin.module,
        "kinds": [
            {"kind": pair.kind, "kind_version": pair.version, "from": place} for pair, place in plugin.kinds.items()
        ],
        "errors": [
            {"message": message, "traceback": trace}
            for message, trace in zip(plugin.errors, plugin.tracebacks, strict=True)
        ],
    }


def _show_table(found: Plugins) -> None:
    rows = [row for plugin in found for row in _rows(plugin)]
    for line in _aligned([HEADINGS, *rows]):
        click.echo(line)
    for plugin in found.broken:
        for message, trace in zip(plugin.errors, plugin.tracebacks, strict=True):
            click.echo(f"\n{plugin.origin} is broken: {message}")
            if trace:
                click.echo(indent(trace.rstrip(), "  "))


def _rows(plugin: Plugin) -> Iterator[tuple[str, ...]]:
    kinds = [(str(pair), place) for pair, place in plugin.kinds.items()]
    for served, place in kinds or [("broken" if plugin.errors else "nothing", "")]:
        yield plugin.name, plugin.distribution, plugin.version, served, place


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
