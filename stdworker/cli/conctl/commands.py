"""The commands of `conctl`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

import stdworker
from stdworker.cli.conctl import output, reactors, show
from stdworker.cli.conctl.apply import Applying, Results
from stdworker.cli.conctl.apps import kept_in_app
from stdworker.cli.conctl.arguments import (
    DEAD_LETTER,
    KIND_VERSION,
    FilesCommand,
    Session,
    path_of,
    shared,
    target_of,
    title_of,
    type_name,
)
from stdworker.cli.conctl.client import Client, Failed, Listing, given
from stdworker.cli.conctl.completion import complete_kind, complete_resource, complete_target, complete_type
from stdworker.cli.conctl.declaring import diff, edit, sync
from stdworker.cli.conctl.explain import explain
from stdworker.cli.conctl.history import history, quarantine, rollback, unquarantine
from stdworker.cli.conctl.items import CONFIG, RESOURCE, load, ordered, program_items, titled
from stdworker.cli.conctl.listing import filters_of, list_members, list_things, print_list
from stdworker.cli.conctl.run import ask, await_end, json_input, show_operation
from stdworker.cli.conctl.tables import table
from stdworker.cli.conctl.wait import wait_for
from stdworker.cli.conctl.watch import Watching, line_of
from stdworker.cli.ending import CommandLine
from stdworker.cli.numbers import WholeNumber
from stdworker.model.json_text import RawJson, loads
from stdworker.model.kind import Phase

PHASES = click.Choice([phase.value for phase in Phase], case_sensitive=False)  # spelled as the tables do
CONDITIONS = click.Choice(["ready", "synced", "deleted"], case_sensitive=False)


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(stdworker.__version__, prog_name="conctl")
@shared
def cli(session: Session) -> None:
    """Declare resources, look at them, wait for them.

    Exit status: 0 done, 1 failed, 2 not understood; of diff: 0 the same, 1 different, 2 can't be said.
    """


for _command in (sync, diff, edit, explain, history, rollback, quarantine, unquarantine, reactors.retry):
    cli.add_command(_command)


# ---- writing ----


@cli.command(cls=FilesCommand, epilog="Example: conctl apply -f greeter.kind.yaml -f ada.yaml --wait")
@click.option("-f", "--file", "files", multiple=True, metavar="FILE|DIR|-", help="What to apply.")
@click.option(
    "--program",
    "programs",
    multiple=True,
    metavar="PROGRAM",
    type=click.Path(path_type=Path),
    help="An executable whose kind to apply: as the kind file beside it says, else as it describes itself.",
)
@click.option("--type", "forced_type", type=type_name, help="What the documents are, when they don't say.")
@click.option("--dry-run", is_flag=True, help="Say what would change, change nothing.")
@click.option("--force", is_flag=True, help="Publish kinds that break what was published; recorded.")
@click.option("--wait", "waits", is_flag=True, help="Wait until the resources are Ready.")
@shared
def apply(
    session: Session,
    files: Sequence[str],
    programs: Sequence[Path],
    forced_type: str | None,
    dry_run: bool,
    force: bool,
    waits: bool,
) -> None:
    """Declare what files say: JSON, YAML (several documents) or TOML.

    Kinds go first, then provider configs, reactor bindings, resources. A kind file (a manifest with
    default_config) also makes the kind's default provider config; with --program its command is that program.
    """
    if not files and not programs:
        raise click.UsageError("nothing to apply: give --file or --program")
    found = ordered([*load(files, forced_type), *(item for program in programs for item in program_items(program))])
    if not found:
        raise Failed(f"{', '.join(files)}: nothing in it")
    with session.client() as client:
        results = Results(session.output)
        applying = Applying(client, dry_run, force, on_result=results.add)
        try:
            applying.send(kept_in_app(client, found, force))
        finally:
            results.show()
        if applying.failures:
            raise Failed(f"{applying.failures} of {len(found)} failed")
        if waits and not dry_run:
            _wait(session, client, [item.name for item in found if item.type == RESOURCE], "ready")


@cli.command(epilog="Example: conctl delete greeter/ada --wait")
@click.argument("target", nargs=-1, required=True, metavar="[TYPE] NAME", shell_complete=complete_target)
@click.option("--kind-version", type=KIND_VERSION, default=1, show_default=True, help="Of a kind.")
@click.option("--dry-run", is_flag=True, help="Say what would go, or what stands against it; change nothing.")
@click.option("--force", is_flag=True, help="Skip what stands against it; recorded.")
@click.option("--wait", "waits", is_flag=True, help="Wait until the resource is gone.")
@shared
def delete(session: Session, target: Sequence[str], kind_version: int, dry_run: bool, force: bool, waits: bool) -> None:
    """Delete a resource with all that it owns, a provider config, a reactor binding, or a kind version."""
    session.for_people_only()
    kind, name = target_of(target)
    if kind == DEAD_LETTER:
        raise click.UsageError("dead letters go by themselves, with age; conctl retry delivers one again")
    if kind != RESOURCE and (force or waits):
        raise click.UsageError("--force and --wait are for resources; everything else is gone at once or not at all")
    path = path_of(kind, name, kind_version)
    asked = {"force": "true" if force else "", "dryRun": "true" if dry_run else ""}
    with session.client() as client:
        answer = loads(client.call("DELETE", path, query=asked).content)
        if dry_run:
            done = "would be deleted"
        elif waits:
            _wait(session, client, [name], "deleted")
            return
        else:
            done = "deletion requested" if kind == RESOURCE else "deleted"
    click.echo(f"{titled(kind, title_of(kind, name, kind_version))} {done}{output.doomed(answer)}")


@cli.command(epilog="Example: conctl reconcile greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def reconcile(session: Session, resource: str) -> None:
    """Run a resource again, although nothing changed."""
    session.for_people_only()
    with session.client() as client:
        answer = client.call("POST", f"{path_of(RESOURCE, resource)}/reconcile")
    click.echo(f"resource {resource} runs again (generation {loads(answer.content)['generation']})")


@cli.command(epilog="Example: conctl run greeter/ada greet --input '{\"loud\":true}' --wait")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@click.argument("verb")
@click.option("--input", "given", type=json_input, metavar="JSON|@FILE", help="What the operation takes.")
@click.option("--wait", "waits", is_flag=True, help="Wait for its end and print its output.")
@shared
def run(session: Session, resource: str, verb: str, given: RawJson | None, waits: bool) -> None:
    """Run an operation of a resource: a verb that its kind has."""
    with session.client() as client:
        operation = ask(client, path_of(RESOURCE, resource), verb, given)
        if waits:
            operation = await_end(client, path_of(RESOURCE, resource), operation)
    show_operation(session, resource, operation)


# ---- reading ----


@cli.command(epilog="Example: conctl get greeter/ada -o yaml")
@click.argument("target", nargs=-1, required=True, metavar="[TYPE] NAME", shell_complete=complete_target)
@click.option("--kind-version", type=KIND_VERSION, default=1, show_default=True, help="Of a kind.")
@click.option("--reveal", is_flag=True, help="Show secrets of a provider config; recorded.")
@shared
def get(session: Session, target: Sequence[str], kind_version: int, reveal: bool) -> None:
    """Show one resource (KIND/NAME), manifest, provider config, reactor binding or dead letter."""
    kind, name = target_of(target)
    query = {"reveal": "true"} if reveal and kind == CONFIG else {}
    with session.client() as client:
        document = client.document(path_of(kind, name, kind_version), query)
    if session.output == "name":
        click.echo(title_of(kind, name, kind_version))
    elif session.is_table and kind == RESOURCE:
        table(show.RESOURCE_HEADINGS, [show.resource_row(loads(document))], "")
    else:
        output.print_document(document, "yaml" if session.is_table else session.output)


@cli.command("list", epilog="Example: conctl list -l team=analytics --phase failed")
@click.argument("listed", type=type_name, default=RESOURCE, metavar="[TYPE]", shell_complete=complete_type)
@click.option("-A", "--all", "everything", is_flag=True, help="Also resources that others own.")
@click.option("-l", "--label", "labels", multiple=True, metavar="KEY=VALUE", help="With this label; all of them.")
@click.option("--kind", "kinds", multiple=True, shell_complete=complete_kind, help="Of this kind; any of them.")
@click.option("--phase", "phases", multiple=True, type=PHASES, help="In this phase; any of them.")
@click.option("--owner", "owners", multiple=True, metavar="KIND/NAME", shell_complete=complete_resource,
              help="Owned by it; any of them.")  # fmt: skip
@click.option("--name", default="", help="A part of the name.")
@click.option("--limit", type=WholeNumber(0), default=500, show_default=True, help="At most so many; 0: all.")
@shared
def list_(session: Session, listed: str, everything: bool, limit: int, **filters: Any) -> None:
    """List resources (those that nobody owns, unless -A), or the things of another type."""
    with session.client() as client:
        list_things(session, client, listed, limit, filters, everything=everything)


@cli.command(epilog="Example: conctl cluster")
@shared
def cluster(session: Session) -> None:
    """Show the engine's processes, their workers, and which kinds these take."""
    with session.client() as client:
        list_members(session, client)


