"""Kinds and the words of their reactions."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from stdworker.model.whole import whole

KIND = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
RESOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
KIND_RULE = "a-z, 0-9, '.', '-'; at most 63; first alphanumeric"
RESOURCE_NAME_RULE = "A-Z, a-z, 0-9, '.', '_', '-'; at most 253; first alphanumeric"
VERSION_MAX = 32_767


class KindVersion(NamedTuple):
    """A kind at one version (1 to 32767): what tasks are routed by. Sorts by name, then version."""

    kind: str
    version: int = 1

    def __str__(self) -> str:
        return f"{self.kind}@{self.version}"

    @classmethod
    def parse(cls, text: str) -> KindVersion:
        """Read `name` or `name@version`; a bare name is version 1. Raises ValueError saying what is wrong."""
        name, at, version = text.partition("@")
        if not KIND.fullmatch(name):
            raise ValueError(f"{name!r} is not a kind name ({KIND_RULE})")
        if not at:
            return cls(name)
        number = whole(version, VERSION_MAX)
        if not number:
            raise ValueError(f"{version!r} is not a kind version (1 to {VERSION_MAX})")
        return cls(name, number)


class Trigger(StrEnum):
    """What makes a reaction run; the spelling of manifests and of the stdio protocol."""

    SPEC_CHANGE = "specChange"
    CHILDREN_SETTLED = "childrenSettled"
    DELETE_REQUESTED = "deleteRequested"
    OPERATION = "operation"
    REACTOR = "reactor"
    RESYNC = "resync"


class Stage(StrEnum):
    """Which part of a resource's life a task runs. Logic looks at the stage, never at a reaction's name."""

    COMPOSE = "compose"
    WORK = "work"
    ROLLUP = "rollup"
    DELETE = "delete"
    OPERATE = "operate"
    REACT = "react"

    @property
    def trigger(self) -> Trigger:
        """What makes this stage run when nothing says otherwise (a resync runs stages of specChange)."""
        return _TRIGGERS[self]


_TRIGGERS = {
    Stage.COMPOSE: Trigger.SPEC_CHANGE,
    Stage.WORK: Trigger.SPEC_CHANGE,
    Stage.ROLLUP: Trigger.CHILDREN_SETTLED,
    Stage.DELETE: Trigger.DELETE_REQUESTED,
    Stage.OPERATE: Trigger.OPERATION,
    Stage.REACT: Trigger.REACTOR,
}


class Emit(StrEnum):
    """What a reaction may hand back."""

    CHILDREN = "children"
    EDGES = "edges"
    CONFIGS = "configs"
    STATUS = "status"
    CONDITIONS = "conditions"
    FINALIZER = "finalizer"
    OPERATION_OUTPUT = "operationOutput"
    SIDE_EFFECT = "sideEffect"


class Transition(StrEnum):
    """The edges in a resource's life that a reactor can watch."""

    CREATED = "created"
    SYNCED = "synced"
    DEGRADED = "degraded"
    FAILED = "failed"
    DELETED = "deleted"


class Phase(StrEnum):
    """Where a resource stands; derived, the first that applies in this order."""

    DELETING = "Deleting"
    QUARANTINED = "Quarantined"
    FAILED = "Failed"
    ORPHANED = "Orphaned"
    DEGRADED = "Degraded"
    READY = "Ready"
    RECONCILING = "Reconciling"
