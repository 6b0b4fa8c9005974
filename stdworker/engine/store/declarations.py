"""What people declare, and what applying it did. Documents are verbatim text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from stdworker.engine.store.records import ResourceRecord
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion


class Unset(Enum):
    """A member that a request leaves out, which is not the same as null: absent is unchanged, null clears."""

    UNSET = "unset"


UNSET = Unset.UNSET

Labels = dict[str, str] | Unset | None
"""Labels as someone gives them: UNSET keeps those that are there, None takes them away."""


@dataclass(slots=True)
class ApplyDocument:
    """A resource as someone declares it."""

    kind: str
    kind_version: int
    name: str
    spec: RawJson | None = None
    labels: Labels = UNSET
    provider_config_ref: str | Unset | None = UNSET
    only_if: Sequence[str] | None = None
    """Revisions of which the stored resource must have one; none given is any, as long as it is there."""
    only_new: bool = False


@dataclass(slots=True)
class KindDeclaration:
    """A kind version as someone declares it; `force` lets it break what is published."""

    manifest: Mapping[str, Any]
    labels: Labels = UNSET
    force: bool = False
    only_if: Sequence[str] | None = None
    """Revisions of which the published one must have one; none given is any, as long as it is there."""


@dataclass(slots=True)
class ConfigDeclaration:
    """A provider config as someone declares it."""

    name: str
    pair: KindVersion
    is_default: bool = False
    spec: RawJson | None = None
    bundle: bytes | None = None
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """Revisions of which the stored config must have one; none given is any, as long as it is there."""


@dataclass(slots=True)
class BindingDeclaration:
    """A reactor binding as someone declares it. No version is any of the kind watched, or the newest reactor."""

    name: str
    watch_kind: str
    transition: str
    reactor: str
    watch_kind_version: int | None = None
    reactor_version: int | None = None
    label_match: dict[str, str] = field(default_factory=dict)
    enabled: bool = True
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """As of a config."""


Declaration = KindDeclaration | ConfigDeclaration | BindingDeclaration | ApplyDocument


@dataclass(slots=True)
class Applied:
    """What an apply did: `result` is created, configured or unchanged."""

    result: str
    resource: ResourceRecord


class Declared(NamedTuple):
    """What an apply did, without the resource."""

    result: str
    generation: int


class Planned(NamedTuple):
    """What an apply would do, with the declaration before and after it; None before something is there."""

    result: str
    before: RawJson | None
    after: RawJson
