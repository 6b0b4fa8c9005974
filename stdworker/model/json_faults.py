"""Where a text stops being JSON, or a value can't become it: slow, exact, and with the path.

Only what the quick tests of `json_text` doubt comes here.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Any
from uuid import UUID

from stdworker.errors import JsonError

DEPTH_MAX = 100
NUMBER_CHARACTERS_MAX = 1_000

_TOO_LONG = 10**NUMBER_CHARACTERS_MAX


def plain(value: Any) -> Any:
    """What orjson makes of a value of these types."""
    return value.value if isinstance(value, Enum) else str(value) if isinstance(value, UUID) else value


_TOKEN = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WORDS = {"true", "false", "null"}
_BARE = re.compile(r"[-+A-Za-z0-9.]+")


class Walker:
    """Walks a document token by token, knowing the path; only for documents that the quick test doubts."""

    def __init__(self, text: str, depth_max: int) -> None:
        self.text = text
        self.depth_max = depth_max
        self.at = 0

    def document(self) -> None:
        self.value("", 0)
        self.blank()
        if self.at != len(self.text):
            raise JsonError(f"more text after the document, at character {self.at}", code="trailing_text")

    def blank(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def value(self, path: str, depth: int) -> None:
        first = self.blank()
        if first in ("{", "["):
            if depth >= self.depth_max:
                raise JsonError(f"nested deeper than {self.depth_max}", path=path, code="too_deep")
            self.at += 1
            (self.object if first == "{" else self.array)(path, depth + 1)
        elif first == '"':
            self.string(path)
        else:
            self.scalar(path)

    def object(self, path: str, depth: int) -> None:
        seen: set[str] = set()
        if self.blank() == "}":
            self.at += 1
            return
        while True:
            if self.blank() != '"':
                raise self.unexpected(path, "a key in double quotes")
            key = self.string(path)
            inner = f"{path}/{escape_token(key)}"
            if key in seen:
                raise JsonError("the key appears twice", path=inner, code="duplicate_key")
            seen.add(key)
            if self.blank() != ":":
                raise self.unexpected(inner, "':'")
            self.at += 1
            self.value(inner, depth)
            if self.closed(path, "}"):
                return

    def array(self, path: str, depth: int) -> None:
        if self.blank() == "]":
            self.at += 1
            return
        index = 0
        while True:
            self.value(f"{path}/{index}", depth)
            index += 1
            if self.closed(path, "]"):
                return

    def closed(self, path: str, closer: str) -> bool:
        found = self.blank()
        if found not in (",", closer):
            raise self.unexpected(path, f"',' or '{closer}'")
        self.at += 1
        return found == closer

    def string(self, path: str) -> str:
        try:
            value, self.at = json.decoder.scanstring(self.text, self.at + 1, True)  # type: ignore[attr-defined]
        except json.JSONDecodeError as error:
            raise JsonError(
                f"{error.msg.removesuffix(' at')} at character {error.pos}", path=path, code="bad_string"
            ) from None
        if _has_surrogate(value):
            raise JsonError("a lone surrogate is not text", path=path, code="lone_surrogate")
        return str(value)

    def scalar(self, path: str) -> None:
        match = _BARE.match(self.text, self.at)
        token = match.group() if match else ""
        if token in _WORDS:
            self.at += len(token)
            return
        if token.lstrip("+-") in ("NaN", "Infinity", "nan", "inf"):
            raise JsonError(f"{token} is not a JSON number", path=path, code="not_finite")
        number = _NUMBER.fullmatch(token)
        if not number:
            raise self.unexpected(path, "a JSON value")
        if len(token) > NUMBER_CHARACTERS_MAX:
            raise JsonError(f"a number of {len(token)} characters", path=path, code="number_too_long")
        if any(c in token for c in ".eE") and abs(float(token)) == float("inf"):
            raise JsonError(f"{token} is too large for a JSON number", path=path, code="not_finite")
        self.at += len(token)

    def unexpected(self, path: str, expected: str) -> JsonError:
        if self.at >= len(self.text):
            return JsonError(f"the text ends where {expected} was expected", path=path, code="cut_short")
        got = self.text[self.at : self.at + 20]
        return JsonError(f"expected {expected} at character {self.at}, got {got!r}", path=path)


def escape_token(key: str) -> str:
    """One key as a reference token of an RFC 6901 pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def locate_unencodable(value: Any, path: str, depth: int) -> tuple[str, str]:
    """Where a value stops being JSON, and why; ("", "") when nothing is found."""
    value = plain(value)
    if depth >= DEPTH_MAX and isinstance(value, dict | list | tuple):
        return path, f"nested deeper than {DEPTH_MAX}"
    if isinstance(value, str):
        return (path, "a lone surrogate is not text") if _has_surrogate(value) else ("", "")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return path, f"{value} is not a JSON number"
    if isinstance(value, int) and not -_TOO_LONG // 10 < value < _TOO_LONG:
        return path, f"a number of more than {NUMBER_CHARACTERS_MAX} characters"
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list | tuple):
        items = list(enumerate(value))
    elif value is not None and not isinstance(value, bool | int | float):
        return path, f"{type(value).__name__} is not a JSON type"
    for key, inner in items:
        if isinstance(value, dict) and not isinstance(key, str):
            return path, f"the key {key!r} is not a string"
        if isinstance(key, str) and _has_surrogate(key):
            return path, f"a lone surrogate is not text, in the key {key!r}"
        found = locate_unencodable(inner, f"{path}/{escape_token(str(key))}", depth + 1)
        if found != ("", ""):
            return found
    return "", ""
