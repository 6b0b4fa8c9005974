"""The engine: what the broker and the API call. Each method is one verb of a transaction, or one reading."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stdworker.engine.reconcile import explain, neighbourhood, publish, readings, revisions, upkeep, verbs, waiting
from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.reconcile.clock import Clock, SystemClock
from stdworker.engine.reconcile.neighbourhood import Neighbourhood
from stdworker.engine.reconcile.reading import Readers, Replica
from stdworker.engine.reconcile.ticks import Ticks
from stdworker.engine.reconcile.watch import MISSED, TOPICS, Topic, Watch, Watches, decode
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import lists
from stdworker.engine.store.contract import Database
from stdworker.engine.store.records import (
    UNSET,
    Applied,
    ApplyDocument,
    AuditFilter,
    BindingDeclaration,
    Claim,
    ConfigDeclaration,
    ConfigRecord,
    Declaration,
    Declared,
    DefaultConfig,
    Edge,
    EventRecord,
    Explanation,
    KindDeclaration,
    KindPolicy,
    KindRecord,
    Labels,
    Leased,
    MemberRecord,
    Page,
    Planned,
    ResourceFilter,
    ResourceRecord,
    Settlement,
    VoidedLease,
    Waiting,
    Want,
)
from stdworker.engine.store.rows import BindingRow, DeliveryRow, OperationRow, RevisionRow
from stdworker.errors import RequestError, SettingsError
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref
from stdworker.model.task import Lease

CLOSE_SECONDS = 5.0

log = logging.getLogger(__name__)

T = TypeVar("T")


_DEFAULTS = EngineOptions()


class Engine:
    """An open engine. All methods may be called at the same time; they raise classes of `stdworker.errors` only."""

    def __init__(self, database: Database, options: EngineOptions, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._watches = Watches()
        self._id = secrets.token_hex(8)
        self._batcher = Batcher(database, clock, options, self._watches, verbs.FOLLOW_UP, self._id)
        self.health = self._batcher.health
        self._loop = asyncio.get_running_loop()
        self._stop_listening = database.listen(self._hear)
        self._readers = Readers(database, self.health.failed)
        self._lists: Readers | Replica = self._readers
        self.ticks = Ticks(self._batcher, self._readers, self._watches, clock)

    @classmethod
    async def open(
        cls,
        database_url: str,
        options: EngineOptions = _DEFAULTS,
        *,
        read_url: str | None = None,
        clock: Clock | None = None,
    ) -> Engine:
        """Open `sqlite:///PATH` or `postgresql://…` and bring its schema up to date.

        `read_url` names a replica of it that is asked for what is long to read. Raises SettingsError for a URL of
        another form and for a copy of another database, StoreError when the database can't be used.
        """
        database = open_database(database_url, synchronous=options.sqlite_synchronous)
        await asyncio.to_thread(database.migrate)
        engine = cls(database, options, clock or SystemClock())
        try:
            engine._batcher.start()
            if read_url is not None:
                await engine._use_replica(read_url)
        except BaseException:
            await engine.close()
            raise
        return engine

    async def _use_replica(self, url: str) -> None:
        self._lists = replica = Replica(open_database(url), self._readers)
        await self._batcher.call(verbs.IDENTIFY, secrets.randbits(62))
        await replica.check(url)

    async def run(self) -> None:
        """Do what is due, over and over, until the engine is closed or this is cancelled."""
        await self.ticks.run()

    async def follow_up(self) -> None:
        """Look at all that commits left to be looked at: normally done by itself right after each."""
        await upkeep.follow_up(self._batcher)

    async def close(self) -> None:
        """Wait for the transactions and readings under way, within a bound: a server that stands still ends none."""
        self.ticks.stop()
        self._batcher.close()
        ending = threading.Thread(target=self._end, name="engine-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_SECONDS)
        if ending.is_alive():
            log.warning("the database doesn't answer: its connections end with this process")

    def _end(self) -> None:
        self._batcher.join()
        self._stop_listening()
        for readers in {self._lists, self._readers}:
            readers.close()

    def watch(self, *topics: Topic) -> Watch:
        """Hints of what may have changed, of some topics or of all; use it as an async context manager."""
        return Watch(self._watches, frozenset(topics) or TOPICS)

    def _hear(self, message: str | None) -> None:
        source, hints = decode(message) if message is not None else ("", MISSED)
        if source != self._id:
            self._loop.call_soon_threadsafe(self._watches.publish, hints)

    # ---- broker verbs ----

    async def claim(self, wants: Sequence[Want], broker: str) -> list[Claim]:
        """Lease tasks for worker streams that can take them, at most each want's credit."""
        return await self._batcher.call(verbs.CLAIM, (broker, wants))

    async def settle(self, settlements: Sequence[Settlement], broker: str) -> list[bool]:
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

    # ---- api verbs ----

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

    async def plan(self, declarations: Sequence[Declaration], actor: str) -> list[Planned | RequestError]:
        """What applying all of them together would do; nothing is stored."""
        return await self._batcher.call(verbs.PLAN, (actor, declarations), len(declarations))

    async def get(self, ref: Ref) -> ResourceRecord:
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

    async def edges(self, uids: Sequence[str]) -> list[Edge]:
        """The edges between some resources."""
        return await self._lists.read(neighbourhood.edges_among, uids)

    async def dependencies(self, ref: Ref, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of what a resource depends on: each edge with the resource at its other end."""
        return await self.read(readings.dependencies, ref, limit, cursor)

    async def events(self, ref: Ref | None = None, *, after: int = 0, limit: int = 100) -> list[EventRecord]:
        """Events in their order, of one resource or of all, from the one after `after`."""
        return await self._lists.read(readings.events, ref, after, limit)

    async def audit(self, where: AuditFilter, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of what people asked for and was done, the newest first; it outlives what it is about."""
        return await self._lists.read(readings.audit, where, limit, cursor)

    async def delete(self, ref: Ref, actor: str, *, force: bool = False, only_if: Sequence[str] | None = None) -> None:
        """Request the deletion of a resource with all it owns; `force` skips teardowns.

        With `only_if` its revision must be one of these, any if none is given; else it raises Conflict.
        """
        await self._batcher.call(verbs.DELETE, (actor, ref, force, only_if))

    async def reconcile(self, ref: Ref, actor: str) -> ResourceRecord:
        """Run a resource again as a new generation."""
        return await self._batcher.call(verbs.RECONCILE, (actor, ref))

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
        return await self.read(readings.operation, ref, uid)

    async def publish_kind(
        self,
        manifest: Mapping[str, Any],
        actor: str,
        *,
        force: bool = False,
        labels: Labels = UNSET,
        only_if: Sequence[str] | None = None,
        requeue: bool = True,
    ) -> tuple[str, KindRecord]:
        """Publish a kind version; answers created, configured or unchanged.

        `force` lets its schemas break those that were published, and records it. Resources of a version that
        was published run again, unless `requeue` is false. `only_if` as of a deletion.
        """
        compared = await self.read(publish.compare, manifest)
        argument = (actor, KindDeclaration(manifest, labels, force, only_if), compared, requeue)
        return await self._batcher.call(verbs.PUBLISH_KIND, argument)

    async def kinds(self) -> list[KindRecord]:
        return await self.read(readings.kinds)

    async def kind(self, pair: KindVersion) -> KindRecord:
        return await self.read(readings.kind, pair)

    async def delete_kind(self, pair: KindVersion, actor: str, *, only_if: Sequence[str] | None = None) -> None:
        """Raises Conflict while something uses it, and for another one than `only_if` asks for."""
        await self._batcher.call(verbs.DELETE_KIND, (actor, pair, only_if))

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
        return await self.read(readings.configs, pair, limit, cursor)

    async def config(self, name: str) -> ConfigRecord:
        return await self.read(readings.config, name)

    async def reveal_config(self, name: str, actor: str) -> ConfigRecord:
        """A config whose secrets are shown to someone; an event records it."""
        return await self._batcher.call(verbs.REVEAL_CONFIG, (actor, name))

    async def delete_config(self, name: str, actor: str, *, only_if: Sequence[str] | None = None) -> None:
        """Raises Conflict while a resource names it, and for another one than `only_if` asks for."""
        await self._batcher.call(verbs.DELETE_CONFIG, (actor, name, only_if))

    async def put_binding(self, document: BindingDeclaration, actor: str) -> tuple[str, BindingRow]:
        """Create or edit a reactor binding; answers created, configured or unchanged."""
        return await self._batcher.call(verbs.PUT_BINDING, (actor, document))

    async def bindings(self, *, limit: int = 100, cursor: str | None = None) -> Page:
        return await self.read(readings.bindings, limit, cursor)

    async def binding(self, name: str) -> BindingRow:
        return await self.read(readings.binding, name)

    async def waiting(self, bindings: Collection[str]) -> dict[str, Waiting]:
        """What no reactor has taken yet, by the names of these bindings; those without anything are left out."""
        return await self.read(waiting.waiting, bindings, self._clock.now_ms())

    async def delete_binding(self, name: str, actor: str, *, only_if: Sequence[str] | None = None) -> None:
        """Nothing new is delivered for it; what waits is. `only_if` as of a config."""
        await self._batcher.call(verbs.DELETE_BINDING, (actor, name, only_if))

    async def dead_letters(self, *, limit: int = 100, cursor: str | None = None) -> Page:
        """A page of the deliveries to reactors that were given up, the newest crossing first."""
        return await self.read(readings.dead_letters, limit, cursor)

    async def delivery_counts(self) -> dict[str, int]:
        """How many deliveries to reactors are `waiting`, or running, up to a bound, and how many are `dead`."""
        return await self.read(readings.delivery_counts)

    async def dead_letter(self, id: int) -> DeliveryRow:
        return await self.read(readings.dead_letter, id)

    async def retry_dead_letter(self, id: int, actor: str) -> DeliveryRow:
        """Queue a dead letter again; answers what it was."""
        return await self._batcher.call(verbs.REVIVE, (actor, id))

    async def members(self) -> list[MemberRecord]:
        """The processes on this database, with the workers that each holds."""
        return await self.read(readings.members)

    async def ping(self) -> None:
        """Raises StoreError when the database can't be read, or the last write showed that it can't be written."""
        if outage := self.health.outage:
            raise outage
        await self.read(readings.ping)

    async def probe(self) -> None:
        """Write something, which ends an outage if it succeeds. Raises StoreError if not."""
        await upkeep.probe(self._batcher)

    # ---- reading ----

    async def read(self, reading: Callable[..., T], *arguments: Any) -> T:
        return await self._readers.read(reading, *arguments)


def open_database(url: str, *, synchronous: str = "normal") -> Database:
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and rest not in ("/", "/:memory:"):
        from stdworker.engine.store.sqlite import SqliteDatabase

        return SqliteDatabase(Path(rest[1:]), synchronous=synchronous)
    if scheme in ("postgresql", "postgres"):
        from stdworker.engine.store.postgres import PostgresDatabase

        return PostgresDatabase("postgresql://" + rest)
    raise SettingsError("DATABASE_URL", url, "sqlite:///PATH of a file, or postgresql://…")
