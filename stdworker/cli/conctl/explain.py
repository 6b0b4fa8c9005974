"""Why a resource is not Ready, and where its config comes from, for people."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

import click

from stdworker.cli.conctl.arguments import Session, path_of, shared
from stdworker.cli.conctl.completion import complete_resource
from stdworker.cli.conctl.items import RESOURCE
from stdworker.cli.conctl.output import print_document
from stdworker.cli.conctl.show import sentence
from stdworker.cli.conctl.tables import table
from stdworker.cli.terminal import plain
from stdworker.model.json_text import RawJson, ascii_line, elements, loads, members

VALUE_CHARACTERS_MAX = 60
HEADINGS = ("POINTER", "VALUE", "LAYER", "REPLACED")


@click.command(epilog="Example: conctl explain greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def explain(session: Session, resource: str) -> None:
    """Say why a resource is not Ready and what to do about it, and which config it gets.

    Secrets are shown as ***. What the worker adds to the config, `stdworker explain` shows.
    """
    with session.client() as client:
        document = client.document(f"{path_of(RESOURCE, resource)}/explain")
    if session.output == "name":
        for reason in loads(document)["reasons"]:
            click.echo(reason["code"])
    elif session.is_table:
        _show(document)
    else:
        print_document(document, session.output)


def _show(document: RawJson) -> None:
    told = loads(document)
    generation = f"generation {told['generation']}, synced {told['synced_gen']}"
    click.echo(f"{told['kind']}/{told['name']} is {told['phase']} ({generation})")
    for reason in told["reasons"]:
        click.echo(plain(indent(sentence(reason), "  ")))
        if reason["hint"]:
            click.echo(plain(f"    → {reason['hint']}"))
    _show_config(members((members(document) or {})["config"]) or {})


def _show_config(config: Mapping[str, RawJson]) -> None:
    names, bundle = loads(config["names"]), loads(config["bundle"])
    click.echo(f"\nConfig: {', '.join(f'{layer} {name}' for layer, name in names.items()) or 'none'}")
    if leaves := elements(config["leaves"]):
        table(HEADINGS, map(_row, leaves), "")
    if bundle:
        click.echo(f"Bundle: that of the {bundle}")


def _row(leaf: RawJson) -> list[str]:
    """Values as they are written, number for number."""
    told, raw = loads(leaf), members(leaf) or {}
    replaced = [f"{_short((members(r) or {})['value'])} ({loads(r)['layer']})" for r in elements(raw["replaced"]) or []]
    return [told["path"], _short(raw["value"]), told["layer"], ", ".join(replaced)]


def _short(value: RawJson) -> str:
    text = ascii_line(value).decode()
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"
