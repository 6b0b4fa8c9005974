"""The processes and workers of an engine, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from stdworker.cli.conctl.output import age
from stdworker.cli.conctl.tables import table

MEMBER_HEADINGS = ("MEMBER", "ROLE", "STATUS", "VERSION", "AGE", "HEARD", "WORKERS", "RUNNING")
WORKER_HEADINGS = ("WORKER", "KIND", "READY", "RUNNING", "AGE", "HEARD", "VERSION", "WHY NOT READY")

Seen = Mapping[str, Any]


def cluster(members: Sequence[Seen]) -> None:
    """Who the engine is made of, and which kinds each worker takes; with whom, if several have workers."""
    table(MEMBER_HEADINGS, map(_member, members), "No members found.")
    held = [(member, worker) for member in members for worker in member["workers"]]
    first = 0 if len({member["member_id"] for member, _ in held}) > 1 else 1
    if held:
        click.echo()
        rows = [[member["member_id"], *row][first:] for member, worker in held for row in _worker(member, worker)]
        table(("MEMBER", *WORKER_HEADINGS)[first:], rows, "")


def _member(member: Seen) -> list[str]:
    return [
        member["member_id"],
        member.get("role") or "-",
        member["status"],
        member["version"],
        age(member["started_at"]),
        f"{member['heartbeat_age']:.0f}s",
        str(len(member["workers"]) + member["unlisted_workers"]),
        str(member["in_flight"]),
    ]


def _worker(member: Seen, worker: Seen) -> Iterator[list[str]]:
    """A line for each of its kinds. What a lost process told last of its workers holds no longer."""
    is_lost = member["status"] == "lost"
    for kind in worker["kinds"]:
        yield [
            worker["name"],
            f"{kind['kind']}@{kind['kind_version']}",
            "lost" if is_lost else "silent" if worker["silent"] else "yes" if kind["ready"] else "no",
            f"{kind['in_flight']}/{kind['max_inflight']}",
            age(worker["connected_since"]),
            f"{worker['heartbeat_age']:.0f}s",
            worker["version"] or "-",
            kind["reason"],
        ]
