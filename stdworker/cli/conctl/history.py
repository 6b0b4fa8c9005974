"""Commands about what a resource was to be, and whether it may run: history, rollback, quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from stdworker.cli.conctl.arguments import Session, path_of, shared
from stdworker.cli.conctl.client import Listing
from stdworker.cli.conctl.completion import complete_resource
from stdworker.cli.conctl.items import RESOURCE
from stdworker.cli.conctl.listing import print_list
from stdworker.cli.conctl.output import age
from stdworker.cli.numbers import WholeNumber
from stdworker.model.json_text import dumps, join_members, loads
from stdworker.model.kind import Phase

HEADINGS = ("GENERATION", "VERSION", "AGE", "BY", "BYTES", "LIVE")


@click.command(epilog="Example: conctl history greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@click.option("--limit", type=WholeNumber(0), default=100, show_default=True, help="At most so many; 0: all.")
@shared
def history(session: Session, resource: str, limit: int) -> None:
    """Show the specs that a resource has had, the live one first.

    Each holds from its generation on. A spec itself: conctl rollback brings it back.
    """
    with session.client() as client:
        found = Listing(client, f"{path_of(RESOURCE, resource)}/spec-history", "revisions", {}, limit)
        print_list(session, "revisions", found, HEADINGS, _row, lambda revision: str(revision["generation"]))


def _row(revision: Mapping[str, Any]) -> list[str]:
    return [
        str(revision["generation"]),
        str(revision["kind_version"]),
        age(revision["created_at"]),
        revision["actor"],
        str(revision["size_bytes"]),
        "yes" if revision["is_live"] else "",
    ]


@click.command(epilog="Example: conctl rollback greeter/ada --to 3")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@click.option("--to", "generation", type=WholeNumber(1), required=True, help="The generation that had the spec.")
@shared
def rollback(session: Session, resource: str, generation: int) -> None:
    """Give a resource the spec again that it had at a generation.

    It becomes a new generation and runs. Labels, provider config and kind version stay as they are.
    """
    session.for_people_only()
    path = path_of(RESOURCE, resource)
    with session.client() as client:
        before = client.value(path)["generation"]
        body = join_members({"generation": dumps(generation)})
        now = loads(client.call("POST", f"{path}/rollback", body=body).content)["generation"]
    if now == before:
        click.echo(f"resource {resource} has that spec already (generation {now})")
    else:
        click.echo(f"resource {resource} has the spec of generation {generation} again (generation {now})")


@click.command(epilog="Example: conctl quarantine greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def quarantine(session: Session, resource: str) -> None:
    """Freeze a resource: nothing of it runs until it is released, and its owner doesn't wait for it.

    A running task is told to stop. Changes are kept; they run after the release.
    """
    session.for_people_only()
    with session.client() as client:
        client.call("POST", f"{path_of(RESOURCE, resource)}/quarantine")
    click.echo(f"resource {resource} is quarantined")


@click.command(epilog="Example: conctl unquarantine greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def unquarantine(session: Session, resource: str) -> None:
    """Release a resource from its quarantine: what is due runs."""
    session.for_people_only()
    path = path_of(RESOURCE, resource)
    with session.client() as client:
        was_quarantined = client.value(path)["phase"] == Phase.QUARANTINED
        client.call("POST", f"{path}/unquarantine")
    click.echo(f"resource {resource} is {'released' if was_quarantined else 'not quarantined'}")
