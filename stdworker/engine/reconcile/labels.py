"""Labels: what people mark things with, so that they find them again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from stdworker.engine.store.declarations import UNSET, Labels
from stdworker.engine.store.nodes import labels_text
from stdworker.errors import Invalid
from stdworker.model.json_text import escape_token

LABELS_MAX = 64
CHARACTERS_MAX = 253  # of a value

_KEY = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII
)
"""As in Kubernetes. A key with a colon or an equals sign could not be chosen by: a filter is `key:value`."""
_KEY_RULE = "is 1-63 of A-Z a-z 0-9 . _ -, the first and the last alphanumeric, perhaps after a domain name and /"


def faults(labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is wrong with labels: where, as a JSON pointer inside them, and why."""
    if len(labels) > LABELS_MAX:
        yield "", f"expected at most {LABELS_MAX} labels, got {len(labels)}"
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            yield f"/{escape_token(key)}", f"{key!r} is no label key, which {_KEY_RULE}"
        if len(value) > CHARACTERS_MAX or "\x00" in value:
            yield f"/{escape_token(key)}", f"expected at most {CHARACTERS_MAX} characters, none of them NUL"


def checked(labels: Labels) -> dict[str, str] | None:
    """The labels to set; None leaves them alone. Raises Invalid."""
    if labels is UNSET:
        return None
    given = labels or {}
    assert isinstance(given, dict)
    if found := [(f"/labels{place}", why) for place, why in faults(given)]:
        raise Invalid("; ".join(f"{place}: {why}" for place, why in found), found)
    return given


def kept(labels: Labels, known: str) -> str:
    """The text to store of something whose labels so far are the text `known`. Raises Invalid."""
    given = checked(labels)
    return known if given is None or given == json.loads(known) else labels_text(given)
