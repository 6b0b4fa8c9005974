"""What people ask of an engine about what resources are made with: kinds, provider configs, reactor bindings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stdworker.engine.reconcile import publish, readings, verbs, waiting
from stdworker.engine.reconcile.calls.calls import Calls
from stdworker.engine.reconcile.waiting import Waiting
from stdworker.engine.store.declarations import UNSET, BindingDeclaration, ConfigDeclaration, KindDeclaration, Labels
from stdworker.engine.store.records import ConfigRecord, KindPolicy, KindRecord, Page
from stdworker.engine.store.rows import BindingRow, DeliveryRow
from stdworker.model.kind import KindVersion


class CatalogCalls(Calls):
    """Kinds, provider configs and reactor bindings, with the deliveries that were given up."""

    async def publish_kind(
        self,
        manifest: Mapping[str, Any],
        actor: str,
        *,
        force: bool = False,
        labels: Labels = UNSET,
        only_if: Sequence[str] | None = None,
        only_new: bool = False,
        requeue: bool = True,
    ) -> tuple[str, KindRecord]:
        """Publish a kind version; answers created, configured or unchanged.

        `force` lets its schemas break those that were published, and records it. Resources of a version that
        was published run again, unless `requeue` is false. `only_if` as of a deletion; `only_new`: unless it is there.
        """
        compared = await self.read(publish.compare, manifest)
        argument = (actor, KindDeclaration(manifest, labels, force, only_if, only_new), compared, requeue)
        return await self._batcher.call(verbs.PUBLISH_KIND, argument)

    async def kinds(self) -> list[KindRecord]:
        """All published kind versions."""
        return await self.read(readings.kinds)

    async def kind(self, pair: KindVersion) -> KindRecord:
        """Raises NotFound."""
        return await self.read(readings.kind, pair)

    async def delete_kind(
        self, pair: KindVersion, actor: str, *, only_if: Sequence[str] | None = None, dry_run: bool = False
    ) -> None:
        """Raises Conflict while something uses it. `only_if` and `dry_run` as of a resource."""
        await self._batcher.call(replace(verbs.DELETE_KIND, dry=dry_run), (actor, pair, only_if))

    async def set_policy(
        self, pair: KindVersion, policy: KindPolicy, actor: str, *, fields: Collection[str] = KindPolicy.__slots__
    ) -> KindRecord:
        """Edit a kind version's live policy: of `policy`, only `fields` count, others keep their values."""
        return await self._batcher.call(verbs.SET_POLICY, (actor, pair, policy, fields))

    async def put_config(
        self, document: ConfigDeclaration, actor: str, *, requeue: bool = True
    ) -> tuple[str, ConfigRecord]:
        """Create or edit a provider config; answers created, configured or unchanged.

        What has the config runs again, unless `requeue` is false.
        """
        return await self._batcher.call(verbs.PUT_CONFIG, (actor, document, requeue))

    async def configs(self, *, pair: KindVersion | None = None, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of provider configs by name, those for one pair if it is given."""
        return await self.read(readings.configs, pair, limit, cursor)

    async def config(self, name: str) -> ConfigRecord:
        """Raises NotFound."""
        return await self.read(readings.config, name)

    async def reveal_config(self, name: str, actor: str) -> ConfigRecord:
        """A config whose secrets are shown to someone; an event records it."""
        return await self._batcher.call(verbs.REVEAL_CONFIG, (actor, name))

    async def delete_config(
        self, name: str, actor: str, *, only_if: Sequence[str] | None = None, dry_run: bool = False
    ) -> KindVersion | None:
        """The kind version whose resources have no default config now, if that is what it was.

        Raises Conflict while a resource names it. `only_if` and `dry_run` as of a resource.
        """
        return await self._batcher.call(replace(verbs.DELETE_CONFIG, dry=dry_run), (actor, name, only_if))

    async def put_binding(self, document: BindingDeclaration, actor: str) -> tuple[str, BindingRow]:
        """Create or edit a reactor binding; answers created, configured or unchanged."""
        return await self._batcher.call(verbs.PUT_BINDING, (actor, document))

    async def bindings(self, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of reactor bindings by name."""
        return await self.read(readings.bindings, limit, cursor)

    async def binding(self, name: str) -> BindingRow:
        """Raises NotFound."""
        return await self.read(readings.binding, name)

    async def waiting(self, bindings: Collection[str]) -> dict[str, Waiting]:
        """What no reactor has taken yet, by the names of these bindings; those without anything are left out."""
        return await self.read(waiting.waiting, bindings, self._clock.now_ms())

    async def delete_binding(
        self, name: str, actor: str, *, only_if: Sequence[str] | None = None, dry_run: bool = False
    ) -> None:
        """Nothing new is delivered for it; what waits is. `only_if` and `dry_run` as of a resource."""
        await self._batcher.call(replace(verbs.DELETE_BINDING, dry=dry_run), (actor, name, only_if))

    async def dead_letters(self, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of the deliveries to reactors that were given up, the newest crossing first."""
        return await self.read(readings.dead_letters, limit, cursor)

    async def delivery_counts(self) -> dict[str, int]:
        """How many deliveries to reactors are `waiting`, or running, up to a bound, and how many are `dead`."""
        return await self.read(readings.delivery_counts)

    async def dead_letter(self, id: int) -> DeliveryRow:
        """Raises NotFound."""
        return await self.read(readings.dead_letter, id)

    async def retry_dead_letter(self, id: int, actor: str) -> DeliveryRow:
        """Queue a dead letter again; answers what it was."""
        return await self._batcher.call(verbs.RETRY_DEAD_LETTER, (actor, id))
