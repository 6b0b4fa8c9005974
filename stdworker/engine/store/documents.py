"""Documents as the store keeps them: text of one line of ASCII, tokens and key order as they came."""

from __future__ import annotations

from stdworker.model.json_text import RawJson, ascii_line


def to_text(document: RawJson | None) -> str | None:
    """What is stored of a checked document; None stays None."""
    return ascii_line(document).decode("ascii") if document is not None else None


def from_text(text: str | None) -> RawJson | None:
    """The document of a stored text; None stays None."""
    return RawJson(text.encode()) if text is not None else None
