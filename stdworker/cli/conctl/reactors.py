"""Reactors on the command line: their bindings, and what they did not take."""

from __future__ import annotations

from typing import Any

import click

from stdworker.cli.conctl.arguments import DEAD_LETTER, Session, path_of, shared
from stdworker.cli.conctl.output import age
from stdworker.model.json_text import loads

BINDING_HEADINGS = ("NAME", "WATCHES", "TRANSITION", "LABELS", "REACTOR", "ENABLED", "AGE", "WAITING")
DEAD_LETTER_HEADINGS = ("ID", "BINDING", "TRANSITION", "RESOURCE", "ATTEMPTS", "AGE", "REASON", "MESSAGE")


def binding_row(binding: dict[str, Any]) -> list[Any]:
    return [
        binding["name"],
        _versioned(binding["watch_kind"], binding["watch_kind_version"]),
        binding["transition"],
        ", ".join(f"{key}={value}" for key, value in binding["label_match"].items()) or "-",
        _versioned(binding["reactor"], binding["reactor_version"]),
        "yes" if binding["enabled"] else "no",
        age(binding["created_at"]),
        f"{waiting['deliveries']}: {waiting['reason']['message']}" if (waiting := binding["waiting"]) else "-",
    ]


def dead_letter_row(letter: dict[str, Any]) -> list[Any]:
    return [
        str(letter["id"]),
        letter["binding"],
        letter["transition"],
        _resource(letter),
        str(letter["attempts"]),
        age(letter["dead_since"]),
        letter["reason"],
        letter["message"],
    ]


def _resource(letter: dict[str, Any]) -> str:
    return f"{letter['resource']['kind']}/{letter['resource']['name']}"


def _versioned(kind: str, version: int | None) -> str:
    return kind if version is None else f"{kind}@{version}"


@click.command(epilog="Example: conctl retry 4711")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@shared
def retry(session: Session, ids: tuple[str, ...]) -> None:
    """Tell reactors again what they did not take: dead letters, as `conctl list deadletters` shows them."""
    session.for_people_only()
    paths = [path_of(DEAD_LETTER, number) for number in ids]
    with session.client() as client:
        for path in paths:
            letter = loads(client.call("POST", f"{path}/retry").content)
            told = f"{letter['transition']} {_resource(letter)} to {letter['reactor']}"
            click.echo(f"dead letter {letter['id']} is delivered again ({told})")
