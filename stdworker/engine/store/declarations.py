"""What people declare, and what applying it did. Documents are verbatim text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from stdworker.engine.store.records import ResourceRecord
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

T = TypeVar("T")


class Unset(Enum):
    """A member that a request leaves out, which is not the same as null: absent is unchanged, null clears."""

    UNSET = "unset"


UNSET = Unset.UNSET


def given(value: T | Unset, kept: T) -> T:
    """What someone gives, or what is kept where it is left out."""
    return kept if isinstance(value, Unset) else value


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
    """Only if there is none yet."""


@dataclass(slots=True)
class KindDeclaration:
    """A kind version as someone declares it; `force` lets it break what is published."""

    manifest: Mapping[str, Any]
    labels: Labels = UNSET
    force: bool = False
    only_if: Sequence[str] | None = None
    """Revisions of which the published one must have one; none given is any, as long as it is there."""
    only_new: bool = False


@dataclass(slots=True)
class ConfigDeclaration:
    """A provider config as someone declares it. What is left out keeps its value; a new one has none."""

    name: str
    pair: KindVersion
    is_default: bool | Unset = UNSET
    spec: RawJson | Unset | None = UNSET
    bundle: bytes | Unset | None = UNSET
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """Revisions of which the stored config must have one; none given is any, as long as it is there."""
    only_new: bool = False


@dataclass(slots=True)
class BindingDeclaration:
    """A reactor binding as someone declares it. No version is any of the kind watched, or the newest reactor.

    What is left out keeps its value; a new one has no versions, matches all labels and is enabled.
    """

    name: str
    watch_kind: str
    transition: str
    reactor: str
    watch_kind_version: int | Unset | None = UNSET
    reactor_version: int | Unset | None = UNSET
    label_match: dict[str, str] | Unset | None = UNSET
    enabled: bool | Unset = UNSET
    labels: Labels = UNSET
    only_if: Sequence[str] | None = None
    """As of a config."""
    only_new: bool = False


Declaration = KindDeclaration | ConfigDeclaration | BindingDeclaration | ApplyDocument


@dataclass(slots=True)
class Applied:
    """What an apply did: `result` is created, configured or unchanged."""

    result: str
    resource: ResourceRecord


class Doomed(NamedTuple):
    """What goes with a resource: how many it owns at any depth, and what can't be without one of these.

    `first` are some of the dependents, the oldest.
    """

    below: int
    dependents: int
    first: list[Ref]


class Declared(NamedTuple):
    """What an apply did, without the resource."""

    result: str
    generation: int


class Planned(NamedTuple):
    """What an apply would do, with the declaration before and after it; None before something is there."""

    result: str
    before: RawJson | None
    after: RawJson
