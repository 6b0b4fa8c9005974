"""Labels: what people mark things with, so that they find them again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from stdworker.engine.store.nodes import labels_text
from stdworker.engine.store.records import UNSET, Labels
from stdworker.errors import Invalid

LABELS_MAX = 64
CHARACTERS_MAX = 253
RULE = f"at most {LABELS_MAX} labels of at most {CHARACTERS_MAX} characters, none of them NUL"


def are_legal(labels: Mapping[str, str]) -> bool:
    return len(labels) <= LABELS_MAX and all(key and _is_legal(key) and _is_legal(labels[key]) for key in labels)


def _is_legal(text: str) -> bool:
    return len(text) <= CHARACTERS_MAX and "\x00" not in text


def checked(labels: Labels) -> dict[str, str] | None:
    """The labels to set; None leaves them alone. Raises Invalid."""
    if labels is UNSET:
        return None
    given = labels or {}
    assert isinstance(given, dict)
    if not are_legal(given):
        raise Invalid("the labels are too many, too long or no text", [("/labels", RULE)])
    return given


def kept(labels: Labels, known: str) -> str:
    """The text to store of something whose labels so far are the text `known`. Raises Invalid."""
    given = checked(labels)
    return known if given is None or given == json.loads(known) else labels_text(given)
