"""What a check found, and how it is told to machines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from stdworker.testing.conformance.exchange import Exchange
from stdworker.testing.conformance.verdict import Case, Finding, Verdict

REPORT_VERSION = 1
SHOWN_CHARACTERS_MAX = 2_000  # of what was sent and received

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Result:
    """A case and what it found, and how long it took."""

    case: Case
    finding: Finding
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return self.finding.verdict

    @property
    def message(self) -> str:
        return self.finding.message


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one check, in the order of the cases."""

    program: str
    kind: str
    mode: str
    results: tuple[Result, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """No case failed; warnings are allowed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.verdict is Verdict.FAIL)

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(result.verdict for result in self.results)
        return {verdict.value: counted[verdict] for verdict in Verdict}

    def verdict_of(self, case_id: str) -> Verdict:
        """What one case found. Raises KeyError for a case that didn't run."""
        return {result.case.id: result.verdict for result in self.results}[case_id]

    def document(self) -> dict[str, Any]:
        """The report as JSON values; `docs/check.md` describes them."""
        return {
            "version": REPORT_VERSION,
            "program": self.program,
            "kind": self.kind,
            "mode": self.mode,
            "passed": self.passed,
            "counts": self.counts,
            "seconds": round(self.seconds, 3),
            "cases": [_entry(result) for result in self.results],
        }

    def junit(self) -> bytes:
        """The report as JUnit XML. A warning passes; its message is the output of the test."""
        counts = self.counts
        told = {"tests": len(self.results), "failures": counts["fail"], "errors": 0, "skipped": counts["skip"]}
        attributes = {"name": f"stdworker check {self.kind}", "time": f"{self.seconds:.3f}"}
        attributes |= {name: str(number) for name, number in told.items()}
        root = ElementTree.Element("testsuites")
        suite = ElementTree.SubElement(root, "testsuite", {name: _xml(text) for name, text in attributes.items()})
        for result in self.results:
            _add_testcase(suite, self.kind, result)
        xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
        return xml


def evidence(exchange: Exchange | None) -> dict[str, str]:
    """What was sent and what came, cut to a length that can be read."""
    if exchange is None:
        return {}
    told = {
        "sent": shown(exchange.sent),
        "received": shown(exchange.stdout),
        "stderr": exchange.stderr[-SHOWN_CHARACTERS_MAX:],
        "exit": str(exchange.exit) if exchange.exit is not None else "",
        "reproduce": exchange.command,
    }
    return {name: text for name, text in told.items() if text}


def shown(text: bytes) -> str:
    decoded = text[:SHOWN_CHARACTERS_MAX].decode("utf-8", "replace")
    return decoded if len(text) <= SHOWN_CHARACTERS_MAX else f"{decoded}… ({len(text)} bytes)"


def _entry(result: Result) -> dict[str, Any]:
    case = result.case
    return {
        "id": case.id,
        "title": case.title,
        "verdict": result.verdict.value,
        "message": result.message,
        "why": case.why,
        "advice": case.advice,
        "seconds": round(result.seconds, 3),
        **evidence(result.finding.exchange),
    }


def _add_testcase(suite: ElementTree.Element, kind: str, result: Result) -> None:
    attributes = {"classname": f"check.{kind}", "name": result.case.id, "time": f"{result.seconds:.3f}"}
    node = ElementTree.SubElement(suite, "testcase", attributes)
    match result.verdict:
        case Verdict.FAIL:
            lines = [result.case.title, f"change: {result.case.advice}"]
            lines += [f"{name}: {text}" for name, text in evidence(result.finding.exchange).items()]
            child = ElementTree.SubElement(node, "failure", {"message": _xml(result.message), "type": result.case.id})
            child.text = _xml("\n".join(lines))
        case Verdict.SKIP:
            ElementTree.SubElement(node, "skipped", {"message": _xml(result.message)})
        case Verdict.WARN:
            ElementTree.SubElement(node, "system-out").text = _xml(f"warning: {result.message}")


def _xml(text: str) -> str:
    """XML has no place for most control characters."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def chosen(cases: Sequence[Case], only: Sequence[str], skip: Sequence[str]) -> list[Case]:
    """The cases to run. Raises ValueError for an id that no case has."""
    known = {case.id for case in cases}
    unknown = [name for name in (*only, *skip) if name not in known]
    if unknown:
        raise ValueError(f"there is no case {unknown[0]!r}; the cases are {', '.join(case.id for case in cases)}")
    return [case for case in cases if (not only or case.id in only) and case.id not in skip]
