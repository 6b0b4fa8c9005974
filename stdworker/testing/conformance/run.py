"""Running the cases, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

from stdworker.bridge.describe import describe
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.errors import StdworkerError
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.plugins.program_kinds import kind_file_of
from stdworker.testing.conformance.cases import CASES
from stdworker.testing.conformance.cases.cleaning import clean_up
from stdworker.testing.conformance.exchange import Ending
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.probe import Probe, probe
from stdworker.testing.conformance.report import Report, Result, chosen
from stdworker.testing.conformance.subject import Subject
from stdworker.testing.conformance.verdict import Case, Finding, Skipped, Verdict, failed, without_secrets

CASE_WAITS_MAX = 20  # a case takes at most so many times the time of one request
TIMEOUT_SECONDS = 10.0

OnResult = Callable[[Result], None]


class Options(TypedDict, total=False):
    """What can be said about a check; see `check`."""

    specs: Sequence[Any]
    config: Any
    kind: KindVersion | None
    kind_file: KindFile | None
    mode: str | None
    reactions: Sequence[str]
    timeout_seconds: float
    only: Sequence[str]
    skip: Sequence[str]


def check(command: str, arguments: Sequence[str] = (), **options: Unpack[Options]) -> Report:
    """Run the conformance suite on a program, for real and many times, with resources named `check-…`.

    `specs` must succeed; they and `config`, the kind's launch config, are Python values or `RawJson`. A request may
    take `timeout_seconds`, 10 by default. `reactions` are names; `only` and `skip` are ids of cases. Without
    `kind_file` the one beside the program is used, else the program is asked to describe itself.

    Raises ConfigError when the program can't be launched as it is asked for, ValueError for an id that no case has.
    Where a loop runs already, await `check_async`.
    """
    return asyncio.run(check_async(command, arguments, **options))


async def check_async(
    command: str,
    arguments: Sequence[str] = (),
    *,
    on_result: OnResult | None = None,
    call_options: Sequence[str] = (),
    **options: Unpack[Options],
) -> Report:
    """See `check`. `on_result` hears of each case as it ends; `call_options` make `stdworker call` do the same."""
    only, skip = options.get("only", ()), options.get("skip", ())
    chosen(CASES, only, skip)
    config = options.get("config")
    make = partial(
        Subject.of,
        command,
        arguments,
        kind=options.get("kind"),
        config=None if config is None else dumps(config),
        mode=options.get("mode"),
        specs=[dumps(spec) for spec in options.get("specs", ())],
        reactions=options.get("reactions", ()),
        timeout_seconds=options.get("timeout_seconds", TIMEOUT_SECONDS),
        call_options=call_options,
    )
    subject = make(kind_file=options.get("kind_file") or kind_file_of(command))
    if subject.kind_file is None and subject.launch.mode != "socket":
        subject = make(kind_file=await _described(command, arguments, options.get("kind")))
    return await _check(subject, only, skip, on_result)


async def _check(subject: Subject, only: Sequence[str], skip: Sequence[str], on_result: OnResult | None) -> Report:
    started = time.monotonic()
    runtime = BridgeRuntime()
    results = []
    try:
        lab = Lab(subject, runtime)
        first = await probe(lab)
        lab.base = first.exchange
        for case in _cases(lab, only, skip, first):
            result = await _timed(case, lab, first)
            results.append(result)
            if on_result is not None:
                on_result(result)
    finally:
        await runtime.close()
    command = " ".join((subject.command, *subject.arguments))
    return Report(command, str(subject.kind), subject.launch.mode, tuple(results), time.monotonic() - started)


def _cases(lab: Lab, only: Sequence[str], skip: Sequence[str], first: Probe) -> list[Case]:
    """Those asked for, else those of the mode; always what fails at first sight, and what tidies up."""
    cases = [case for case in chosen(CASES, only, skip) if only or lab.launch.mode in case.modes]
    always = first.blame or (clean_up.id if lab.subject.deleter else "")
    return [case for case in CASES if case in cases or (case.id == always and case.id not in skip)]


async def _described(command: str, arguments: Sequence[str], kind: KindVersion | None) -> KindFile | None:
    runtime = BridgeRuntime()
    try:
        found = await describe(command, arguments, kind=kind, run=runtime)
    except StdworkerError:  # the cases say it better
        return None
    finally:
        await runtime.close()
    return found if isinstance(found, KindFile) else None


async def _timed(case: Case, lab: Lab, first: Probe) -> Result:
    started = time.monotonic()
    limit_seconds = CASE_WAITS_MAX * (lab.seconds + lab.grace_seconds)
    try:
        async with asyncio.timeout(limit_seconds):
            finding = await _found(case, lab, first)
    except TimeoutError:
        finding = failed(f"the case took more than {limit_seconds:g} s")
    return Result(case, without_secrets(finding, lab.subject.redact), time.monotonic() - started)


async def _found(case: Case, lab: Lab, first: Probe) -> Finding:
    if first.blame == case.id:
        return failed(first.message, first.exchange)
    try:
        _require(case, lab, first)
        return await case.run(lab)
    except Skipped as skipped:
        return Finding(Verdict.SKIP, str(skipped))
    except StdworkerError as error:
        return failed(str(error))


def _require(case: Case, lab: Lab, first: Probe) -> None:
    """Raises Skipped when the case can't say anything about this program."""
    if lab.launch.mode not in case.modes:
        raise Skipped(f"only in mode {' or '.join(sorted(case.modes))}")
    if first.blame:
        raise Skipped(f"there is no answer to compare with (see {first.blame})")
    if case.needs_success and lab.answered.ending is not Ending.SUCCESS:
        raise Skipped("needs a spec with which the program succeeds (--spec)")
