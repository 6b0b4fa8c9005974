"""Every hook that a plugin may implement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from stdworker.errors import StdworkerError
from stdworker.model.task import Provider, Result, Task

if TYPE_CHECKING:
    import click

    from stdworker.model.kind_file import KindFile
    from stdworker.model.settings import WorkerSettings

PROJECT = "stdworker"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def stdworker_providers(settings: WorkerSettings) -> Iterable[Provider | StdworkerError]:
    """The providers that this plugin serves, one for each kind version.

    An error stands for a provider that can't be made, or for a mistake that one has: it is reported, all others
    are served. For lists of kinds a provider may have `path`, the file that its kind comes from, `declared_by`,
    where the kind is declared, and `shadows`, the files that would serve it too.
    """
    return ()


@hookspec
def stdworker_kinds(settings: WorkerSettings) -> Iterable[Mapping[str, Any] | KindFile]:
    """Kind files (manifest plus `default_config`) to ship, for `stdworker kinds` and so for an engine."""
    return ()


@hookspec
def stdworker_commands(cli: click.Group) -> None:
    """Add commands to the `stdworker` command line."""


@hookspec
def stdworker_task_started(task: Task) -> None:
    """A task begins to run. Must return at once."""


@hookspec
def stdworker_task_finished(task: Task, result: Result) -> None:
    """A task ended. Must return at once."""
