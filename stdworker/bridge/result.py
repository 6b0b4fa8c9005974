"""How one run of a program ended, and how failures of programs are told."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import dataclass

from stdworker.bridge.launch import NoCommand
from stdworker.errors import ConfigError, Released, ResponseError, Retry, TaskFailure, Terminal
from stdworker.framing.response import ProgramError, shown
from stdworker.model.outcome import Outcome
from stdworker.process.exits import Exit

EXIT_TERMINAL = 2
STDERR = "\nstderr:\n"  # before the end of stderr in a message
LAST_LINE_CHARACTERS_MAX = 300


@dataclass(slots=True)
class BridgeResult:
    """An outcome or a failure. `exit` is None while the process goes on; `stray_lines` counts what was no message."""

    outcome: Outcome | None = None
    failure: TaskFailure | None = None
    stray_lines: int = 0
    exit: Exit | None = None
    duration_seconds: float = 0.0


async def as_result(running: Awaitable[BridgeResult]) -> BridgeResult:
    """What a run came to, failures as values too, and how long it took."""
    started = time.monotonic()
    try:
        result = await running
    except NoCommand as error:
        released = Released(error.message, hint=error.hint, code=error.code, reason="NotConfigured")
        result = BridgeResult(failure=released)
    except ConfigError as error:
        terminal = Terminal(error.message, hint=error.hint, code=error.code, reason="BadConfig")
        result = BridgeResult(failure=terminal)
    except TaskFailure as failure:
        result = BridgeResult(failure=failure)
    result.duration_seconds = time.monotonic() - started
    return result


def program_failure(error: ProgramError, *, terminal: bool) -> TaskFailure:
    """What the program itself says went wrong."""
    message = error.message or "the program reported an error without a message"
    if terminal:
        return Terminal(message, reason=error.reason or "ProgramFailed", code="program_failed")
    return Retry(
        message,
        reason=error.reason or "ProgramFailed",
        code="program_failed",
        after=error.retry_after_seconds,
    )


def exit_failure(ended: Exit, tail: str, printed: bytes = b"", *, hint: str = "") -> TaskFailure:
    """The program ended badly and said nothing better than its exit status.

    Some say why on stdout: `printed` is shown when stderr is empty.
    """
    said = f"; {shown(printed)}" if printed.strip() and not tail.strip() else ""
    message = with_tail(f"the program failed: {ended}{said}", tail)
    if ended.code == EXIT_TERMINAL:
        return Terminal(message, reason="ExitTerminal", code="exit_terminal", hint=hint)
    code = "killed_by_signal" if ended.signal is not None else "exit_transient"
    return Retry(message, reason="ProgramKilled" if ended.signal else "ExitTransient", code=code, hint=hint)


def response_failure(error: ResponseError, tail: str = "", *, alone: bool = True) -> TaskFailure:
    """The program broke the protocol. With others in flight nobody knows whose answer it was: try again."""
    kind = Terminal if alone else Retry
    return kind(with_tail(error.message, tail), reason="BadResponse", code=error.code, hint=error.hint)


def timeout_failure(seconds: float, tail: str, ended: Exit | None = None) -> TaskFailure:
    message = f"the program gave no answer within {round(seconds, 2):g} s"
    if ended is not None:
        message += f"; it ended by {ended}" if ended.signal is None else f"; it was {ended}"
    return Retry(with_tail(message, tail), reason="DeadlineExceeded", code="deadline_exceeded")


def silence_failure(seconds: float) -> TaskFailure:
    """No progress was reported for so long (`progress_timeout_seconds`)."""
    return Retry(f"the program reported no progress for {seconds:g} s", reason="NoProgress", code="progress_timeout")


def flood_failure(bytes_max: int, *, alone: bool = True) -> TaskFailure:
    """It printed more than `limits.stdout_bytes`. With others in flight nobody knows for whom: try again."""
    kind = Terminal if alone else Retry
    text = f"the program printed more than {bytes_max} bytes (limits.stdout_bytes)"
    return kind(text, reason="OutputTooLarge", code="output_too_large", hint="raise limits.stdout_bytes")


def with_tail(message: str, tail: str) -> str:
    """The first line carries the last thing that stderr said, for whoever sees one line only; more of it follows."""
    lines = tail.rstrip().splitlines()
    if not lines:
        return message
    last = lines[-1].strip()
    shown = last if len(last) <= LAST_LINE_CHARACTERS_MAX else f"{last[:LAST_LINE_CHARACTERS_MAX]}…"
    block = "" if lines == [shown] else STDERR + tail.rstrip()
    return f"{message}: {shown}{block}"
