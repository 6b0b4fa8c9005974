"""Kinds: their manifests, schemas and live policies."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stdworker.engine.api.shapes.common import Declared
from stdworker.engine.store.records import KindPolicy, KindRecord
from stdworker.model.json_text import dumps, members

Limit = Annotated[int, Meta(ge=0, le=2_147_483_647)]  # as in a manifest


def published(record: KindRecord) -> dict[str, Raw]:
    """The manifest as it was published, with its labels and the number that is another for other content."""
    document = dict(members(record.manifest) or {})
    document["manifest_version"] = dumps(record.manifest_version)
    if record.labels:
        document["labels"] = dumps(record.labels)
    return {key: Raw(value) for key, value in document.items()}


class KindView(Struct):
    """A kind and its published versions."""

    kind: str
    versions: list[int]
    description: str


class Kinds(Struct):
    """All kinds."""

    kinds: list[KindView]


class Manifests(Struct):
    """The manifests of all kinds and versions, each with its manifest_version."""

    manifests: list[dict[str, Raw]]


class KindSchema(Struct):
    """The JSON Schemas of a kind version."""

    kind: str
    kind_version: int
    spec_schema: Raw
    status_schema: Raw
    config_schema: Raw


class PolicyBody(Declared):
    """The live policy of a kind version. What is absent keeps its value; 0 switches a limit off."""

    max_inflight: Limit | UnsetType = UNSET
    task_deadline_seconds: Limit | UnsetType = UNSET
    resync_interval_seconds: Limit | UnsetType = UNSET
    resync_recomposes: bool | UnsetType = UNSET
    orphan_grace_seconds: Limit | UnsetType = UNSET
    max_transient_attempts: Limit | UnsetType = UNSET
    retired: bool | UnsetType = UNSET


class PolicyView(Struct):
    """The live policy of a kind version; 0 means that a limit is off."""

    max_inflight: int
    task_deadline_seconds: int
    resync_interval_seconds: int
    resync_recomposes: bool
    orphan_grace_seconds: int
    max_transient_attempts: int
    retired: bool

    @classmethod
    def of(cls, policy: KindPolicy) -> PolicyView:
        return cls(**{name: getattr(policy, name) for name in cls.__struct_fields__})
