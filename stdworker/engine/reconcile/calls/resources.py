"""What people ask of an engine about resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from stdworker.engine.reconcile import explain, neighbourhood, readings, revisions, verbs
from stdworker.engine.reconcile.calls.calls import Calls
from stdworker.engine.reconcile.explain import Explanation
from stdworker.engine.reconcile.neighbourhood import Neighbourhood, Subtree
from stdworker.engine.store import lists
from stdworker.engine.store.declarations import Applied, ApplyDocument, Declared, Doomed
from stdworker.engine.store.records import Page, ResourceFilter, ResourceRecord
from stdworker.engine.store.rows import OperationRow, RevisionRow
from stdworker.errors import RequestError
from stdworker.model.json_text import RawJson
from stdworker.model.resource import Ref

T = TypeVar("T")


class ResourceCalls(Calls):
    """Resources: declared, shown, and what one can have done to them."""

    async def apply(
        self, documents: Sequence[ApplyDocument], actor: str, *, dry_run: bool = False
    ) -> list[Applied | RequestError]:
        """Apply documents in their order, each alone; answers what was done to each, or why not.

        One with `only_if` has a transaction of its own: what is changed beside it has its revision only after.
        """
        alone = any(document.only_if is not None for document in documents)
        verb = verbs.APPLY_DRY if dry_run else verbs.APPLY_ALONE if alone else verbs.APPLY
        return await self._batcher.call(verb, (actor, documents), len(documents))

    async def declare(self, documents: Sequence[ApplyDocument], actor: str) -> list[Declared | RequestError]:
        """Apply many documents: as `apply`, without showing each resource."""
        return await self._batcher.call(verbs.DECLARE, (actor, documents), len(documents))

    async def get(self, ref: Ref) -> ResourceRecord:
        """Raises NotFound."""
        return await self.read(readings.get, ref)

    async def find(self, where: ResourceFilter, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of resources, newest first."""
        return await self._lists.read(readings.find, where, limit, cursor)

    async def descendant_counts(self, uids: Sequence[str]) -> dict[str, int]:
        """How many resources are below each of these, at any depth."""
        return await self._lists.read(lists.descendant_counts, uids)

    async def summary(self) -> dict[str, Any]:
        """`{"totals": {phase: n}, "by_kind": {kind: {phase: n}}}`"""
        return await self._lists.read(readings.summary)

    async def summary_below(self, ref: Ref) -> dict[str, Any]:
        """As `summary`, of what is below one resource at any depth; costs an index step for each."""
        return await self._lists.read(readings.summary_below, ref)

    async def explain(self, ref: Ref) -> Explanation:
        """Why a resource is not Ready, and which config it gets."""
        return await self.read(explain.explain, ref, self._clock.now_ms())

    async def neighbourhood(self, ref: Ref, up: int, down: int, limit: int) -> Neighbourhood:
        """What is so many steps above and below a resource: owners and dependencies, children and dependents."""
        return await self._lists.read(neighbourhood.around, ref, up, down, limit)

    async def subtree(self, ref: Ref, limit: int, shown: Callable[[ResourceRecord], T]) -> Subtree[T]:
        """A resource and what it owns at any depth, each as it is `shown`. Raises NotFound."""
        return await self._lists.read(neighbourhood.beneath, ref, limit, shown)

    async def dependencies(self, ref: Ref, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of what a resource depends on: each edge with the resource at its other end."""
        return await self.read(readings.dependencies, ref, limit, cursor)

    async def reconcile(self, ref: Ref, actor: str) -> ResourceRecord:
        """Run a resource again as a new generation."""
        return await self._batcher.call(verbs.RECONCILE, (actor, ref))

    async def delete(
        self,
        ref: Ref,
        actor: str,
        *,
        force: bool = False,
        only_if: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Doomed:
        """Request the deletion of a resource with all that can't be without it, which is told; `force` skips teardowns.

        With `only_if` its revision must be one of these, any if none is given; else it raises Conflict. A dry run
        changes nothing and raises what the deletion would.
        """
        return await self._batcher.call(replace(verbs.DELETE, dry=dry_run), (actor, ref, force, only_if))

    async def quarantine(self, ref: Ref, actor: str) -> None:
        """Freeze a resource until it is released."""
        await self._batcher.call(verbs.QUARANTINE, (actor, ref))

    async def unquarantine(self, ref: Ref, actor: str) -> None:
        """Release a resource from its quarantine and run what is due."""
        await self._batcher.call(verbs.UNQUARANTINE, (actor, ref))

    async def roll_back(self, ref: Ref, generation: int, actor: str, *, only_if: Sequence[str] | None = None) -> int:
        """Copy the spec of an earlier generation forward; answers the generation that the resource is at now.

        `only_if` as of a deletion.
        """
        return await self._batcher.call(verbs.ROLL_BACK, (actor, ref, generation, only_if))

    async def revisions(self, ref: Ref, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of the specs that a resource has had, the live one first."""
        return await self.read(readings.revisions, ref, limit, cursor)

    async def revision(self, ref: Ref, generation: int) -> RevisionRow:
        """What a resource was to be at a generation."""
        return await self.read(revisions.at, ref, generation)

    async def operate(self, ref: Ref, verb: str, input: RawJson | None, actor: str) -> OperationRow:
        """Ask for an operation of a resource; it runs after those that were asked for before."""
        return await self._batcher.call(verbs.OPERATE, (actor, ref, verb, input))

    async def operations(self, ref: Ref, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of a resource's operations, the newest first."""
        return await self.read(readings.operations, ref, limit, cursor)

    async def operation(self, ref: Ref, uid: str) -> OperationRow:
        """Raises NotFound, also for one that is forgotten."""
        return await self.read(readings.operation, ref, uid)
