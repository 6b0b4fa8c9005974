"""Provider configs."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType, field

from stdworker.engine.api.shapes.common import (
    Declared,
    Deleted,
    Instant,
    KindName,
    RefView,
    ResourceName,
    Version,
    instant,
    raw,
)
from stdworker.engine.store.records import ConfigRecord
from stdworker.model.json_text import RawJson
from stdworker.model.secrets import mask


class ConfigBody(Declared):
    """A provider config as someone declares it; `data` is a bundle in base64. Absent keeps, null clears."""

    name: ResourceName
    kind: KindName
    kind_version: Version
    is_default: bool | UnsetType = UNSET
    spec: Raw = field(default_factory=Raw)
    data: bytes | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    type: Literal["providerconfig"] | UnsetType = UNSET


class ConfigView(Struct):
    """A provider config. Secrets in it are `***`; `data` is base64."""

    name: str
    kind: str
    kind_version: int
    is_default: bool
    spec: Raw
    data: bytes | None
    labels: dict[str, str]
    owner: RefView | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, record: ConfigRecord, *, reveal: bool) -> ConfigView:
        spec = record.spec if reveal or record.spec is None else mask(RawJson(record.spec))
        return cls(
            name=record.name,
            kind=record.pair.kind,
            kind_version=record.pair.version,
            is_default=record.is_default,
            spec=raw(spec),
            data=record.bundle,
            labels=record.labels,
            owner=RefView.of_any(record.owner),
            created_at=instant(record.created_at_ms),
            updated_at=instant(record.updated_at_ms),
        )


class ConfigSummary(Struct):
    """A provider config in a list: without its spec, with the size of its bundle."""

    name: str
    kind: str
    kind_version: int
    is_default: bool
    data_bytes: int
    labels: dict[str, str]
    owner: RefView | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, record: ConfigRecord) -> ConfigSummary:
        return cls(
            name=record.name,
            kind=record.pair.kind,
            kind_version=record.pair.version,
            is_default=record.is_default,
            data_bytes=len(record.bundle or b""),
            labels=record.labels,
            owner=RefView.of_any(record.owner),
            created_at=instant(record.created_at_ms),
            updated_at=instant(record.updated_at_ms),
        )


class DeletedConfig(Deleted, kw_only=True):
    """`without_default`, as KIND@VERSION: it was the default config of resources, which have none then."""

    without_default: str | UnsetType = UNSET


class Configs(Struct):
    """A page of provider configs."""

    providerconfigs: list[ConfigSummary]