@cli.command(epilog="Example: conctl describe greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def describe(session: Session, resource: str) -> None:
    """Show all that is known of a resource, its dependencies and its last events."""
    session.for_people_only(f"`conctl get {resource} --output {session.output}` has the document")
    path = path_of(RESOURCE, resource)
    with session.client() as client:
        document = client.document(path)
        dependencies = client.value(f"{path}/dependencies")["dependencies"]
        events = [loads(event) for event in client.items(f"{path}/events", "events", {}).items]
        reasons = client.value(f"{path}/explain")["reasons"]
    show.describe(document, dependencies, events, reasons)


@cli.command(epilog="Example: conctl tree stack/web")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@shared
def tree(session: Session, resource: str) -> None:
    """Show a resource and everything below it, with phases and what stands in the way."""
    with session.client() as client:
        graph = client.document(f"{path_of(RESOURCE, resource)}/graph")
    if session.is_table:
        show.tree(loads(graph))
    elif session.output == "name":
        click.echo("\n".join(node["ref"] for node in loads(graph)["nodes"]))
    else:
        output.print_document(graph, session.output)


@cli.command(epilog="Example: conctl events greeter/ada")
@click.argument("resource", metavar="KIND/NAME", shell_complete=complete_resource)
@click.option("--limit", type=WholeNumber(0), default=0, help="At most so many, the oldest first; 0: all.")
@shared
def events(session: Session, resource: str, limit: int) -> None:
    """Show what happened to a resource, the oldest first."""
    with session.client() as client:
        found = Listing(client, f"{path_of(RESOURCE, resource)}/events", "events", {}, limit)
        headings = ("AGE", "TYPE", "REASON", "BY", "MESSAGE")
        print_list(session, "events", found, headings, lambda e: show.event_rows([e])[0], lambda e: e["type"])


@cli.command(epilog="Example: conctl watch --kind greeter")
@click.argument("resource", required=False, metavar="[KIND/NAME]", shell_complete=complete_resource)
@click.option("-k", "--kind", "kinds", multiple=True, shell_complete=complete_kind, help="Of this kind; any of them.")
@click.option("-l", "--label", "labels", multiple=True, metavar="KEY=VALUE", help="With this label; all of them.")
@click.option("--phase", "phases", multiple=True, type=PHASES, help="In this phase; any of them.")
@click.option("--owner", "owners", multiple=True, metavar="KIND/NAME", shell_complete=complete_resource,
              help="Owned by it; any of them.")  # fmt: skip
@click.option("--name", default="", help="A part of the name.")
@shared
def watch(session: Session, resource: str | None, **filters: Any) -> None:
    """Print a line for each change of a resource, or of those chosen, until interrupted.

    A lost connection is taken up again without a gap. With --output json each line is the whole change.
    """
    if session.output == "yaml":
        raise click.UsageError("this command has no --output yaml; --output json has the whole changes")
    query = filters_of(filters)
    if resource and any(query.values()):
        raise click.UsageError("give a resource or filters, not both")
    path = f"{path_of(RESOURCE, resource)}/watch" if resource else "/watch"
    with session.client() as client:
        for change in Watching(client, path, given(query)).events():
            click.echo(change if session.output == "json" else line_of(change, session.output))


@cli.command(epilog="Example: conctl wait greeter/ada stack/web --for ready --timeout 5m")
@click.argument("resources", nargs=-1, required=True, metavar="KIND/NAME...", shell_complete=complete_resource)
@click.option("--for", "condition", type=CONDITIONS, default="ready")
@shared
def wait(session: Session, resources: Sequence[str], condition: str) -> None:
    """Wait until resources are ready, synced or deleted; --timeout bounds it."""
    session.for_people_only()
    with session.client() as client:
        for resource in resources:
            path_of(RESOURCE, resource)
        _wait(session, client, resources, condition)


def _wait(session: Session, client: Client, names: Sequence[str], condition: str) -> None:
    complaints = wait_for(client, names, condition, session.connection.timeout_seconds, quietly=not session.is_table)
    if complaints:
        raise Failed("\n".join(complaints))


@cli.command(epilog="Example: source <(conctl completion bash)")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what teaches a shell to complete conctl's words."""
    source = get_completion_class(shell)
    assert source is not None
    click.echo(source(cli, {}, "conctl", "_CONCTL_COMPLETE").source())
