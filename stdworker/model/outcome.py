"""What a provider returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stdworker.model.config import ProviderConfigSpec
from stdworker.model.resource import Ref

CONDITION_STATUSES = ("True", "False", "Unknown")


@dataclass(slots=True)
class Condition:
    """One statement about a resource; `status` is one of `CONDITION_STATUSES`."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class ChildSpec:
    """A resource that a composite wants to own."""

    kind: str
    kind_version: int
    name: str
    spec: Any = None
    labels: Mapping[str, str] = field(default_factory=dict)
    provider_config_ref: str = ""

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.name)


@dataclass(slots=True)
class ValueFlow:
    """Copies `source_field` of the dependency's status into `dependent_field` of the dependent's spec.

    Both are RFC 6901 pointers.
    """

    dependent_field: str
    source_field: str


@dataclass(slots=True)
class DepEdge:
    """The child `dependent` waits for the child `dependency`, and takes values from it."""

    dependent: Ref
    dependency: Ref
    values: Sequence[ValueFlow] = ()


@dataclass(slots=True)
class Outcome:
    """What a reaction hands back; fill what it may emit.

    `status`, `output` and specs are Python values or `RawJson` kept verbatim; None means nothing to say.
    A composer may set `recompose`, to be run again whenever a child settled, and `allow_empty`, without which
    a composite that owns children doesn't lose all of them at once.
    """

    status: Any = None
    conditions: Sequence[Condition] = ()
    children: Sequence[ChildSpec] = ()
    edges: Sequence[DepEdge] = ()
    configs: Sequence[ProviderConfigSpec] = ()
    output: Any = None
    recompose: bool = False
    allow_empty: bool = False
