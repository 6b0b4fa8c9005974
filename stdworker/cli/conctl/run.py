"""Operations on the command line: asked for, waited for, told."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from stdworker.cli.conctl import output
from stdworker.cli.conctl.arguments import Session
from stdworker.cli.conctl.client import Client, Failed, explain
from stdworker.cli.conctl.reconnecting import Patience
from stdworker.errors import JsonError
from stdworker.model.json_text import RawJson, check, dumps, join_members, loads, members

LOOK_SECONDS = (0.05, 1.0)  # between two looks at an operation: the first, doubled up to the second


def json_input(text: str) -> RawJson:
    """JSON as it stands, or from the file that is named after an @; `@-` is standard input."""
    try:
        if text == "@-":
            return check(sys.stdin.buffer.read())
        return check(Path(text[1:]).read_bytes() if text.startswith("@") else text.encode())
    except OSError as error:
        raise click.BadParameter(f"{text[1:]}: {error.strerror}") from None
    except (JsonError, UnicodeError) as error:
        raise click.BadParameter(f"it is not JSON: {error}") from None


def ask(client: Client, path: str, verb: str, given: RawJson | None) -> RawJson:
    """Have the operation queued; the document that tells of it."""
    body = {"verb": RawJson(dumps(verb))}
    if given is not None:
        body["input"] = given
    try:
        return RawJson(client.call("POST", f"{path}/ops", body=join_members(body), again=False).content)
    except Failed as error:
        if error.problem is None:
            raise
        told = explain(error.problem["detail"], error.problem["errors"], _place)
        raise Failed(told, error.status, error.problem) from None


def _place(location: str) -> str:
    return location.replace("body/input", "--input", 1)


def await_end(client: Client, path: str, operation: RawJson) -> RawJson:
    """The operation once it has ended. Raises Failed when that takes longer than --timeout."""
    deadline = time.monotonic() + client.connection.timeout_seconds
    uid, pause = loads(operation)["uid"], LOOK_SECONDS[0]
    patience = Patience(client, deadline)
    while (state := loads(operation)["state"]) in ("pending", "running"):
        if time.monotonic() >= deadline:
            raise Failed(f"the operation {uid} is still {state} after {client.connection.timeout_seconds:g} s")
        time.sleep(pause)
        pause = min(pause * 2, LOOK_SECONDS[1])
        try:
            operation = client.document(f"{path}/ops/{uid}")
            patience.reached()
        except Failed as error:
            patience.bear(error)
    return operation


def show_operation(session: Session, resource: str, operation: RawJson) -> None:
    """The document, or for people its output; what became of it goes to standard error then.

    Raises Failed for one that failed.
    """
    told = loads(operation)
    if session.output == "name":
        click.echo(told["uid"])
    elif not session.is_table:
        output.print_document(operation, session.output)
    elif told["output"] is not None:
        output.print_document((members(operation) or {})["output"], "json")
    if told["state"] == "failed":
        raise Failed(f"{told['verb']} of {resource} failed: {told['error']['message']}")
    if session.is_table:
        uid = "" if told["state"] == "succeeded" else f" ({told['uid']})"
        click.echo(f"{told['verb']} of {resource} {told['state']}{uid}", err=True)
