"""What `stdworker call` prints of one task: an object for machines, or text for people."""

from __future__ import annotations

import logging
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from stdworker.bridge import BridgeResult
from stdworker.bridge.programlog import log as program_log
from stdworker.bridge.result import STDERR
from stdworker.bridge.result_json import SUCCESS, TERMINAL, TRANSIENT, outcome_members, result_members, verdict
from stdworker.cli.terminal import plain
from stdworker.errors import TaskFailure
from stdworker.model.json_text import ascii_line, join_members
from stdworker.process.exits import Exit

EXIT_STATUS = {SUCCESS: 0, TRANSIENT: 1, TERMINAL: 2}


def as_json(result: BridgeResult) -> str:
    """One line of ASCII; the program's documents keep their tokens."""
    return ascii_line(join_members(result_members(result))).decode("ascii")


def as_text(result: BridgeResult) -> str:
    return plain("\n".join(_lines(result)))


def summary(told: Sequence[tuple[str, float]]) -> str:
    """How several tasks went, each told by its verdict and its seconds, in one line."""
    verdicts = Counter(word for word, _ in told)
    counts = ", ".join(f"{verdicts[word]} {word}" for word in EXIT_STATUS if word in verdicts)
    times = sorted(seconds * 1_000 for _, seconds in told)
    spread = f"{times[0]:.0f} to {times[-1]:.0f} ms, median {statistics.median(times):.0f} ms"
    return f"{len(told)} tasks: {counts}; {spread}"


def _lines(result: BridgeResult) -> Iterator[str]:
    yield f"{verdict(result)} in {result.duration_seconds * 1_000:.0f} ms"
    if result.failure is not None:
        yield from _failure_lines(result.failure, result.exit)
    for name, document in outcome_members(result).items():
        yield f"  {name}: {document.decode()}"
    if result.stray_lines:
        yield f"  stray lines: {result.stray_lines}"


def _failure_lines(failure: TaskFailure, ended: Exit | None) -> Iterator[str]:
    reason = f" ({failure.reason})" if failure.reason else ""
    first, *more = _untold(failure).splitlines() or [""]
    yield f"  error{reason}: {first}"
    yield from (f"    {line}" for line in more)
    if ended is not None and str(ended) not in failure.message:
        yield f"  program: {ended}"


def _untold(failure: TaskFailure) -> str:
    """A failure without the stderr that the log has already shown."""
    if not program_log.isEnabledFor(logging.INFO):
        return str(failure)
    message = failure.message.partition(STDERR)[0]
    return f"{message} ({failure.hint})" if failure.hint else message
