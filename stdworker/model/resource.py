"""A resource as a provider sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stdworker.model.json_text import RawJson


class Ref(NamedTuple):
    """A resource's identity: the name is unique within its kind."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Ref:
        """What `str` made of one; neither a kind nor a name has a slash."""
        kind, _, name = text.partition("/")
        return cls(kind, name)


@dataclass(slots=True)
class Resource:
    """A declared resource. `spec_json` and `status_json` are verbatim; `spec` and `status` decode them.

    Instants are milliseconds since the epoch; None where there is none. What a base broker doesn't send
    (labels, phase, kind version) is empty.
    """

    uid: str
    kind: str
    name: str
    kind_version: int = 0
    generation: int = 0
    synced_gen: int = 0
    spec_json: RawJson | None = None
    status_json: RawJson | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    owner_uid: str | None = None
    root_uid: str | None = None
    is_ready: bool = False
    phase: str = ""
    finalizers: tuple[str, ...] = ()
    deletion_requested_at_ms: int | None = None
    frozen_until_ms: int | None = None
    quarantined: bool = False
    _decoded: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.name)

    @property
    def spec(self) -> Any:
        """The spec as Python values, integers exact; None when there is none. Decoded once, yours to change."""
        return self._decode("spec", self.spec_json)

    @property
    def status(self) -> Any:
        """What the resource reported last, as Python values; None when nothing was."""
        return self._decode("status", self.status_json)

    def _decode(self, name: str, document: RawJson | None) -> Any:
        if document is None:
            return None
        if name not in self._decoded:
            self._decoded[name] = document.value()
        return self._decoded[name]


@dataclass(slots=True)
class Operation:
    """A verb that someone asked to run on a resource."""

    verb: str
    input_json: RawJson | None = None
    attempts: int = 1
    requested_by: str = ""

    @property
    def input(self) -> Any:
        return None if self.input_json is None else self.input_json.value()
