"""Values of secret settings, replaced in everything that a program makes us write down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring_ascii
from typing import Any

from stdworker.framing.response import CUT
from stdworker.model.json_text import RawJson
from stdworker.model.secrets import MASK, is_secret

CHARACTERS_MIN = 6  # shorter values would blank out innocent text
BEGINNING_CHARACTERS_MIN = 3  # of a secret that was cut; fewer tell nothing
SECRET_BYTES_MAX = 4_096  # of a secret that lies across the beginning of a tail
REDACTORS_MAX = 32


class Redactor:
    """Replaces the secrets of one effective config in text, also one whose rest was cut off."""

    def __init__(self, *configs: RawJson | None) -> None:
        found = {value for config in configs if config for value in _secret_texts(config.value(), secret=False)}
        spelled = {*found, *(encode_basestring_ascii(value)[1:-1] for value in found)}
        self._spelled = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._spelled))) if spelled else None

    @property
    def knows_none(self) -> bool:
        return self._pattern is None

    def finds_any(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        *cut, last = self._pattern.sub(MASK, text).split(CUT)
        return CUT.join([*map(self._without_beginning, cut), last])

    def _without_beginning(self, text: str) -> str:
        whole = text.rstrip("\ufffd")  # without what is left of a character that was cut
        for secret in self._spelled:
            for size in range(min(len(secret) - 1, len(whole)), BEGINNING_CHARACTERS_MIN - 1, -1):
                if whole.endswith(secret[:size]):
                    return whole[:-size] + MASK
        return text


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


def redact_json(document: RawJson, redact: Redactor) -> RawJson:
    """The same document without its secrets: still JSON, every other token as it was."""
    if redact.knows_none or (document.find(b"\\") < 0 and not redact.finds_any(document.decode())):
        return document
    return RawJson(_TOKEN.sub(lambda token: _redacted(token[0], redact), document))


def _redacted(token: bytes, redact: Redactor) -> bytes:
    """A string is read before it is searched: a secret may be spelled with other escapes there."""
    text = json.loads(token) if token.startswith(b'"') else token.decode()
    shown = redact(text)
    return token if shown == text else encode_basestring_ascii(shown).encode()


class SharedRedactor:
    """Replaces the secrets of all requests that shared a process lately: their output can't be told apart."""

    def __init__(self, first: Redactor) -> None:
        self._redactors: dict[Redactor, None] = {first: None}

    def add(self, redact: Redactor) -> None:
        if redact not in self._redactors:
            self._redactors[redact] = None
            if len(self._redactors) > REDACTORS_MAX:
                del self._redactors[next(iter(self._redactors))]

    def __call__(self, text: str) -> str:
        for redact in self._redactors:
            text = redact(text)
        return text


def shown_tail(content: bytes, bytes_max: int, redact: Callable[[str], str]) -> str:
    """The end of what a program wrote, at most `bytes_max` bytes, on a character boundary.

    `content` should hold `SECRET_BYTES_MAX` bytes more, so that no secret is cut in two before it is found.
    """
    encoded = redact(content.decode("utf-8", "replace")).encode("utf-8")
    return encoded[max(0, len(encoded) - bytes_max) :].decode("utf-8", "ignore")


def _secret_texts(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secret_texts(inner, secret=secret or is_secret(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _secret_texts(inner, secret=secret)
    elif secret and isinstance(value, str) and len(value) >= CHARACTERS_MIN:
        yield value
