"""The specs that a resource has had."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from stdworker.engine.api.shapes.common import Declared, Instant, instant
from stdworker.engine.store.rows import RevisionRow


class RollbackBody(Declared):
    """Which spec a resource is to have again: the one that it had at this generation."""

    generation: Annotated[int, Meta(ge=1)]


class RevisionView(Struct):
    """A spec that a resource has had from `generation` on: who wrote it, and for which version of the kind."""

    generation: int
    kind_version: int
    actor: str
    size_bytes: int
    is_live: bool
    created_at: Instant

    @classmethod
    def of(cls, row: RevisionRow, *, is_live: bool) -> RevisionView:
        return cls(
            generation=row.generation,
            kind_version=row.kind_version,
            actor=row.written_by,
            size_bytes=len(row.spec or "{}"),
            is_live=is_live,
            created_at=instant(row.written_at),
        )


class Revisions(Struct):
    """A page of revisions, the youngest first."""

    revisions: list[RevisionView]


class RolledBack(Struct):
    """The generation that the resource is at now."""

    generation: int
