"""`stdworker doctor`: look at everything that a worker needs here, and say what to do about what is wrong."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import click

from stdworker.cli.doctor.broker import look_at_broker, look_at_health_address
from stdworker.cli.doctor.finding import Finding, Level
from stdworker.cli.doctor.kinds import look_at_kinds, read_settings
from stdworker.cli.doctor.place import look_around
from stdworker.cli.settings import given, settings_options
from stdworker.cli.terminal import plain
from stdworker.cli.worker import VARIABLES

_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}


@click.command()
@settings_options(VARIABLES)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(output: str, **options: str | None) -> None:
    """Look at what a worker needs here: this place, settings, plugins, kinds and their programs, the way to the broker.

    Takes the settings of `run`. Changes nothing, shows no secret. Exit status 1 when there is a problem; warnings
    alone are 0.
    """
    logging.disable(logging.CRITICAL)  # whatever is worth it is a finding
    findings = list(examine({**os.environ, **given(options)}))
    if output == "json":
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings], **_counts(findings)}))
    else:
        for line in _lines(findings):
            click.echo(line)
    sys.exit(1 if _counts(findings)["problems"] else 0)


def examine(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Everything that is found under these variables."""
    yield from look_around(variables)
    settings, found = read_settings(variables)
    yield from found
    if settings is not None:
        yield from look_at_kinds(settings, variables)
        yield from look_at_health_address(settings.health_address)
        yield from look_at_broker(settings)


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    levels = [finding.level for finding in findings]
    return {"problems": levels.count(Level.PROBLEM), "warnings": levels.count(Level.WARNING)}


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    width = max(len(finding.about) for finding in findings)
    for finding in findings:
        level = click.style(f"{finding.level:<7}", fg=_COLOURS[finding.level])
        yield f"{level}  {finding.about:<{width}}  {_one_line(finding)}"
    yield ", ".join(_counted(number, name) for name, number in _counts(findings).items())


def _counted(number: int, names: str) -> str:
    return f"{number} {names if number != 1 else names.removesuffix('s')}"


def _one_line(finding: Finding) -> str:
    told = f"{finding.message}; {finding.advice}" if finding.advice else finding.message
    return plain(" ".join(told.split()))
