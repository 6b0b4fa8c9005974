"""The built-in plugin: programs as kinds, through the bridge.

Serves the kinds of STDIO_KINDS and STDIO_COMPOSER_KINDS, whose program is named by their config, and every
program that is a kind by its name or its kind file; one that has none but may describe itself is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from stdworker import KindVersion, Provider, StdworkerError, hookimpl
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.bridge.launch import check_kind_file
from stdworker.errors import ConfigError
from stdworker.model.kind_file import KindFile
from stdworker.model.settings import WorkerSettings
from stdworker.plugins.described import with_descriptions
from stdworker.plugins.program_kinds import ProgramKind, find_program_kinds, folders_of, missing_folders

ATTEMPTS_MAX = 20
RESYNC_SECONDS = 300

LEAF: dict[str, Any] = {
    "description": "A resource that a program of your choice makes true: the config names the program.",
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
    "max_transient_attempts": ATTEMPTS_MAX,
}
COMPOSER: dict[str, Any] = {
    "description": "A resource that a program of your choice turns into others: the config names the program.",
    "reactions": [
        {
            "name": "compose",
            "trigger": "specChange",
            "emits": ["children", "edges", "configs", "status", "conditions"],
        }
    ],
    "resync_interval_secs": RESYNC_SECONDS,
    "resync_recomposes": True,
    "max_transient_attempts": ATTEMPTS_MAX,
}


@hookimpl
def stdworker_providers(settings: WorkerSettings) -> Iterator[Provider | StdworkerError]:
    runtime = BridgeRuntime()
    for variable, pairs in (
        ("STDIO_KINDS", settings.stdio_kinds),
        ("STDIO_COMPOSER_KINDS", settings.stdio_composer_kinds),
    ):
        yield from (ConfiguredProvider(pair, variable, settings.stdio_command, runtime) for pair in pairs)
    for found in _program_kinds(settings):
        if isinstance(found, ProgramKind):
            yield PathProvider(found, runtime)
            yield from _mistakes(found)
        else:
            yield found


def _mistakes(found: ProgramKind) -> Iterator[StdworkerError]:
    """What is wrong with a kind's own config. The kind is served, not ready until a config mends it."""
    try:
        if found.kind_file is not None:
            check_kind_file(found.kind_file, str(found.program))
    except ConfigError as error:
        yield error


class ConfiguredProvider(ProgramProvider):
    """A kind that a setting names; its config names the program."""

    def __init__(self, pair: KindVersion, declared_by: str, command: str | None, runtime: BridgeRuntime) -> None:
        super().__init__(pair, default_command=command, run=runtime)
        self.declared_by = declared_by


class PathProvider(ProgramProvider):
    """A kind that was found as a program on a path. No config changes which program it is.

    `declared_by` and `shadows` are for lists of kinds, see `ProgramKind`.
    """

    def __init__(self, found: ProgramKind, runtime: BridgeRuntime) -> None:
        program, kind_file = str(found.program), found.kind_file
        super().__init__(
            found.pair,
            fixed_command=program,
            base_config=kind_file.default_config if kind_file else None,
            base_bundle=kind_file.default_bundle if kind_file else None,
            sealed_by_default=True,
            path=program,
            run=runtime,
        )
        self.declared_by = found.declared_by
        self.shadows = found.shadows


@hookimpl
def stdworker_kinds(settings: WorkerSettings) -> Iterator[dict[str, Any] | KindFile]:
    for manifest, pairs in ((LEAF, settings.stdio_kinds), (COMPOSER, settings.stdio_composer_kinds)):
        yield from (_manifest(manifest, pair) for pair in pairs)
    for found in _program_kinds(settings):
        if isinstance(found, ProgramKind) and found.kind_file:
            yield found.kind_file


def _manifest(manifest: dict[str, Any], pair: KindVersion) -> dict[str, Any]:
    return {"kind": pair.kind, "kind_version": pair.version} | manifest


def _program_kinds(settings: WorkerSettings) -> Iterator[ProgramKind | StdworkerError]:
    yield from missing_folders(settings.kinds_path)
    yield from with_descriptions(find_program_kinds(folders_of(settings.kinds_path, os.environ)))
