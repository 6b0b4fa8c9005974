"""What a case is, and what it finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from stdworker.bridge.launch import MODES

if TYPE_CHECKING:
    from stdworker.testing.conformance.exchange import Exchange
    from stdworker.testing.conformance.lab import Lab

ANY_MODE = frozenset(MODES)
PROCESS = frozenset(("oneshot", "stream"))  # the program is ours to start and to end
PERSISTENT = frozenset(("stream", "socket"))


class Verdict(StrEnum):
    """`warn` works, but not as well as it should; `skip` says that the case doesn't apply."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of one case: `message` says what was seen, `exchange` is the evidence."""

    verdict: Verdict
    message: str = ""
    exchange: Exchange | None = None


Run = Callable[["Lab"], Awaitable[Finding]]


@dataclass(frozen=True, slots=True)
class Case:
    """One rule for programs. `title` states it, `why` says what it is for, `advice` how a program comes to keep it.

    A case with `needs_success` runs only if the program succeeds with an ordinary request.
    """

    id: str
    title: str
    why: str
    advice: str
    modes: frozenset[str]
    needs_success: bool
    run: Run


class Skipped(Exception):
    """The case doesn't apply to this program; the text says why."""


def passed(message: str = "") -> Finding:
    return Finding(Verdict.PASS, message)


def warned(message: str, exchange: Exchange | None = None) -> Finding:
    return Finding(Verdict.WARN, message, exchange)


def failed(message: str, exchange: Exchange | None = None) -> Finding:
    return Finding(Verdict.FAIL, message, exchange)


def without_secrets(finding: Finding, redact: Callable[[str], str]) -> Finding:
    """The finding as it may be shown."""
    exchange = finding.exchange
    return replace(
        finding,
        message=redact(finding.message),
        exchange=exchange and exchange.without_secrets(redact),
    )


async def already_judged(lab: Lab) -> Finding:
    """For a rule whose breach the first look tells: it has seen that the rule is kept."""
    return passed()


def case(
    id: str,  # noqa: A002 (what it is called in reports and options)
    title: str,
    *,
    why: str,
    advice: str,
    modes: frozenset[str] = ANY_MODE,
    needs_success: bool = True,
) -> Callable[[Run], Case]:
    """Turn a function that looks at a program into a case."""
    return lambda run: Case(id, title, why, advice, modes, needs_success, run)
