"""What `conctl list` shows, of every type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from stdworker.cli.conctl import output, reactors, show
from stdworker.cli.conctl.arguments import DEAD_LETTER, MEMBER, Session, label_of, owner_of
from stdworker.cli.conctl.client import Client, Listing
from stdworker.cli.conctl.cluster import cluster as show_cluster
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE
from stdworker.cli.conctl.output import age, print_document
from stdworker.cli.conctl.tables import print_pages
from stdworker.model.json_text import loads

_FILTERS = {
    "labels": "--label",
    "kinds": "--kind",
    "name": "--name",
    "phases": "--phase",
    "owners": "--owner",
    "everything": "--all",
}
_FILTERS_OF = dict.fromkeys((KIND, CONFIG, BINDING), ("labels", "kinds", "name"))


def list_things(
    session: Session, client: Client, listed: str, limit: int, filters: dict[str, Any], *, everything: bool
) -> None:
    """List the things of a type; `everything`: also resources that others own.

    Raises UsageError for a filter that this type doesn't have.
    """
    _refuse_unknown(listed, {**filters, "everything": everything})
    if listed == MEMBER:
        list_members(session, client)
    elif listed == KIND:
        _list_kinds(session, client, limit, filters)
    elif listed == CONFIG:
        _list_configs(session, client, limit, filters)
    elif listed == BINDING:
        _list_bindings(session, client, limit, filters)
    elif listed == DEAD_LETTER:
        _list_dead_letters(session, client, limit)
    else:
        _list_resources(session, client, everything, limit, filters)


def _refuse_unknown(listed: str, given: Mapping[str, Any]) -> None:
    """A filter that is passed over would show too much."""
    known = _FILTERS if listed == RESOURCE else _FILTERS_OF.get(listed, ())
    wrong = [_FILTERS[name] for name, value in given.items() if value and name not in known]
    if wrong:
        raise click.UsageError(f"{' and '.join(wrong)} can't choose among things of the type {listed}")


def _list_resources(session: Session, client: Client, everything: bool, limit: int, filters: dict[str, Any]) -> None:
    query = filters_of(filters)
    roots = not (everything or filters["owners"])
    path, member = ("/resources/roots", "roots") if roots else ("/resources", "resources")
    found = Listing(client, path, member, query, limit)
    headings = show.ROOT_HEADINGS if roots else show.RESOURCE_HEADINGS
    print_list(session, "resources", found, headings, show.resource_row, lambda r: f"{r['kind']}/{r['name']}")


def filters_of(filters: dict[str, Any]) -> dict[str, Any]:
    """What is typed, as the engine's lists of resources take it."""
    return {
        "kind": filters["kinds"],
        "phase": filters["phases"],
        "owner": [owner_of(owner) for owner in filters["owners"]],
        "name": filters["name"],
        "label": [label_of(label) for label in filters["labels"]],
    }


def _list_kinds(session: Session, client: Client, limit: int, filters: dict[str, Any]) -> None:
    found = Listing(client, "/kinds/manifests", "manifests", {}, limit, chosen=_chosen(filters, "kind"))
    headings = ("KIND", "VERSION", "REACTIONS", "DESCRIPTION")
    print_list(session, "manifests", found, headings, _kind_row, lambda m: f"{m['kind']}@{m.get('kind_version', 1)}")


def _chosen(filters: dict[str, Any], named: str, *, kind: str = "kind") -> Callable[[Mapping[str, Any]], bool]:
    """Who is meant, by labels, kind and a part of the name: what the engine does for resources alone."""
    labels = [label_of(label).split(":", 1) for label in filters["labels"]]
    return lambda item: (
        all(item.get("labels", {}).get(key) == value for key, value in labels)
        and (not filters["kinds"] or item[kind] in filters["kinds"])
        and filters["name"] in item[named]
    )


def _kind_row(manifest: dict[str, Any]) -> list[Any]:
    reactions = ", ".join(reaction["name"] for reaction in manifest.get("reactions", []))
    return [manifest["kind"], str(manifest.get("kind_version", 1)), reactions, manifest.get("description") or ""]


def _list_configs(session: Session, client: Client, limit: int, filters: dict[str, Any]) -> None:
    found = Listing(client, "/providerconfigs", "providerconfigs", {}, limit, chosen=_chosen(filters, "name"))
    headings = ("NAME", "KIND", "VERSION", "DEFAULT", "BUNDLE", "AGE")
    print_list(session, "providerconfigs", found, headings, _config_row, lambda config: config["name"])


def _config_row(config: dict[str, Any]) -> list[Any]:
    default = "yes" if config["is_default"] else "no"
    bundle = f"{config['data_bytes']} B" if config["data_bytes"] else "-"
    return [config["name"], config["kind"], str(config["kind_version"]), default, bundle, age(config["created_at"])]


def _list_bindings(session: Session, client: Client, limit: int, filters: dict[str, Any]) -> None:
    chosen = _chosen(filters, "name", kind="watch_kind")
    found = Listing(client, "/reactor-bindings", "reactor_bindings", {}, limit, chosen=chosen)
    headings, row = reactors.BINDING_HEADINGS, reactors.binding_row
    print_list(session, "reactor_bindings", found, headings, row, lambda binding: binding["name"])


def _list_dead_letters(session: Session, client: Client, limit: int) -> None:
    found = Listing(client, "/dead-letters", "dead_letters", {}, limit)
    headings, row = reactors.DEAD_LETTER_HEADINGS, reactors.dead_letter_row
    print_list(session, "dead_letters", found, headings, row, lambda letter: str(letter["id"]))


def list_members(session: Session, client: Client) -> None:
    """The processes of the engine and their workers."""
    document = client.document("/cluster-members")
    members = loads(document)["members"]
    if session.is_table:
        show_cluster(members)
    elif session.output == "name":
        click.echo("\n".join(member["member_id"] for member in members))
    else:
        print_document(document, session.output)


def print_list(
    session: Session,
    member: str,
    found: Listing,
    headings: Sequence[str],
    row: Callable[[Any], list[Any]],
    name: Callable[[Any], str],
) -> None:
    """Each page as it comes: a list may be longer than what fits in memory."""
    if session.output in ("json", "yaml"):
        output.print_list(member, found.all(), session.output)
    elif session.output == "name":
        for item in found.all():
            click.echo(name(loads(item)))
    else:
        print_pages(headings, _rows(found, row), f"No {member.replace('_', ' ')} found.")
    if found.is_cut:
        click.echo(f"(the first {found.limit}; --limit 0 shows all)", err=True)


def _rows(found: Listing, row: Callable[[Any], list[Any]]) -> Iterator[list[list[Any]]]:
    return ([row(loads(item)) for item in page] for page in found.pages())
