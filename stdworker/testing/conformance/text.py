"""A report for people: a line for each case, then what to change."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from stdworker.testing.conformance.report import Report, Result, evidence
from stdworker.testing.conformance.verdict import Verdict

ID_WIDTH = 17
LINE_CHARACTERS_MAX = 500  # of evidence; the JSON report has more
LINES_MAX = 8


def case_line(result: Result) -> str:
    """One line about one case."""
    note = _first_line(result.message)
    line = f"{result.verdict:5} {result.case.id:{ID_WIDTH}} {result.case.title}"
    return _harmless(f"{line}: {note}" if note else line)


def as_text(report: Report) -> str:
    """What to change, and the sum of it."""
    troubles = [result for result in report.results if result.verdict in (Verdict.FAIL, Verdict.WARN)]
    return _harmless("\n".join([*("\n".join(_trouble(result)) for result in troubles), "", _summary(report)]))


def _trouble(result: Result) -> Iterator[str]:
    case = result.case
    yield ""
    yield f"{result.verdict} {case.id}: {case.title}"
    yield indent(result.message, "  ")
    told = evidence(result.finding.exchange)
    for name in ("sent", "received", "exit", "stderr"):
        if name in told:
            yield _field(name, _cut(told[name], from_end=name == "stderr"))
    yield _field("why", case.why)
    yield _field("change", case.advice)
    if "reproduce" in told:
        yield _field("try", told["reproduce"])


def _field(name: str, text: str) -> str:
    first, *rest = text.rstrip().split("\n")
    return "\n".join([f"  {name:9} {first}", *(f"  {'':9} {line}" for line in rest)])


def _cut(text: str, *, from_end: bool) -> str:
    """The first or the last of it."""
    lines = text.strip().split("\n")
    kept = "\n".join(lines[-LINES_MAX:] if from_end else lines[:LINES_MAX])
    kept = kept[-LINE_CHARACTERS_MAX:] if from_end else kept[:LINE_CHARACTERS_MAX]
    if len(kept) == len(text.strip()):
        return kept
    return f"…{kept}" if from_end else f"{kept}…"


def _first_line(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= LINE_CHARACTERS_MAX else f"{first[:LINE_CHARACTERS_MAX]}…"


def _summary(report: Report) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts.items() if count)
    return f"{report.program} as {report.kind}, mode {report.mode}: {counts} in {report.seconds:.1f} s"


def _harmless(text: str) -> str:
    """What a program printed must not command the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
