"""`stdworker plugins` and `stdworker kinds`: what this worker could serve, and why it can't."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import click

from stdworker.cli.terminal import aligned, plain
from stdworker.errors import PluginError
from stdworker.host.loader import Plugin, Plugins
from stdworker.model.json_text import ascii_line
from stdworker.model.settings import WorkerSettings

HEADINGS = ("PLUGIN", "DISTRIBUTION", "VERSION", "SERVES", "MODE", "FROM", "DECLARED BY")


@click.command()
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def plugins(output: str) -> None:
    """Show every plugin: its origin, its kinds, and what is wrong with it.

    What is broken is shown, and hinders nobody else; whether all is well, `stdworker doctor` says.
    """
    settings = WorkerSettings.from_environment(os.environ, dials=False)
    for name in ("stdworker.plugins", "stdworker.kinds"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what they tell is shown below, once
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


@click.command()
def kinds() -> None:
    """Print the kind files of all plugins and programs, one JSON document a line.

    An engine learns them by: stdworker kinds | conctl apply -f -

    Exit status 1 when something is broken; what is fine is printed all the same.
    """
    settings = WorkerSettings.from_environment(os.environ, dials=False)
    found = Plugins.load(allowed=settings.plugins)
    found.registry(settings)  # tells what can't be served
    for kind_file in found.kind_files(settings):
        click.echo(ascii_line(kind_file.document))
    sys.exit(1 if found.broken else 0)


def _show_json(found: Plugins) -> None:
    click.echo(json.dumps([_document(plugin) for plugin in found]))


def _document(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "module": plugin.module,
        "kinds": [
            {
                "kind": pair.kind,
                "kind_version": pair.version,
                "mode": served.mode,
                "from": served.path,
                "declared_by": served.declared_by,
                "shadows": list(served.shadows),
            }
            for pair, served in plugin.kinds.items()
        ],
        "errors": [
            {"message": message, "traceback": trace}
            for message, trace in zip(plugin.errors, plugin.tracebacks, strict=True)
        ],
    }


def _show_table(found: Plugins) -> None:
    rows = [row for plugin in found for row in _rows(plugin)]
    for line in aligned([HEADINGS, *rows]):
        click.echo(plain(line))
    for plugin in found:
        for pair, served in plugin.kinds.items():
            for loser in served.shadows:
                click.echo(f"\n{pair}: {loser} is not used, {served.path} comes first")
    for plugin in found.broken:
        _show_errors(plugin)


def _show_errors(plugin: Plugin) -> None:
    for message, trace in zip(plugin.errors, plugin.tracebacks, strict=True):
        click.echo(plain(f"\n{plugin.origin}{' is broken' if trace else ''}: {message}"))
        if trace:
            click.echo(indent(trace.rstrip(), "  "))


def _rows(plugin: Plugin) -> Iterator[tuple[str, ...]]:
    origin = (plugin.name, plugin.distribution, plugin.version)
    for pair, served in plugin.kinds.items():
        yield *origin, str(pair), served.mode or "-", served.path or "-", served.declared_by or "-"
    if not plugin.kinds:
        yield *origin, "broken" if plugin.errors else "nothing", "", "", ""
