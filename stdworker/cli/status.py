"""`stdworker status`: what the workers of this machine, or one elsewhere, are doing now."""

from __future__ import annotations

import http.client
import json
import os
import socket
from pathlib import Path
from typing import Any

import click

from stdworker.cli.numbers import WholeNumber
from stdworker.cli.status_output import one_worker, several_workers
from stdworker.cli.terminal import plain
from stdworker.errors import JsonError
from stdworker.model.json_text import check
from stdworker.worker.local_socket import SUFFIX, is_private, living_sockets, runtime_folders

ANSWER_SECONDS = 5.0
ANSWER_BYTES_MAX = 64 << 20
NO_ANSWER = (OSError, http.client.HTTPException, JsonError, ValueError)


class _LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_SECONDS)
        self.sock.connect(str(self._path))


@click.command()
@click.option("--pid", type=WholeNumber(1), help="The worker with this process id. [all of this user on this machine]")
@click.option("--addr", metavar="HOST:PORT", help="The worker whose HEALTH_ADDR this is.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(pid: int | None, addr: str | None, output: str) -> None:
    """Show what a running worker does: its broker, its kinds, their programs, its slowest tasks.

    With --output json, one worker a line. Exit status 1 when there is none.
    """
    if pid is not None and addr is not None:
        raise click.UsageError("--pid and --addr exclude each other")
    found = [_ask_address(addr)] if addr is not None else _ask_local(pid)
    if output == "json":
        for document in found:
            click.echo(json.dumps(document))
    else:
        click.echo("\n".join(_text(found)))


def _text(found: list[dict[str, Any]]) -> list[str]:
    try:
        return list(one_worker(found[0]) if len(found) == 1 else several_workers(found))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        versions = ", ".join(sorted({str(worker.get("version")) for worker in found}))
        text = f"the answer is not one of this version's workers (they say {versions}; {error!r}): try --output json"
        raise click.ClickException(text) from None


def _ask_address(address: str) -> dict[str, Any]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise click.UsageError(f"--addr {address!r} is not HOST:PORT")
    try:
        return _ask(http.client.HTTPConnection(host.strip("[]") or "localhost", int(port), timeout=ANSWER_SECONDS))
    except NO_ANSWER as error:
        raise click.ClickException(f"no worker answers at {address}: {_one_line(error)}") from None


def _ask_local(pid: int | None) -> list[dict[str, Any]]:
    folders = [folder for folder in runtime_folders(os.environ) if is_private(folder)]
    paths = [path for folder in folders for path in living_sockets(folder) if pid in (None, _pid(path))]
    if not paths:
        raise click.ClickException(_nobody(pid))
    return [_ask_socket(path) for path in paths]


def _pid(path: Path) -> int | None:
    text = path.name.removesuffix(SUFFIX)
    return int(text) if text.isdecimal() else None


def _ask_socket(path: Path) -> dict[str, Any]:
    try:
        return _ask(_LocalConnection(path))
    except NO_ANSWER as error:
        raise click.ClickException(f"the worker behind {path} doesn't answer: {_one_line(error)}") from None


def _ask(connection: http.client.HTTPConnection) -> dict[str, Any]:
    try:
        connection.request("GET", "/status")
        with connection.getresponse() as answer:
            body = answer.read(ANSWER_BYTES_MAX)
        if answer.status != http.client.OK:
            raise ValueError(f"it answers {answer.status} {answer.reason} to GET /status")
        document = check(body).value()
        if not isinstance(document, dict):
            raise ValueError("it answers something else than an object")
        return document
    finally:
        connection.close()


def _one_line(error: Exception) -> str:
    return plain(" ".join(str(error).split()))


def _nobody(pid: int | None) -> str:
    which = "no worker" if pid is None else f"no worker with the process id {pid}"
    places = ", ".join(map(str, runtime_folders(os.environ)))
    return f"{which} of this user runs here (looked in {places}); one elsewhere is asked by --addr HOST:PORT"
