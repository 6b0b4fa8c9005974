"""What passes between the engine and its brokers: claims, their results, leases. Instants are milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import Lease

_NO_CONFIG = ProviderConfig()


@dataclass(slots=True)
class Want:
    """How many tasks of one pair a worker stream can take now: `credit`. `worker` names the stream."""

    pair: KindVersion
    credit: int
    worker: str


@dataclass(slots=True)
class Claim:
    """One leased stage, with all that its worker must know.

    `deadline_ms` is how long it may run, 0 for ever. `config_revision` is that of the pair's default config, which the
    worker must have; `override` goes over it. `observed` are a composer's children, `descendants` what is rolled up.
    """

    lease: Lease
    worker: str
    stage: Stage
    trigger: Trigger
    reaction: str
    pair: KindVersion
    resource: Resource
    manifest_version: int = 0
    deadline_ms: int = 0
    config_revision: int = 0
    override: ProviderConfig = _NO_CONFIG
    observed: Sequence[Resource] = ()
    descendants: Sequence[Resource] = ()
    operation: Operation | None = None
    transition: Transition | None = None
    dedup_token: str = ""

    @property
    def kind(self) -> KindVersion:
        """The pair, as a request of a worker calls it."""
        return self.pair


@dataclass(slots=True)
class Settlement:
    """A worker's result for one lease. With `error` the task failed, for good if it is `terminal`.

    `released`: it was given back unfinished, which counts as no attempt. `retry_after_ms` is what a failure asks for, 0
    for nothing.
    """

    lease: Lease
    stage: Stage
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    reason: str = ""
    terminal: bool = False
    released: bool = False
    retry_after_ms: int = 0


class Leased(NamedTuple):
    """What a lease is for, to a broker that didn't hand it out."""

    pair: KindVersion
    stage: Stage
    deadline_ms: int


@dataclass(slots=True)
class VoidedLease:
    """A lease that something made void while its task runs, such as a newer generation; `reason` says what."""

    lease: Lease
    reason: str


@dataclass(slots=True)
class DefaultConfig:
    """The default config of a pair; `revision` rises with each edit, deletion included."""

    pair: KindVersion
    config: ProviderConfig
    revision: int
