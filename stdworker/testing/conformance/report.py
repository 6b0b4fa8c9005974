"""What a check found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from stdworker.testing.conformance.exchange import Exchange
from stdworker.testing.conformance.verdict import Case, Finding, Verdict

SHOWN_CHARACTERS_MAX = 2_000  # of what was sent and received
NEAR = 0.75  # how like the id of a case a word must be to be taken for a misspelt one


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


def chosen(cases: Sequence[Case], only: Sequence[str], skip: Sequence[str]) -> list[Case]:
    """The cases to run. Raises ValueError for an id that no case has, and when none is left."""
    known = {case.id for case in cases}
    unknown = [name for name in (*only, *skip) if name not in known]
    if unknown:
        near = get_close_matches(unknown[0], known, n=1, cutoff=NEAR)
        hint = f"did you mean {near[0]!r}?" if near else f"the cases are {', '.join(case.id for case in cases)}"
        raise ValueError(f"there is no case {unknown[0]!r}; {hint}")
    left = [case for case in cases if (not only or case.id in only) and case.id not in skip]
    if not left:
        raise ValueError("no case is left to run")
    return left
