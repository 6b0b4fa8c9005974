"""The commands that compare what files say with what there is, and make them the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from stdworker.cli.conctl.apply import Results
from stdworker.cli.conctl.apps import APP_LABEL, kept_in_app
from stdworker.cli.conctl.arguments import KIND_VERSION, FilesCommand, Session, shared, target_of, type_name
from stdworker.cli.conctl.client import Failed
from stdworker.cli.conctl.completion import complete_target
from stdworker.cli.conctl.diff import show_diff, unified
from stdworker.cli.conctl.edit import Editing
from stdworker.cli.conctl.items import Item, load
from stdworker.cli.conctl.plan import Plan, Would, changes_of, explained
from stdworker.cli.conctl.scopes import read_tree
from stdworker.cli.conctl.sync import Sync
from stdworker.errors import StdworkerError
from stdworker.model.json_text import join_elements

NAMED_MAX = 10  # in one line
SAME, DIFFERENT, TROUBLE = 0, 1, 2  # exit statuses of a diff, as of diff(1)


class Trouble(Failed):
    """A diff that can't be made."""

    exit_code = TROUBLE


@click.command(epilog="Example: conctl sync ./estate --prune --dry-run")
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--prune", is_flag=True, help="Delete what an app of the folder has and no file declares any more.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, change nothing.")
@shared
def sync(session: Session, folder: Path, prune: bool, dry_run: bool) -> None:
    """Apply all that a folder declares, kinds first, resources last, and prune what it no longer declares.

    A file converge.yaml with `app: NAME` makes the files beside and below it one app; what they declare is labelled
    converge.sh/app=NAME. Only what has that label is pruned, only when everything was applied, and never what is
    labelled converge.sh/prune=false or owned by something else.
    """
    tree = read_tree(folder)
    if tree.foreign:
        click.echo(f"not ours, left alone: {_some(tree.foreign)}", err=True)
    if prune and not tree.apps:
        raise click.UsageError(f"nothing to prune: no converge.yaml in {folder} names an app")
    with session.client() as client:
        results = Results(session.output)
        run = Sync(client, tree, results, dry_run)
        try:
            run.apply()
            _tell_forgotten(run)
            unpruned = _prune(run, prune)
        finally:
            results.show()
    if session.is_table:
        counts = ", ".join(f"{count} {result}" for result, count in results.counts.items())
        idle = f"nothing declared, nothing {'pruned' if unpruned else 'to do'}"
        click.echo(f"{'dry run: ' if dry_run else ''}{counts or idle}")
    if run.failures:
        raise Failed(f"{run.failures} failed")


def _tell_forgotten(run: Sync) -> None:
    for app in sorted(run.forgotten):
        told = f"no converge.yaml says app: {app} here, but some of this belongs to it; nothing of it is pruned"
        click.echo(f"{told} (put the file back, or see conctl list -A -l {APP_LABEL}={app})", err=True)


def _prune(run: Sync, prune: bool) -> int:
    """How many things stay only because nobody asked to prune; each is named."""
    if run.failures:
        if prune:
            click.echo("nothing is pruned before everything is applied", err=True)
        return 0
    left = run.left()
    if prune:
        run.prune(left)
        return 0
    unpruned = [one for one in left if not (one.is_going or one.is_kept)]
    for one in unpruned:
        click.echo(f"{one.title} no longer declared (--prune deletes it)", err=True)
    return len(unpruned)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(names[:NAMED_MAX])}{more}"


@click.command(cls=FilesCommand, epilog="Example: conctl diff -f estate/ && echo nothing would change")
@click.option("-f", "--file", "files", multiple=True, required=True, metavar="FILE|DIR|-", help="What to compare.")
@click.option("--type", "forced_type", type=type_name, help="What the documents are, when they don't say.")
@click.option("--force", is_flag=True, help="As if kinds were published by force.")
@shared
def diff(session: Session, files: Sequence[str], forced_type: str | None, force: bool) -> None:
    """Show what applying files would change, as the engine sees it, and change nothing.

    Exit status as of diff: 0 when nothing would change, 1 when something would, 2 when that can't be said.
    """
    try:
        status = _show_diffs(session, load(files, forced_type), force)
    except (Failed, StdworkerError) as error:
        raise Trouble(str(error)) from None
    click.get_current_context().exit(status)


def _show_diffs(session: Session, found: Sequence[Item], force: bool) -> int:
    """The exit status."""
    results = Results(session.output, "differences")
    status = SAME
    with session.client() as client:
        for item, would in Plan(client, force).ask(kept_in_app(client, found, force)):
            if would.problem is not None:
                click.echo(f"{item.where}: {item.title}: {explained(item, would.problem)}", err=True)
                status = TROUBLE
            elif would.result != "unchanged":
                _show_diff(session, results, item, would)
                status = max(status, DIFFERENT)
    results.show()
    return status


def _show_diff(session: Session, results: Results, item: Item, would: Would) -> None:
    if session.is_table:
        show_diff(unified(item, would))
    else:
        changes = join_elements([change.document for change in changes_of(would)])
        results.tell(item.type, item.name, would.result, {"changes": changes}, "")


@click.command(epilog="Example: EDITOR=nano conctl edit greeter/ada")
@click.argument("target", nargs=-1, required=True, metavar="[TYPE] NAME", shell_complete=complete_target)
@click.option("--kind-version", type=KIND_VERSION, default=1, show_default=True, help="Of a kind.")
@shared
def edit(session: Session, target: Sequence[str], kind_version: int) -> None:
    """Change a declaration in $VISUAL or $EDITOR. What is wrong with it is shown there until it is mended.

    It is stored only if nobody changed the thing meanwhile; else the editor opens again with what they changed.
    Secrets of a provider config are shown, which is recorded.
    """
    session.for_people_only("it is a command for people")
    what, name = target_of(target)
    with session.client() as client:
        click.echo(Editing.of(client, what, name, kind_version).run())
