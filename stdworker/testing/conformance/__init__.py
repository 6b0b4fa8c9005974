"""A conformance suite for programs that speak the stdio protocol: what `stdworker check` runs, for tests too.

from stdworker.testing import conformance

def test_the_program_keeps_the_contract():
    report = conformance.check("./greeter", specs=[{"name": "Ada"}])
    assert report.passed, conformance.as_text(report)
"""

from stdworker.testing.conformance.cases import CASES
from stdworker.testing.conformance.machine import as_document, as_junit
from stdworker.testing.conformance.report import Report, Result, chosen
from stdworker.testing.conformance.run import check, check_async
from stdworker.testing.conformance.text import as_text, case_line
from stdworker.testing.conformance.verdict import Case, Finding, Verdict

__all__ = [
    "CASES",
    "Case",
    "Finding",
    "Report",
    "Result",
    "Verdict",
    "as_document",
    "as_junit",
    "as_text",
    "case_line",
    "check",
    "check_async",
    "chosen",
]
