"""Whole numbers as they are written in paths, parameters and pointers."""

from __future__ import annotations

DIGITS_MAX = 19  # of a number that both stores hold


def whole(text: str, most: int) -> int | None:
    """The number that a text of ASCII digits is, if it is `most` or less; None for any other text."""
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX:
        return None
    number = int(text)
    return number if number <= most else None
