"""The engine: what the broker and the API call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stdworker.engine.reconcile.clock import Clock, SystemClock
from stdworker.engine.reconcile.watch import Watch
from stdworker.engine.store.records import (
    Applied,
    ApplyDocument,
    Claim,
    ConfigRecord,
    DefaultConfig,
    Edge,
    EventRecord,
    KindPolicy,
    KindRecord,
    Page,
    ResourceFilter,
    ResourceRecord,
    Settlement,
    VoidedLease,
    Want,
)
from stdworker.errors import RequestError
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref
from stdworker.model.task import Lease


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an operator may tune; the defaults are those of `converge serve`."""

    liveness_seconds: float = 15.0
    retry_base_seconds: float = 2.0
    retry_cap_seconds: float = 300.0
    events_keep: int = 100_000
    events_keep_seconds: float = 720 * 3600.0


class Engine:
    @classmethod
    async def open(
        cls, database_url: str, options: EngineOptions = EngineOptions(), *, clock: Clock | None = None
    ) -> Engine:
        raise NotImplementedError

    async def run(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    def watch(self) -> Watch:
        raise NotImplementedError

    async def claim(self, wants: Sequence[Want], broker: str) -> list[Claim]:
        raise NotImplementedError

    async def settle(self, settlements: Sequence[Settlement], broker: str) -> list[bool]:
        raise NotImplementedError

    async def attest(self, leases: Sequence[Lease], broker: str, worker: str) -> list[Lease]:
        raise NotImplementedError

    async def progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        raise NotImplementedError

    async def release(self, leases: Sequence[Lease], broker: str, *, counted: bool) -> None:
        raise NotImplementedError

    async def voided(self, broker: str) -> list[VoidedLease]:
        raise NotImplementedError

    async def default_configs(self, pairs: Sequence[KindVersion]) -> dict[KindVersion, DefaultConfig]:
        raise NotImplementedError

    async def apply(
        self, documents: Sequence[ApplyDocument], actor: str, *, dry_run: bool = False
    ) -> list[Applied | RequestError]:
        raise NotImplementedError

    async def get(self, ref: Ref) -> ResourceRecord:
        raise NotImplementedError

    async def find(self, where: ResourceFilter, *, limit: int = 100, cursor: str | None = None) -> Page:
        raise NotImplementedError

    async def summary(self) -> dict[str, Any]:
        raise NotImplementedError

    async def edges(self, ref: Ref) -> list[Edge]:
        raise NotImplementedError

    async def dependencies(self, ref: Ref) -> list[tuple[Edge, ResourceRecord | None]]:
        raise NotImplementedError

    async def events(self, ref: Ref | None = None, *, after: int = 0, limit: int = 100) -> list[EventRecord]:
        raise NotImplementedError

    async def delete(self, ref: Ref, actor: str, *, force: bool = False) -> None:
        raise NotImplementedError

    async def reconcile(self, ref: Ref, actor: str) -> ResourceRecord:
        raise NotImplementedError

    async def publish_kind(self, manifest: Mapping[str, Any], actor: str, *, force: bool = False) -> KindRecord:
        raise NotImplementedError

    async def kinds(self) -> list[KindRecord]:
        raise NotImplementedError

    async def kind(self, pair: KindVersion) -> KindRecord:
        raise NotImplementedError

    async def delete_kind(self, pair: KindVersion, actor: str) -> None:
        raise NotImplementedError

    async def set_policy(self, pair: KindVersion, policy: KindPolicy, actor: str) -> KindRecord:
        raise NotImplementedError

    async def put_config(
        self,
        name: str,
        pair: KindVersion,
        *,
        is_default: bool,
        spec: RawJson | None,
        bundle: bytes | None,
        actor: str,
    ) -> tuple[str, ConfigRecord]:
        raise NotImplementedError

    async def configs(self, *, pair: KindVersion | None = None, limit: int = 100, cursor: str | None = None) -> Page:
        raise NotImplementedError

    async def config(self, name: str) -> ConfigRecord:
        raise NotImplementedError

    async def delete_config(self, name: str, actor: str) -> None:
        raise NotImplementedError

    async def ping(self) -> None:
        raise NotImplementedError


__all__ = ["Engine", "EngineOptions", "SystemClock"]
