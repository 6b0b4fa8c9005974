"""Reading settings from an environment: unset is the default, set but wrong is loud.

Each reader raises SettingsError naming variable, value and expected form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import durationpy

from stdworker.errors import SettingsError

T = TypeVar("T")

LOG_LEVELS = ("debug", "info", "warn", "warning", "error")


class Environment:
    """Typed look-ups in an environment. Every method answers its default when the variable is not set."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def text(self, name: str, default: str) -> str:
        """Any text but an empty one."""
        return self._read(name, default, "a text that is not empty", str)

    def required(self, name: str, expected: str) -> str:
        if name not in self.variables:
            raise SettingsError(name, None, expected)
        return self._read(name, "", expected, str)

    def integer(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number in decimal, `least` or more."""

        def parse(text: str) -> int:
            if not text.isascii() or not text.isdigit() or int(text) < least:
                raise ValueError
            return int(text)

        return self._read(name, default, f"a whole number, {least} or more", parse)

    def duration(self, name: str, default: float, *, least: float = 0.0) -> float:
        """A Go-style duration such as `500ms`, `30s` or `1m30s`, as seconds."""

        def parse(text: str) -> float:
            seconds = durationpy.from_str(text).total_seconds() if text.strip() == text else -1.0
            if seconds < least or (text.isdigit() and text != "0"):
                raise ValueError
            return float(seconds)

        return self._read(name, default, "a duration such as 500ms, 30s or 1m30s", parse)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of `allowed`, any case."""

        def parse(text: str) -> str:
            if text.lower() not in allowed:
                raise ValueError
            return text.lower()

        return self._read(name, default, f"one of {', '.join(allowed)}", parse)

    def flag(self, name: str, default: bool = False) -> bool:
        """1, true, yes, on or 0, false, no, off."""
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        return words[self.choice(name, "1" if default else "0", tuple(words))]

    def names(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list separated by commas, blanks trimmed, order kept, duplicates dropped, none empty."""

        def parse(text: str) -> tuple[str, ...]:
            parts = [part.strip() for part in text.split(",")]
            if not all(parts):
                raise ValueError
            return tuple(dict.fromkeys(parts))

        return self._read(name, default, "a list separated by commas, without empty entries", parse)

    def listen_address(self, name: str, default: tuple[str, int] | None) -> tuple[str, int] | None:
        """`host:port`, or `:port` for all interfaces."""

        def parse(text: str) -> tuple[str, int] | None:
            host, colon, port = text.rpartition(":")
            if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
                raise ValueError
            return host.strip("[]"), int(port)

        return self._read(name, default, "host:port or :port", parse)

    def _read(self, name: str, default: T, expected: str, parse: Callable[[str], T]) -> T:
        value = self.variables.get(name)
        if value is None:
            return default
        try:
            if not value.strip():
                raise ValueError
            return parse(value)
        except SettingsError:
            raise
        except Exception:
            raise SettingsError(name, value, expected) from None
