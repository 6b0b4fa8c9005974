"""What the shapes of all objects share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from stdworker.model.kind import KIND, RESOURCE_NAME, VERSION_MAX
from stdworker.model.resource import Ref

NULL = Raw(b"null")

KindName = Annotated[str, Meta(extra_json_schema={"pattern": f"^{KIND.pattern}$"})]
Version = Annotated[int, Meta(ge=1, le=VERSION_MAX)]
ResourceName = Annotated[str, Meta(extra_json_schema={"pattern": f"^{RESOURCE_NAME.pattern}$"})]
Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]

encode = msgspec.json.Encoder().encode


def instant(milliseconds: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_or_none(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else instant(milliseconds)


def raw(document: bytes | None) -> Raw:
    """A document as it is stored, null when there is none."""
    return NULL if document is None else Raw(document)


def raw_text(document: str | None) -> Raw:
    return NULL if document is None else Raw(document.encode())


class Declared(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every document may carry beside its own members."""

    schema_address: str | UnsetType = field(default=UNSET, name="$schema")


class RefView(Struct):
    """A resource's identity."""

    kind: str
    name: str

    @classmethod
    def of(cls, ref: Ref) -> RefView:
        return cls(ref.kind, ref.name)

    @classmethod
    def of_any(cls, ref: Ref | None) -> RefView | None:
        return None if ref is None else cls.of(ref)


class Deleted(Struct):
    """The deletion is done or has begun; false after a dry run."""

    deleted: bool = True
