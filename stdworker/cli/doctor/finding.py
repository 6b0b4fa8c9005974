"""What `stdworker doctor` has found: one line about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level", "fine", "problem", "warning"]


class Level(StrEnum):
    """How bad it is. A problem keeps something from working, a warning may."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """`about` names what was looked at, `advice` says what to do ("" when nothing is)."""

    about: str
    level: Level
    message: str
    advice: str = ""


def fine(about: str, message: str) -> Finding:
    return Finding(about, Level.OK, message)


def warning(about: str, message: str, advice: str = "") -> Finding:
    return Finding(about, Level.WARNING, message, advice)


def problem(about: str, message: str, advice: str = "") -> Finding:
    return Finding(about, Level.PROBLEM, message, advice)
