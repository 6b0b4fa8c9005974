"""A report for machines: a JSON document, and JUnit XML."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from stdworker.testing.conformance.report import Report, Result, evidence
from stdworker.testing.conformance.verdict import Verdict

REPORT_VERSION = 1

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_document(report: Report) -> dict[str, Any]:
    """The report as JSON values; `docs/check.md` describes them."""
    return {
        "version": REPORT_VERSION,
        "program": report.program,
        "kind": report.kind,
        "mode": report.mode,
        "passed": report.passed,
        "counts": report.counts,
        "seconds": round(report.seconds, 3),
        "cases": [_entry(result) for result in report.results],
    }


def as_junit(report: Report) -> bytes:
    """The report as JUnit XML. A warning passes; its message is the output of the test."""
    counts = report.counts
    told = {"tests": len(report.results), "failures": counts["fail"], "errors": 0, "skipped": counts["skip"]}
    attributes = {"name": f"stdworker check {report.kind}", "time": f"{report.seconds:.3f}"}
    attributes |= {name: str(number) for name, number in told.items()}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    for result in report.results:
        _add_testcase(suite, report.kind, result)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml


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
