"""What brokers ask of an engine: tasks for their workers, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.engine.reconcile import readings, verbs
from stdworker.engine.reconcile.calls.calls import Calls
from stdworker.engine.store.claims import Claim, DefaultConfig, Leased, Settlement, VoidedLease, Want
from stdworker.engine.store.members import MemberRecord
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease


class BrokerCalls(Calls):
    """What a broker asks of its engine."""

    async def claim(self, wants: Sequence[Want], broker: str) -> list[Claim]:
        """Lease tasks for worker streams that can take them, at most each want's credit."""
        return await self._batcher.call(verbs.CLAIM, (broker, wants))

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Apply results; returns after the commit. False: the lease was void, nothing was changed."""
        if not settlements:
            return []
        return await self._batcher.call(verbs.SETTLE, settlements, len(settlements))

    async def attest(self, leases: Sequence[Lease], broker: str, worker: str) -> list[Lease]:
        """Renew leases and move them to this broker; answers those that its worker must stop working on."""
        return await self._batcher.call(verbs.ATTEST, (broker, worker, leases), len(leases))

    async def leased(self, leases: Sequence[Lease]) -> dict[Lease, Leased]:
        """What leases are for that another broker handed out; those that are void are left out."""
        return await self.read(readings.leased, leases)

    async def progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        """Note how far a running task is, from 0 to 1; None is unknown."""
        await self._batcher.call(verbs.PROGRESS, (lease, fraction, message))

    async def release(self, leases: Sequence[Lease], broker: str, *, counted: bool) -> None:
        """Take back leases that this broker still owns; `counted`: lost without a goodbye, which is an attempt."""
        await self._batcher.call(verbs.RELEASE, (broker, leases, counted), len(leases))

    async def voided(self, broker: str) -> list[VoidedLease]:
        """Leases of this broker's running tasks that became void, each answered once."""
        return await self._batcher.call(verbs.VOIDED, broker)

    async def default_configs(self, pairs: Sequence[KindVersion]) -> dict[KindVersion, DefaultConfig]:
        """The default of each pair; an empty one, with its revision, where there is none."""
        return await self.read(readings.default_configs, pairs)

    async def report_member(self, member: MemberRecord) -> None:
        """Say which process this is and what it holds; to be said again before it is taken for lost."""
        await self._batcher.call(verbs.REPORT_MEMBER, member)

    async def remove_member(self, id: str) -> None:
        """A process has ended in order."""
        await self._batcher.call(verbs.REMOVE_MEMBER, id)
