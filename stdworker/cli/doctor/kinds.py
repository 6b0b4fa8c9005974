"""What a worker with these settings would serve: settings, plugins, kinds and their programs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from stdworker.bridge.launch import NoCommand, check_kind_file, parse_launch
from stdworker.cli.doctor.finding import Finding, fine, problem, warning
from stdworker.cli.worker import VARIABLES
from stdworker.errors import ConfigError, SettingsError, StdworkerError
from stdworker.host.loader import Plugins
from stdworker.model.settings import WorkerSettings
from stdworker.plugins.program_kinds import ProgramKind, find_program_kinds, folders_of, missing_folders
from stdworker.process.command import Command, resolve
from stdworker.process.diagnose import require_startable
from stdworker.process.environment import program_environment

NEAR = 0.88  # how like a setting a variable must be to be taken for a misspelt one; other software has variables too

_ENV = re.compile(rb"#![ \t]*/(?:usr/)?bin/env[ \t]+(?:-S[ \t]+)?([\w.+-]+)")


def read_settings(variables: Mapping[str, str]) -> tuple[WorkerSettings | None, list[Finding]]:
    """The settings without those that are wrong, and what is wrong with each."""
    left, dials, found = dict(variables), "BROKER_ADDR" in variables, []
    if not dials:
        found.append(warning("settings", "BROKER_ADDR is not set", "stdworker run needs it: where the broker listens"))
    found += _misspelt(variables)
    while True:  # each turn drops a variable, or the connection
        try:
            settings = WorkerSettings.from_environment(left, dials=dials)
        except SettingsError as error:
            found.append(problem("settings", str(error)))
            was_set = left.pop(error.variable, None) is not None
            if not was_set and not dials:
                return None, found
            dials = dials and was_set and error.variable != "BROKER_ADDR"
        else:
            return settings, found or [fine("settings", "every variable that is set is legal")]


def _misspelt(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that nobody reads, named almost like one of ours that isn't set."""
    unset = sorted(VARIABLES.keys() - variables.keys())
    for name in sorted(variables.keys() - VARIABLES.keys()):
        for meant in get_close_matches(name, unset, n=1, cutoff=NEAR):
            yield warning("settings", f"{name} is no setting", f"did you mean {meant}?")


def look_at_kinds(settings: WorkerSettings, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Plugins, kinds, and whether the programs of kinds can be started."""
    kinds = [*_folders(settings), *_kinds(settings, variables)]
    yield from _plugins(settings, told=[finding.message for finding in kinds])
    yield from kinds


def _kinds(settings: WorkerSettings, variables: Mapping[str, str]) -> Iterator[Finding]:
    for found in find_program_kinds(folders_of(settings.kinds_path, variables)):
        if isinstance(found, ProgramKind):
            yield from _program_kind(found, variables)
        else:
            yield problem("kinds", str(found))
    if settings.stdio_command is not None:
        environment = program_environment(variables, extra={})
        yield _startable("STDIO_COMMAND", settings.stdio_command, None, environment)


def _plugins(settings: WorkerSettings, *, told: Sequence[str]) -> Iterator[Finding]:
    """What is wrong with each plugin, but what is told elsewhere: the built-in one says it of kinds too."""
    try:
        plugins = Plugins.load(allowed=settings.plugins)
    except SettingsError as error:
        yield problem("plugins", str(error))
        return
    try:
        registry = plugins.registry(settings)
        plugins.kind_files(settings)
        registry.only(settings.kinds, missing_allowed=bool(plugins.broken))
    except StdworkerError as error:
        yield problem("kinds", str(error))
    for plugin in plugins:
        for message in plugin.errors:
            if not any(sentence in message for sentence in told):
                yield problem("plugins", f"{plugin.origin}: {message}", "stdworker plugins shows where it failed")
        if not plugin.errors:
            yield fine("plugins", f"{plugin.origin} serves {', '.join(map(str, plugin.kinds)) or 'nothing'}")


def _folders(settings: WorkerSettings) -> Iterator[Finding]:
    for error in missing_folders(settings.kinds_path):
        yield warning("kinds", error.message, "is it mounted, and spelled right?")


def _program_kind(found: ProgramKind, variables: Mapping[str, str]) -> Iterator[Finding]:
    about = f"kind {found.pair}"
    for shadowed in found.shadows:
        yield warning(about, f"{found.program} comes first: {shadowed} is never used", "remove one of the two")
    program, kind_file = str(found.program), found.kind_file
    try:
        if kind_file is not None:
            check_kind_file(kind_file, program)
        launch = parse_launch(kind_file.default_config if kind_file else None, default_command=program)
    except NoCommand:  # a socket that the broker's config names
        return
    except ConfigError as error:
        yield problem(about, error.message, error.hint)
        return
    environment = program_environment(
        variables, inherit=launch.inherit_env, passthrough=launch.env_passthrough, extra=launch.env
    )
    yield _startable(about, launch.command or program, launch.cwd, environment)


def _startable(about: str, command: str, cwd: str | None, environment: Mapping[str, str]) -> Finding:
    try:
        found = resolve(command, (), cwd, environment)
        require_startable(found)
    except ConfigError as error:
        return problem(about, error.message, error.hint)
    missing = _missing_interpreter(found)
    if missing:
        told = f"{found.path} is run by {missing}, which is not on the program's PATH"
        return problem(about, told, f"install {missing}, or put its folder on PATH")
    return fine(about, found.path)


def _missing_interpreter(command: Command) -> str:
    """`#!/usr/bin/env NAME` starts well and fails inside env: "" when NAME is there, or another form is used."""
    with Path(command.path).open("rb") as file:
        match = _ENV.match(file.read(256))
    if match is None:
        return ""
    name = match[1].decode()
    return "" if shutil.which(name, path=command.environment.get("PATH")) else name
