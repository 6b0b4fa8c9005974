"""One transaction's unit of work: loads rows once, and collects changes until they are written together.

Decisions are small functions that take the unit, change the nodes and queue rows that it handed out, and say
what follows: a request to run, an event, something to look at again. `flush.flush` writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from stdworker.engine.reconcile import retry, state
from stdworker.engine.reconcile.closing import Closing
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.order import Order
from stdworker.engine.reconcile.pending import Crossing, Pending
from stdworker.engine.reconcile.positions import POSITIONS_PER_MS, Positions
from stdworker.engine.reconcile.texts import clean, new_uid
from stdworker.engine.reconcile.watch import TOPICS, Hint, Topic
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import nodes, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.events import EventRow
from stdworker.engine.store.rows import DeliveryRow, Node, RevisionRow, TaskRow, task_ids
from stdworker.errors import NotFound
from stdworker.model.kind import KindVersion, Transition
from stdworker.model.resource import Ref

ENGINE = "engine"
"""The actor of what nobody asked for."""


class Named(NamedTuple):
    """What is no resource and can be asked to change: a kind, or what has a name and is of a kind."""

    kind: str | None
    name: str | None


@dataclass(slots=True, eq=False)
class UnitOfWork:
    """See the module. `now_ms` is the one instant of everything that happens in it."""

    db: Connection
    kinds: Kinds
    now_ms: int
    positions: Positions
    options: EngineOptions
    heard: frozenset[Topic] = TOPICS
    closing: Closing = field(default_factory=Closing)
    order: Order = field(default_factory=Order)
    actor: str = ENGINE
    hints: set[Hint] = field(default_factory=set)
    follow_up: bool = False
    """Something was left for the consumer of rechecks, or for the next tick."""
    nodes: dict[int, Node] = field(default_factory=dict)
    by_ref: dict[Ref, Node] = field(default_factory=dict)
    """Those that were loaded whole, or made."""
    tasks: dict[int, TaskRow] = field(default_factory=dict)
    before: dict[int, state.Snapshot] = field(default_factory=dict)
    """What each node was when it was loaded, or last written."""
    pending: Pending = field(default_factory=Pending)

    # ---- reading ----

    def lock(self, ids: Collection[int], *, whole: bool = False) -> list[Node]:
        """The nodes that exist among `ids`, in the order of their ids; nobody else changes them until the commit.

        `whole`: with their documents.
        """
        missing = sorted(id for id in ids if id not in self.nodes or (whole and not self.nodes[id].whole))
        if missing:
            for node in nodes.lock(self.db, missing, whole=whole, wait=self.order.reach(missing)):
                self._adopt(node)
        return [self.nodes[id] for id in sorted(ids) if id in self.nodes]

    def hold(self, ids: Collection[int], owners: Collection[int]) -> None:
        """Lock nodes and all that some of them own, before any other, without reading them."""
        self.order.hold(self.db, ids, owners)

    def lock_free(self, id: int) -> Node | None:
        """The node, if nobody else holds it: for who holds its queue row and so mustn't wait for it."""
        self.order.end()
        found = self.nodes.get(id) or nodes.lock_free(self.db, id)
        return self._adopt(found) if found is not None else None

    def lock_named(self, refs: Iterable[Ref]) -> None:
        """Load nodes by name into `by_ref`."""
        missing = {ref for ref in refs if ref not in self.by_ref}
        if not missing:
            return
        if not self.order.is_new:
            self.lock(nodes.named(self.db, missing), whole=True)
        elif found := nodes.lock_named(self.db, missing):
            self.order.reach([self._adopt(node).id for node in found])

    def named(self, ref: Ref) -> Node:
        """The resource of a name, whole. Raises NotFound."""
        self.lock_named({ref})
        if ref not in self.by_ref:
            raise NotFound(f"there is no resource {ref}")
        return self.by_ref[ref]

    def lock_owned(self, owner: Node) -> list[Node]:
        """What a node owns, all of it, which is held with the node."""
        return [self._adopt(node) for node in nodes.lock_owned(self.db, owner.id)]

    def lock_tasks(self, resource_ids: Collection[int]) -> None:
        """Load all queue rows of some resources into `tasks`."""
        self.lock_rows([id for resource in resource_ids for id in task_ids(resource)])

    def lock_rows(self, ids: Collection[int]) -> None:
        """Load some queue rows into `tasks`."""
        wanted = sorted(ids)
        for row in tasks.lock(self.db, wanted, wait=self.order.reach_rows(wanted)) if wanted else ():
            if row.id not in self.pending.tasks_removed:
                self.tasks.setdefault(row.id, row)

    def is_new(self, id: int) -> bool:
        """Is the node made in this unit, and not stored yet?"""
        return id in self.pending.fresh

    def _adopt(self, node: Node) -> Node:
        known = self.nodes.get(node.id)
        if known is not None and known.whole:
            return known
        if known is not None:  # it comes whole now; what was changed meanwhile stays
            for name in nodes.DOCUMENTS:
                if name != "status" or node.id not in self.pending.reported:
                    setattr(known, name, getattr(node, name))
            known.whole = True
            self.by_ref[known.ref] = known
            return known
        self.nodes[node.id] = node
        if node.whole:
            self.by_ref[node.ref] = node
        self.before[node.id] = state.snapshot(node)
        return node

    # ---- changing ----

    def create(self, fresh: list[Node]) -> None:
        """Give new nodes their identity; they are stored with everything else."""
        for node, id in zip(fresh, self.db.next_ids(len(fresh)), strict=True):
            node.id, node.uid, node.whole = id, new_uid(self.now_ms), True
            node.created_at = node.updated_at = node.synced_changed_at = node.ready_changed_at = self.now_ms
            node.spec_at, node.spec_by = self.now_ms, self.actor
            self.nodes[id] = self.by_ref[node.ref] = self.pending.dirty[id] = self.pending.fresh[id] = node

    def touch(self, node: Node) -> None:
        """The node's state changed."""
        self.pending.dirty[node.id] = node

    def report(self, node: Node, status: str) -> None:
        """The node has a status, perhaps a new one."""
        node.status = status
        self.pending.reported.add(node.id)
        self.touch(node)

    def refer(self, node: Node, config: str | None) -> None:
        """Another provider config for the node, or none; the one before may have been there for it alone."""
        if node.provider_config is not None and node.provider_config != config:
            self.closing.configs.add(node.provider_config)
        node.provider_config = config

    def rewrite(self, node: Node) -> None:
        """The node's documents changed."""
        self.pending.dirty[node.id] = self.pending.documents[node.id] = node

    def respecify(self, node: Node, spec: str | None, version: int) -> None:
        """Another spec or version, and so a new generation; the spec that was there is kept as a revision."""
        self.pending.revisions.append(
            RevisionRow(node.id, node.spec_gen, node.kind_version, node.spec, node.spec_by, node.spec_at)
        )
        node.spec, node.kind_version = spec, version
        state.bump(node)
        node.spec_gen, node.spec_by, node.spec_at = node.generation, self.actor, self.now_ms
        self.rewrite(node)

    def relabel(self, node: Node, labels: dict[str, str]) -> None:
        """Other labels, for the node and for finding it by them."""
        node.labels = nodes.labels_text(labels)
        self.pending.labels[node.id] = labels
        if not self.is_new(node.id):
            self.rewrite(node)

    def sweep(self, subject: str) -> None:
        """Have all resources of a subject looked at, bit by bit."""
        self.closing.sweeps.add(subject)
        self.follow_up = True

    def request(self, node: Node, reasons: int) -> None:
        """Have the node run, for these reasons; `schedule` decides what that means for its queue row.

        For none (0) its queue row is only brought up to date: held, or at another version.
        """
        self.pending.requests[node.id] = self.pending.requests.get(node.id, 0) | reasons

    def save_task(self, row: TaskRow) -> None:
        """The queue row is new, or changed."""
        self.tasks[row.id] = self.pending.tasks[row.id] = row
        self.pending.tasks_removed.discard(row.id)

    def remove_task(self, row: TaskRow) -> None:
        """The queue row goes. With its lease a place within the cap of its kind is free."""
        if row.claimed_by is not None and self._is_capped(row):
            self.hint("work", row.pair)
        self.tasks.pop(row.id, None)
        self.pending.tasks.pop(row.id, None)
        self.pending.tasks_removed.add(row.id)

    def _is_capped(self, row: TaskRow) -> bool:
        kind = self.kinds.get(row.pair)
        return kind is not None and kind.policy.max_inflight > 0

    def cross(self, node: Node, transition: Transition) -> None:
        """Something happened to the node that reactors may watch."""
        node.transition_seq += 1
        if (node.kind, transition) in self.kinds.bound:
            self.pending.crossings.append(Crossing(node, transition, node.generation, node.transition_seq))

    def recheck(self, what: int, id: int) -> None:
        """Have a node looked at after the commit; `what` says how: `edges.GATE`, `SOURCE` or `REMOVAL`."""
        self.pending.rechecks.add((what, id))

    def rechecked(self, rows: Iterable[tuple[int, int]]) -> None:
        """These were looked at."""
        self.pending.rechecked.update(rows)

    def forget(self, gone: Collection[Node]) -> None:
        """Nodes were removed from the store."""
        for node in gone:
            del self.nodes[node.id]
            self.by_ref.pop(node.ref, None)
            self.pending.forget(node.id)
            self.hint_change(node)

    def event(
        self, about: Node | DeliveryRow, type: str, reason: str = "", message: str = "", **detail: object
    ) -> None:
        """Append to the event sequence what became of a resource."""
        self._tell(about.kind, about.name, about.uid, type, reason, message, detail, audited=False)

    def audit(self, about: Node | DeliveryRow | Named, type: str, message: str = "", **detail: object) -> None:
        """Append what was asked for, once for each request; it is audited if it was a person who asked."""
        uid = None if isinstance(about, Named) else about.uid
        self._tell(about.kind, about.name, uid, type, "", message, detail, audited=self.actor != ENGINE)

    def _tell(
        self,
        kind: str | None,
        name: str | None,
        uid: str | None,
        type: str,
        reason: str,
        message: str,
        detail: dict[str, object],
        *,
        audited: bool,
    ) -> None:
        text = orjson.dumps(detail).decode() if detail else "{}"
        told = clean(message)
        self.pending.events.append(
            EventRow(kind, name, uid, type, reason, told, self.actor, text, self.now_ms, audited)
        )

    def hint(self, topic: Topic, pair: KindVersion) -> None:
        """Tell those who listen, after the commit."""
        if topic in self.heard:
            self.hints.add(Hint(topic, pair))

    def hint_change(self, node: Node) -> None:
        """Tell those who watch resources, after the commit."""
        if "resource" in self.heard:
            self.hints.add(Hint("resource", node.pair, node.ref))

    def backoff_ms(self, attempts: int, *, asked_ms: int = 0) -> int:
        """How long a task waits that has failed so often; what its failure asked for goes before."""
        base_seconds, cap_seconds = self.options.retry_base_seconds, self.options.retry_cap_seconds
        return retry.delay_ms(attempts, base_seconds, cap_seconds, asked_ms=asked_ms)

    def position(self, *, delay_ms: int = 0) -> int:
        """A place in the queue: the last of those that may run now, or the first of when the delay is over."""
        if delay_ms > 0:
            return (self.now_ms + delay_ms) * POSITIONS_PER_MS
        return self.positions.at(self.now_ms)
