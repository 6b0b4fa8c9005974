"""One resource for readers: description, tree, events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text
from rich.tree import Tree

from stdworker.cli.conctl.output import age, phase, pretty_yaml, show
from stdworker.cli.conctl.tables import table
from stdworker.cli.terminal import plain
from stdworker.model.json_text import RawJson, loads, members

EVENTS_SHOWN = 10
RESOURCE_HEADINGS = ("KIND", "NAME", "PHASE", "READY", "GEN", "AGE", "PROGRESS")
ROOT_HEADINGS = ("KIND", "NAME", "PHASE", "READY", "CHILDREN", "GEN", "AGE", "PROGRESS")
CHILDREN_COLUMN = 4


def resource_row(resource: Mapping[str, Any]) -> list[str | Text]:
    row: list[str | Text] = [
        resource["kind"],
        resource["name"],
        phase(resource["phase"]),
        "yes" if resource["is_ready"] else "no",
        f"{resource['synced_gen']}/{resource['generation']}",
        age(resource["created_at"]),
        progress(resource["work"]),
    ]
    if "resource_count" in resource:
        row.insert(CHILDREN_COLUMN, str(resource["resource_count"]))
    return row


def event_rows(events: Iterable[Mapping[str, Any]]) -> list[list[str | Text]]:
    return [[age(e["created_at"]), e["type"], e["reason"], e["actor"], e["message"]] for e in events]


def describe(
    document: RawJson,
    dependencies: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    reasons: Sequence[Mapping[str, Any]],
) -> None:
    """Everything about a resource that a person asks for when it doesn't do what it should."""
    resource = loads(document)
    show(_heading(resource))
    if reasons:
        _section("Not Ready because", "\n".join(plain(sentence(reason)) for reason in reasons))
    for name in ("labels", "spec", "status"):
        if resource[name]:
            _section(name.capitalize(), pretty_yaml((members(document) or {})[name]))
    _tables(resource, dependencies, events)


def _heading(resource: Mapping[str, Any]) -> Text:
    lines = [
        ("Resource", f"{resource['kind']}/{resource['name']} (kind version {resource['kind_version']})"),
        ("Phase", resource["phase"]),
        ("Generation", f"{resource['generation']}, synced {resource['synced_gen']}"),
        ("Age", f"{age(resource['created_at'])}, changed {age(resource['updated_at'])} ago"),
        ("Owner", _named(resource["owner"])),
        ("Config", (resource["provider_config"] or {}).get("name", "")),
        ("Finalizers", ", ".join(resource["finalizers"])),
        ("Failure", _failure(resource["failure"])),
        ("Work", _work(resource["work"])),
        ("UID", resource["uid"]),
    ]
    told = [
        Text.assemble((f"{title + ':':<12}", "bold"), phase(text) if title == "Phase" else plain(text))
        for title, text in lines
        if text
    ]
    return Text("\n").join(told)


def sentence(reason: Mapping[str, Any]) -> str:
    """Why a resource is not Ready, with since when, and when the engine goes on."""
    since = f"since {age(reason['since'])}" if reason["since"] else ""
    until = f"goes on in {_seconds_until(reason['until'])} s" if reason["until"] else ""
    times = ", ".join(filter(None, (since, until)))
    return f"{reason['message']}{f' ({times})' if times else ''}"


def _seconds_until(instant: str) -> int:
    """Whole seconds, 0 when it is past."""
    return max(int((datetime.fromisoformat(instant) - datetime.now(UTC)).total_seconds()), 0)


def _named(ref: Mapping[str, str] | None) -> str:
    return f"{ref['kind']}/{ref['name']}" if ref else ""


def _failure(failure: Mapping[str, Any] | None) -> str:
    if failure is None:
        return ""
    again = "not tried again" if failure["terminal"] else f"attempt {failure['attempts']}"
    return f"{failure['message']} ({again})"


def _work(work: Mapping[str, Any] | None) -> str:
    if work is None:
        return ""
    if not work["claimed_by"]:
        return f"{work['task_type']}, waiting"
    return " ".join(filter(None, (f"{work['task_type']}, running on {work['worker']}", progress(work))))


def progress(work: Mapping[str, Any] | None) -> str:
    """How far a running task says that it is, as `50% copying`."""
    told = work["progress"] if work else None
    if told is None:
        return ""
    fraction = "" if told["fraction"] is None else f"{told['fraction']:.0%}"
    return " ".join(filter(None, (fraction, told["message"])))


def _section(title: str, body: str) -> None:
    click.secho(f"\n{title}:", bold=True)
    click.echo("\n".join(f"  {line}" for line in body.splitlines()))


def _tables(
    resource: Mapping[str, Any], dependencies: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]
) -> None:
    if resource["conditions"]:
        click.secho("\nConditions:", bold=True)
        rows = [
            [c["type"], c["status"], age(c["last_transition_at"]), c["reason"], c["message"]]
            for c in resource["conditions"]
        ]
        table(("TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"), rows, "")
    if dependencies:
        click.secho("\nWaits for:", bold=True)
        rows = [[f"{d['kind']}/{d['name']}", d["phase"] or "(not there)", _flows(d)] for d in dependencies]
        table(("RESOURCE", "PHASE", "VALUES"), rows, "")
    if events:
        click.secho("\nEvents:", bold=True)
        table(("AGE", "TYPE", "REASON", "BY", "MESSAGE"), event_rows(events[-EVENTS_SHOWN:]), "")


def _flows(dependency: Mapping[str, Any]) -> str:
    return ", ".join(f"{f['source_field']} → {f['dependent_field']}" for f in dependency["value_mappings"])


def tree(graph: Mapping[str, Any]) -> None:
    """Who owns whom, with phases, what each waits for, and why it is not Ready."""
    waits: dict[str, list[str]] = {}
    for edge in graph["edges"]:
        waits.setdefault(edge["from"], []).append(edge["to"])
    branches: dict[str, Tree] = {}
    for node in graph["nodes"]:
        label = _label(node, waits.get(node["ref"], []))
        owner = branches.get(node["owner"] or "")
        branches[node["ref"]] = owner.add(label) if owner is not None else Tree(label)
    show(branches[graph["nodes"][0]["ref"]])
    if graph["truncated"]:
        click.echo(
            f"(the first {len(graph['nodes'])} resources only; conctl list --owner KIND/NAME has all of a level)",
            err=True,
        )


def _label(node: Mapping[str, Any], waits: Sequence[str]) -> Text:
    label = Text.assemble(node["ref"], " ", phase(node["phase"]))
    if waits:
        label.append(f" ← {', '.join(waits)}", "dim")
    if node["message"]:
        label.append(f"  {plain(node['message'])}", "dim")
    return label
