"""Why a task waits: it isn't due yet, or no worker can take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from stdworker.cli.conctl.client import Client, Failed

Seen = Mapping[str, Any]


def why_waiting(client: Client, resource: Seen) -> str:
    """Why nobody works on a resource that has something to do; "" when somebody does, or nobody knows."""
    work = resource["work"]
    if not work or work["claimed_by"]:
        return ""
    if seconds := seconds_until(work["available_at"]):
        return f"due in {seconds} s"
    try:
        members = client.value("/cluster-members")["members"]
    except Failed:  # the resource is what was asked for
        return ""
    return why_untaken(resource["kind"], resource["kind_version"], members)


def seconds_until(instant: str) -> int:
    """Whole seconds, 0 when it is past."""
    return max(int((datetime.fromisoformat(instant) - datetime.now(UTC)).total_seconds()), 0)


def why_untaken(kind: str, version: int, members: Sequence[Seen]) -> str:
    """Why no worker takes a task of this kind; "" when one may at any moment."""
    name = f"{kind}@{version}"
    up = [member for member in members if member["status"] != "lost"]
    served = list(_served(kind, version, up))
    ready = [entry for worker, entry in served if entry["ready"] and not worker["silent"]]
    if any(member["unlisted_workers"] for member in up) or not members:
        return ""
    if not served:
        return f"no worker that is connected serves {name} (`conctl cluster` shows what is served)"
    if not ready:
        return f"no worker is ready for {name}: {'; '.join(dict.fromkeys(map(_why_not, served)))}"
    if all(entry["in_flight"] >= entry["max_inflight"] for entry in ready):
        return f"all workers for {name} are busy: {sum(entry['in_flight'] for entry in ready)} tasks run"
    return ""


def _served(kind: str, version: int, members: Sequence[Seen]) -> Iterator[tuple[Seen, Seen]]:
    for member in members:
        for worker in member["workers"]:
            for entry in worker["kinds"]:
                if (entry["kind"], entry["kind_version"]) == (kind, version):
                    yield worker, entry


def _why_not(served: tuple[Seen, Seen]) -> str:
    worker, entry = served
    return f"{worker['name']} is not heard" if worker["silent"] else entry["reason"] or f"{worker['name']} says no"
