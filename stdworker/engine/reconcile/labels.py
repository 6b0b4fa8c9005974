"""Labels: what people mark things with, so that they find them again."""

from __future__ import annotations

import json

from stdworker.engine.store.nodes import labels_text
from stdworker.engine.store.records import UNSET, Labels
from stdworker.errors import Invalid

LABELS_MAX = 64
LABEL_CHARACTERS_MAX = 253


def checked(labels: Labels) -> dict[str, str] | None:
    """The labels to set; None leaves them alone. Raises Invalid."""
    if labels is UNSET:
        return None
    given = labels or {}
    assert isinstance(given, dict)
    if len(given) > LABELS_MAX or any(
        not key or len(key) > LABEL_CHARACTERS_MAX or len(value) > LABEL_CHARACTERS_MAX for key, value in given.items()
    ):
        rule = f"at most {LABELS_MAX} labels of at most {LABEL_CHARACTERS_MAX} characters"
        raise Invalid("the labels are too many or too long", [("/labels", rule)])
    return given


def kept(labels: Labels, known: str) -> str:
    """The text to store of something whose labels so far are the text `known`. Raises Invalid."""
    given = checked(labels)
    return known if given is None or given == json.loads(known) else labels_text(given)
