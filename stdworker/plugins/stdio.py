"""The built-in plugin: programs as kinds, through the bridge.

Serves the kinds of STDIO_KINDS and STDIO_COMPOSER_KINDS, whose program is named by their config, and every
program that is a kind by its name or its kind file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from stdworker import KindVersion, Provider, StdworkerError, hookimpl
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.kind_file import KindFile
from stdworker.model.settings import WorkerSettings
from stdworker.plugins.program_kinds import ProgramKind, find_program_kinds, folders_of

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
    for pair in (*settings.stdio_kinds, *settings.stdio_composer_kinds):
        yield ProgramProvider(pair, default_command=settings.stdio_command, run=runtime)
    for found in _program_kinds(settings):
        yield _provider(found, runtime) if isinstance(found, ProgramKind) else found


def _provider(found: ProgramKind, runtime: BridgeRuntime) -> ProgramProvider:
    program = str(found.program)
    base = found.kind_file.default_config if found.kind_file else None
    return ProgramProvider(
        found.pair, fixed_command=program, base_config=base, sealed_by_default=True, path=program, run=runtime
    )


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
    return find_program_kinds(folders_of(settings.kinds_path, os.environ))
