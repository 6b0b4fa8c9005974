"""`stdworker check`: does a program keep the contract?"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

import click

from stdworker.cli.numbers import Number
from stdworker.cli.program_arguments import GivenProgram, ProgramCommand, read_config, read_spec
from stdworker.cli.signals import until_interrupted
from stdworker.model.json_text import join_members
from stdworker.testing import conformance

SECONDS_MAX = 600.0

COLOURS = {
    conformance.Verdict.PASS: "green",
    conformance.Verdict.WARN: "yellow",
    conformance.Verdict.FAIL: "red",
    conformance.Verdict.SKIP: "bright_black",
}
MODES = sorted(frozenset[str]().union(*(case.modes for case in conformance.CASES)))


def finite(context: click.Context, parameter: click.Parameter, seconds: float) -> float:
    """NaN is in every range."""
    if math.isnan(seconds):
        raise click.BadParameter("nan is not a number")
    return seconds


@click.command(cls=ProgramCommand)
@click.option("--kind", metavar="KIND", help="NAME or NAME@VERSION. [the kind file's, or the program's file name]")
@click.option("--spec", "specs", multiple=True, metavar="JSON|@FILE|-", help="A spec that must succeed; repeatable.")
@click.option("--config", metavar="FILE", help="The kind's default launch config (JSON, YAML or TOML).")
@click.option("--mode", type=click.Choice(MODES), help="How the program is run. [the kind file's, or oneshot]")
@click.option("--reaction", "reactions", multiple=True, metavar="NAME", help="Run this one only; repeatable.")
@click.option("--timeout", "timeout_seconds", type=Number(0.1, SECONDS_MAX), default=10.0, show_default=True,
              callback=finite, metavar="SECONDS", help="How long one request may take.")  # fmt: skip
@click.option("--only", multiple=True, metavar="CASE", help="Run this case only; repeatable.")
@click.option("--skip", multiple=True, metavar="CASE", help="Leave this case out; repeatable.")
@click.option("--list", "listing", is_flag=True, help="Show the cases and what they are for; nothing is run.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --output json.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@click.argument("command", nargs=-1, metavar="[--] PROGRAM [ARGS]...", type=click.UNPROCESSED)
def check(command: tuple[str, ...], listing: bool, output: str, as_json: bool, **asked: Any) -> None:
    """Try PROGRAM with everything that a host may do to it, and say what to change.

    PROGRAM RUNS FOR REAL, dozens of times, for resources named check-…: what it does then, it does. Point it at a
    place for tests by --config, give it specs that are harmless by --spec, and restrict what is run by --reaction,
    --only and --skip.

    A kind file beside the program is used; without one the program is asked to describe itself. Exit status: 0 no
    case failed (warnings are allowed), 1 one did, 2 the command line is wrong.
    """
    if listing:
        click.echo("\n".join(f"{case.id:17} {case.title}\n{'':17} {case.why}" for case in conformance.CASES))
        return
    if not command:
        raise click.UsageError("Missing argument 'PROGRAM'.")
    logging.getLogger("stdworker").setLevel(logging.CRITICAL)  # what the program prints is shown with its case
    try:
        conformance.chosen(conformance.CASES, asked["only"], asked["skip"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--only, --skip") from None
    if asked["junit"]:
        _write(asked["junit"], b"")  # what can't be written is said before all is run
    sys.exit(asyncio.run(until_interrupted(_check(GivenProgram.of(command), as_json or output == "json", asked))))


async def _check(given: GivenProgram, as_json: bool, asked: dict[str, Any]) -> int:
    config = read_config("--config", asked["config"])
    report = await conformance.check_async(
        given.command,
        given.arguments,
        kind_file=given.kind_file,
        kind=given.pair(asked["kind"]) if asked["kind"] else None,
        specs=[read_spec(spec) for spec in asked["specs"]],
        config=join_members(config) if config else None,
        call_options=_call_options(asked),
        on_result=None if as_json else _show,
        **{name: asked[name] for name in ("mode", "reactions", "timeout_seconds", "only", "skip")},
    )
    click.echo(json.dumps(conformance.as_document(report)) if as_json else conformance.as_text(report))
    if asked["junit"]:
        _write(asked["junit"], conformance.as_junit(report))
    return 0 if report.passed else 1


def _show(result: conformance.Result) -> None:
    line = conformance.case_line(result)
    verdict, rest = line[: len(result.verdict)], line[len(result.verdict) :]
    click.echo(click.style(verdict, fg=COLOURS[result.verdict]) + rest)


def _call_options(asked: dict[str, Any]) -> tuple[str, ...]:
    """What `stdworker call` must be told as well to do the same."""
    options = ((f"--{name}", asked[name]) for name in ("kind", "config", "mode"))
    return tuple(word for option, value in options if value for word in (option, value))


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.BadParameter(f"{path} can't be written: {error.strerror}", param_hint="--junit") from None
