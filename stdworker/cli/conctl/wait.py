"""Waiting for resources, with a line on the terminal that says how far they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import click
from rich.console import Console
from rich.status import Status
from rich.text import Text

from stdworker.cli.conctl.arguments import path_of
from stdworker.cli.conctl.client import Client, Failed
from stdworker.cli.conctl.items import RESOURCE
from stdworker.cli.conctl.reconnecting import Patience
from stdworker.cli.terminal import plain

LOOK_SECONDS = 1.0
ASKED_SECONDS_MAX = 600.0  # of one request: the engine takes an hour, and what stands between may take less
GRACE_SECONDS = 10.0  # for the answer of a wait to arrive
GRAPH_NODES_MAX = 1_000
CULPRITS_SHOWN = 2
TIMED_OUT = 408


def wait_for(
    client: Client, names: Sequence[str], condition: str, timeout_seconds: float, *, quietly: bool = False
) -> list[str]:
    """Wait for all of them within one time; the sentences of those for which it failed.

    Those for which it came true are told, unless `quietly`: standard output is for machines then.
    """
    deadline = time.monotonic() + timeout_seconds
    complaints = []
    with Progress(client) as progress:
        for name in names:
            progress.name = name
            try:
                _wait_for(client, name, condition, deadline, progress)
            except Failed as error:
                if not error.status:
                    raise
                complaints.append(error.message)
            else:
                if not quietly:
                    progress.report(f"{name} is {condition}")
    return complaints


def _wait_for(client: Client, name: str, condition: str, deadline: float, progress: Progress) -> None:
    """A long wait is cut into several, on a terminal into short ones, to show in between what is still missing.

    An engine that was never reached is looked at first: one that was may be away for a while.
    """
    patience = Patience(client, deadline)
    while True:
        left = max(deadline - time.monotonic(), 0.0)
        seconds = min(left, LOOK_SECONDS if progress.live else ASKED_SECONDS_MAX) if client.is_reached else 0.0
        query = {"for": condition, "timeout": f"{seconds:.3f}s"}
        limit = seconds + GRACE_SECONDS if client.is_reached else min(left, GRACE_SECONDS)
        try:
            client.call("GET", f"{path_of(RESOURCE, name)}/wait", query=query, timeout_seconds=limit)
            return
        except Failed as error:
            if error.status != TIMED_OUT:
                patience.bear(error)
                continue
            if seconds >= left:
                raise
        patience.reached()
        progress.update()


def on_terminal() -> bool:
    return sys.stderr.isatty()


class Progress:
    """A status line on a terminal; nothing elsewhere."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = ""
        self.live = on_terminal()
        self.status = Status("", console=Console(stderr=True)) if self.live else None

    def __enter__(self) -> Progress:
        if self.status:
            self.status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.status:
            self.status.stop()

    def report(self, sentence: str) -> None:
        if self.status:
            self.status.stop()
        click.echo(sentence)
        if self.status:
            self.status.start()

    def update(self) -> None:
        if self.status is None:
            return
        try:
            graph = self.client.value(f"{path_of(RESOURCE, self.name)}/graph", {"limit": GRAPH_NODES_MAX})
            told = summary(graph["nodes"], is_cut=graph["truncated"])
        except Failed as error:
            told = error.message
        self.status.update(Text(plain(told)))  # as text: in a string rich would look for markup


def summary(nodes: Sequence[dict[str, Any]], *, is_cut: bool = False) -> str:
    """`stack/web Reconciling, 3 of 5 Ready; leaf/db: connection refused`; `is_cut`: there are more nodes."""
    top = nodes[0]
    below = nodes[1:]
    of = f"of the first {len(below):,}" if is_cut else f"of {len(below)}"
    ready = f", {sum(node['is_ready'] for node in below)} {of} Ready" if below else ""
    culprits = [f"{n['ref']}: {n['message']}" for n in below or [top] if n["message"] and not n["is_ready"]]
    return "; ".join([f"{top['ref']} {top['phase']}{ready}", *culprits[:CULPRITS_SHOWN]])
