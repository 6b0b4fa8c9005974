"""Exceptions become verdicts, by one table."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from stdworker.errors import ConfigError, ProtocolError, Retry, StdworkerError, TaskFailure, Terminal

FRAMES_SHOWN = 3
MESSAGE_CHARACTERS_MAX = 4_096


def verdict(error: BaseException) -> TaskFailure:
    """How a task failed whose provider raised `error`; the first class in the table that fits decides."""
    error = _only_leaf(error)
    return next(judge(error) for kind, judge in _VERDICTS if isinstance(error, kind))


def _only_leaf(error: BaseException) -> BaseException:
    """What a TaskGroup wrapped, when it is one exception."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _itself(error: Any) -> TaskFailure:
    assert isinstance(error, TaskFailure)
    return error


def _terminal(reason: str) -> Callable[[Any], TaskFailure]:
    return lambda error: Terminal(error.message, hint=error.hint, code=error.code, reason=reason)


def _transient(error: Any) -> TaskFailure:
    return Retry(error.message, hint=error.hint, code=error.code)


def _crashed(error: BaseException) -> TaskFailure:
    text = f"{type(error).__qualname__}: {_words(error)}".rstrip(": ")
    places = "".join(f"\n  {place}" for place in _places(error))
    return Retry(text[:MESSAGE_CHARACTERS_MAX] + places, code="provider_crashed", reason=type(error).__name__)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # somebody's __str__
        return ""


def _places(error: BaseException) -> list[str]:
    """The innermost frames, outermost first, without the host's own."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/stdworker/host/" not in f.filename]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames[-FRAMES_SHOWN:]]


_VERDICTS: tuple[tuple[type[BaseException], Callable[[Any], TaskFailure]], ...] = (
    (TaskFailure, _itself),
    (ConfigError, _terminal("BadConfig")),
    (ProtocolError, _terminal("BadResponse")),
    (StdworkerError, _transient),
    (BaseException, _crashed),
)
