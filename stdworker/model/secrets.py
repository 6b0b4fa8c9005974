"""Which settings are secret, and how they are hidden. One rule for messages, logs and the REST API."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from stdworker.model.json_text import RawJson, dumps, elements, join_elements, join_members, members

MASK = "***"

_MASKED = RawJson(b'"***"')
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = {
    *("secret", "secrets", "token", "tokens", "password", "passwords", "passwd", "passphrase", "pwd"),
    *("credential", "credentials", "apikey"),
}
_KEY_WORDS = {
    *("api", "access", "account", "auth", "encryption", "master", "private", "secret", "service", "shared"),
    *("signing", "ssh"),
}


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Does the name of a setting say that its value is secret?

    Whole words count (`db_password`, `githubToken`; not `tokenizer`); `key` only after a word such as api,
    access or private (`private_key`, `AWS_ACCESS_KEY_ID`; not `sort_key`).
    """
    words = [word.lower() for word in _WORD.findall(name)]
    named_keys = pairwise(words)
    return not _SECRET_WORDS.isdisjoint(words) or any(
        before in _KEY_WORDS and word in ("key", "keys") for before, word in named_keys
    )


def mask(config: RawJson) -> RawJson:
    """A config to show: texts under secret names are `***`, all else verbatim.

    At any place, not only in `settings` and `env`: a secret is one also where that key is misspelt.
    """
    return _masked(config, secret=False)


def holds_secret(path: Iterable[str | int], value: Any) -> bool:
    """Is a part of a config, which is at this path, a secret, or is there one in it?"""
    return any(isinstance(step, str) and is_secret(step) for step in path) or mask(dumps(value)) != dumps(value)


def is_masked(config: RawJson) -> bool:
    """Does a config hold a `***` where `mask` would write one? Storing it would lose the secret."""
    return _shows_mask(config, secret=False)


def _masked(value: RawJson, *, secret: bool) -> RawJson:
    if value.startswith(b"{"):
        inner = members(value) or {}
        return join_members({key: _masked(raw, secret=secret or is_secret(key)) for key, raw in inner.items()})
    if value.startswith(b"["):
        return join_elements([_masked(raw, secret=secret) for raw in elements(value) or []])
    return _MASKED if secret and value.startswith(b'"') and value != b'""' else value


def _shows_mask(value: RawJson, *, secret: bool) -> bool:
    if value.startswith(b"{"):
        inner = members(value) or {}
        return any(_shows_mask(raw, secret=secret or is_secret(key)) for key, raw in inner.items())
    if value.startswith(b"["):
        return any(_shows_mask(raw, secret=secret) for raw in elements(value) or [])
    return secret and value == _MASKED
