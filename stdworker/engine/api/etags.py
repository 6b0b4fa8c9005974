"""Entity tags: who changes something may ask that it still be what was seen (RFC 9110, 13.1).

That of a resource leaves out `work`, which moves by itself: else nobody could change one while its task runs.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from stdworker.engine.store.records import ResourceRecord
from stdworker.errors import Invalid
from stdworker.model.kind import Phase

IfMatch = Annotated[str | None, Header(description="Only if it has one of these tags; `*`: if it is there.")]
IfNew = Annotated[
    str | None,
    Header(
        alias="If-None-Match", description="`*`: only if there is none yet.", json_schema_extra={"pattern": r"^\*$"}
    ),
]
IfNoneMatch = Annotated[str | None, Header(description="Answer 304 if the resource still has one of these tags.")]

_MOVING = frozenset({Phase.RECONCILING, Phase.DEGRADED})
"""Phases in which a resource may show what others do, which is no change of its own."""


def of(revision: str) -> str:
    return f'"{revision}"'


def named(header: str | None) -> list[str] | None:
    """The revisions of an If-Match; an empty list is any, None no condition. A weak tag never matches."""
    if header is None:
        return None
    tags = [tag.strip() for tag in header.split(",")]
    return [] if tags == ["*"] else [tag.strip('"') for tag in tags]


def asks_for_new(header: str | None) -> bool:
    """Raises Invalid for tags, which have no meaning where something is declared."""
    if header not in (None, "*"):
        told = f"{header!r} is not *; for tags there is If-Match"
        raise Invalid.at("header/If-None-Match", told, code="bad_precondition")
    return header is not None


def is_known(record: ResourceRecord, header: str | None) -> bool:
    """Has the caller, by its If-None-Match, all that would be answered? Gzip may have weakened its tag."""
    if header is None or record.work is not None or record.phase in _MOVING:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return tags == ["*"] or of(record.revision) in tags
