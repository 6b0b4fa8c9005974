"""One transaction's unit of work: loads rows once, collects changes, and writes them in bulk at the end.

Decisions are small functions that take the unit, change the nodes and queue rows that it handed out, and say
what follows: a request to run, an event, something to look at again. `flush` turns that into one statement
for each kind of change, whatever the number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from stdworker.engine.reconcile import crossings, retry, schedule, state
from stdworker.engine.reconcile.closing import Closing
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.positions import POSITIONS_PER_MS, Positions, until
from stdworker.engine.reconcile.texts import clean, new_uid
from stdworker.engine.reconcile.watch import TOPICS, Hint, Topic
from stdworker.engine.store import edges, events, nodes, reactors, revisions, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import REACT, DeliveryRow, Node, RevisionRow, TaskRow, resource_of, task_ids, type_of
from stdworker.errors import NotFound
from stdworker.model.kind import KindVersion, Phase, Transition
from stdworker.model.resource import Ref

ENGINE = "engine"
"""The actor of what nobody asked for."""

_Before = tuple[Phase, state.Verdict, int, int, int]


class Named(NamedTuple):
    """What is no resource and can be asked to change: a kind, or what has a name and is of a kind."""

    kind: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds retries, and how many specs of a resource are kept, the live one among them."""

    retry_base_seconds: float
    retry_cap_seconds: float
    revisions_keep: int = 20


@dataclass(slots=True, eq=False)
class UnitOfWork:
    """See the module. `now_ms` is the one instant of everything that happens in it."""

    db: Connection
    kinds: Kinds
    now_ms: int
    positions: Positions
    limits: Limits
    heard: frozenset[Topic] = TOPICS
    closing: Closing = field(default_factory=Closing)
    actor: str = ENGINE
    hints: set[Hint] = field(default_factory=set)
    follow_up: bool = False
    """Something was left for the consumer of rechecks, or for the next tick."""
    nodes: dict[int, Node] = field(default_factory=dict)
    by_ref: dict[Ref, Node] = field(default_factory=dict)
    """Those that were loaded whole, or made."""
    tasks: dict[int, TaskRow] = field(default_factory=dict)
    _before: dict[int, _Before] = field(default_factory=dict)
    _fresh: dict[int, Node] = field(default_factory=dict)
    _dirty: dict[int, Node] = field(default_factory=dict)
    _documents: dict[int, Node] = field(default_factory=dict)
    _labels: dict[int, dict[str, str]] = field(default_factory=dict)
    _reported: set[int] = field(default_factory=set)
    _revisions: list[RevisionRow] = field(default_factory=list)
    _requests: dict[int, int] = field(default_factory=dict)
    _tasks_saved: dict[int, TaskRow] = field(default_factory=dict)
    _tasks_removed: set[int] = field(default_factory=set)
    _rechecks: set[tuple[int, int]] = field(default_factory=set)
    _rechecked: set[tuple[int, int]] = field(default_factory=set)
    _crossings: list[crossings.Crossing] = field(default_factory=list)
    _events: list[events.EventRow] = field(default_factory=list)

    # ---- reading ----

    def lock(self, ids: Collection[int], *, whole: bool = False) -> list[Node]:
        """The nodes that exist among `ids`, in the order of their ids."""
        missing = [id for id in ids if id not in self.nodes or (whole and not self.nodes[id].whole)]
        for node in nodes.lock(self.db, missing, whole=whole):
            self._adopt(node)
        return [self.nodes[id] for id in sorted(ids) if id in self.nodes]

    def lock_free(self, id: int) -> Node | None:
        """The node, if nobody else holds it: for who holds its queue row and so mustn't wait for it."""
        found = self.nodes.get(id) or nodes.lock_free(self.db, id)
        return self._adopt(found) if found is not None else None

    def lock_named(self, refs: Iterable[Ref]) -> None:
        """Load nodes by name into `by_ref`."""
        if missing := {ref for ref in refs if ref not in self.by_ref}:
            for node in nodes.lock_named(self.db, missing):
                self._adopt(node)

    def named(self, ref: Ref) -> Node:
        """The resource of a name, whole. Raises NotFound."""
        self.lock_named({ref})
        if ref not in self.by_ref:
            raise NotFound(f"there is no resource {ref}")
        return self.by_ref[ref]

    def lock_owned(self, owner: Node) -> list[Node]:
        return [self._adopt(node) for node in nodes.lock_owned(self.db, owner.id)]

    def lock_tasks(self, resource_ids: Collection[int]) -> None:
        """Load all queue rows of some resources into `tasks`."""
        self.lock_rows([id for resource in resource_ids for id in task_ids(resource)])

    def lock_rows(self, ids: Collection[int]) -> None:
        """Load some queue rows into `tasks`."""
        for row in tasks.lock(self.db, ids):
            if row.id not in self._tasks_removed:
                self.tasks.setdefault(row.id, row)

    def is_new(self, id: int) -> bool:
        return id in self._fresh

    def _adopt(self, node: Node) -> Node:
        known = self.nodes.get(node.id)
        if known is not None and known.whole:
            return known
        if known is not None:  # it comes whole now; what was changed meanwhile stays
            for name in nodes.DOCUMENTS:
                if name != "status" or node.id not in self._reported:
                    setattr(known, name, getattr(node, name))
            known.whole = True
            self.by_ref[known.ref] = known
            return known
        self.nodes[node.id] = node
        if node.whole:
            self.by_ref[node.ref] = node
        self._before[node.id] = _standing(node)
        return node

    # ---- changing ----

    def create(self, fresh: list[Node]) -> None:
        """Give new nodes their identity; they are stored with everything else."""
        for node, id in zip(fresh, self.db.next_ids(len(fresh)), strict=True):
            node.id, node.uid, node.whole = id, new_uid(self.now_ms), True
            node.created_at = node.updated_at = node.synced_changed_at = node.ready_changed_at = self.now_ms
            node.spec_at, node.spec_by = self.now_ms, self.actor
            self.nodes[id] = self.by_ref[node.ref] = self._dirty[id] = self._fresh[id] = node

    def touch(self, node: Node) -> None:
        """The node's state changed."""
        self._dirty[node.id] = node

    def report(self, node: Node, status: str) -> None:
        """The node has a status, perhaps a new one."""
        node.status = status
        self._reported.add(node.id)
        self.touch(node)

    def refer(self, node: Node, config: str | None) -> None:
        """Another provider config for the node, or none; the one before may have been there for it alone."""
        if node.provider_config is not None and node.provider_config != config:
            self.closing.configs.add(node.provider_config)
        node.provider_config = config

    def rewrite(self, node: Node) -> None:
        """The node's documents changed."""
        self._dirty[node.id] = self._documents[node.id] = node

    def respecify(self, node: Node, spec: str | None, version: int) -> None:
        """Another spec or version, and so a new generation; the spec that was there is kept as a revision."""
        self._revisions.append(
            RevisionRow(node.id, node.spec_gen, node.kind_version, node.spec, node.spec_by, node.spec_at)
        )
        node.spec, node.kind_version = spec, version
        state.bump(node)
        node.spec_gen, node.spec_by, node.spec_at = node.generation, self.actor, self.now_ms
        self.rewrite(node)

    def relabel(self, node: Node, labels: dict[str, str]) -> None:
        node.labels = nodes.labels_text(labels)
        self._labels[node.id] = labels
        if not self.is_new(node.id):
            self.rewrite(node)

    def request(self, node: Node, reasons: int) -> None:
        """Have the node run, for these reasons; `schedule` decides what that means for its queue row."""
        self._requests[node.id] = self._requests.get(node.id, 0) | reasons

    def save_task(self, row: TaskRow) -> None:
        self.tasks[row.id] = self._tasks_saved[row.id] = row
        self._tasks_removed.discard(row.id)

    def remove_task(self, row: TaskRow) -> None:
        if row.claimed_by is not None and self._is_capped(row):
            self.hint("work", row.pair)
        self.tasks.pop(row.id, None)
        self._tasks_saved.pop(row.id, None)
        self._tasks_removed.add(row.id)

    def _is_capped(self, row: TaskRow) -> bool:
        kind = self.kinds.get(row.pair)
        return kind is not None and kind.policy.max_inflight > 0

    def cross(self, node: Node, transition: Transition) -> None:
        """Something happened to the node that reactors may watch."""
        node.transition_seq += 1
        if (node.kind, transition) in self.kinds.bound:
            self._crossings.append(crossings.Crossing(node, transition, node.generation, node.transition_seq))

    def send_crossings(self) -> None:
        """Tell reactors, before the nodes change again or go."""
        if self._crossings:
            crossings.send(self, self._crossings)
            self._crossings.clear()

    def recheck(self, what: int, id: int) -> None:
        self._rechecks.add((what, id))

    def rechecked(self, rows: Iterable[tuple[int, int]]) -> None:
        """These were looked at."""
        self._rechecked.update(rows)

    def forget(self, gone: Collection[Node]) -> None:
        """Nodes were removed from the store."""
        for node in gone:
            del self.nodes[node.id]
            self.by_ref.pop(node.ref, None)
            for pending in (self._dirty, self._documents, self._labels, self._requests):
                pending.pop(node.id, None)
            self._hint_change(node)

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
        self._events.append(
            events.EventRow(kind, name, uid, type, reason, told, self.actor, text, self.now_ms, audited)
        )

    def hint(self, topic: Topic, pair: KindVersion) -> None:
        if topic in self.heard:
            self.hints.add(Hint(topic, pair))

    def _hint_change(self, node: Node) -> None:
        if "resource" in self.heard:
            self.hints.add(Hint("resource", node.pair, node.ref))

    def backoff_ms(self, attempts: int, *, asked_ms: int = 0) -> int:
        """How long a task waits that has failed so often; what its failure asked for goes before."""
        limits = self.limits
        return retry.delay_ms(attempts, limits.retry_base_seconds, limits.retry_cap_seconds, asked_ms=asked_ms)

    def position(self, *, delay_ms: int = 0) -> int:
        if delay_ms > 0:
            return (self.now_ms + delay_ms) * POSITIONS_PER_MS
        return self.positions.at(self.now_ms)

    # ---- writing ----

    def flush(self) -> None:
        """Write everything but what is left to the end of the transaction."""
        schedule.resolve(self, self._requests)
        self._note_changes()
        self._write_nodes()
        self.send_crossings()
        self._write_tasks()
        if self._rechecks:
            self.follow_up = True
        if self._events and "event" in self.heard:
            self.hints.add(Hint("event"))
        self.closing.rechecked |= self._rechecked
        self.closing.rechecks |= self._rechecks
        self.closing.events += self._events
        self._forget_pending()

    def _forget_pending(self) -> None:
        rows: tuple[dict[int, Any], ...] = (self._dirty, self._fresh, self._documents, self._labels, self._requests)
        for pending in (*rows, self._tasks_saved):
            pending.clear()
        for ids in (self._reported, self._tasks_removed):
            ids.clear()
        self._rechecks.clear()
        self._rechecked.clear()
        for told in (self._events, self._revisions):
            told.clear()

    def _note_changes(self) -> None:
        moves: Counter[tuple[str, Phase | None, Phase]] = Counter()
        told = {event.uid for event in self._events}
        for node in self._dirty.values():
            state.fold(node)
            before, after = self._before.get(node.id), _standing(node)
            self._before[node.id] = after
            if before is not None:
                node.updated_at = max(self.now_ms, node.updated_at + 1)  # tells any two states apart
            for crossed in crossings.between(node, before and before[0], after[0], before[4] if before else 0):
                self.cross(node, crossed)
            self._note_transition(node, before, after, is_told=node.uid in told)
            moves[node.kind, before and before[0], after[0]] += 1
            if node.gate == state.MISFIT and not state.is_stopped(node):  # its gate has to say so again
                self._rechecks.add((edges.GATE, node.id))
            if node.owner_id is not None and self._matters_above(node, before, after):
                self._rechecks.add((edges.SOURCE, node.id))
            self._hint_change(node)
        self._count(moves)

    def _count(self, moves: Mapping[tuple[str, Phase | None, Phase], int]) -> None:
        """By how much the number of resources in each phase changed."""
        for (kind, before, after), resources in moves.items():
            self.closing.counts[kind, after] += resources
            if before is not None:
                self.closing.counts[kind, before] -= resources

    def _note_transition(self, node: Node, before: _Before | None, after: _Before, *, is_told: bool) -> None:
        """Events of what is to be seen from outside, and that no decision told."""
        if before is None:
            return
        if before[1][0] != after[1][0]:
            node.synced_changed_at = self.now_ms
        if before[1][1] != after[1][1]:
            node.ready_changed_at = self.now_ms
        if before[0] is not after[0]:
            message = node.failure_message if after[0] is Phase.FAILED else ""
            self.event(node, "PhaseChanged", after[0], message, previous=before[0])
        elif before[3] != after[3] and not is_told:
            self.event(node, "SpecChanged", generation=node.generation)
        elif node.id in self._reported and not is_told:
            self.event(node, "StatusReported")

    def _matters_above(self, node: Node, before: _Before | None, after: _Before) -> bool:
        """Must its owner and what depends on it be looked at after the commit (decision 12)?"""
        if state.contribution(node) != (node.counted_unsettled, node.counted_unready):
            return True
        return before is not None and (before != after or node.id in self._reported)

    def _write_nodes(self) -> None:
        if self._fresh:
            nodes.add(self.db, list(self._fresh.values()))
        if old := [node for node in self._dirty.values() if node.id not in self._fresh]:
            nodes.save_state(self.db, old)
        if self._documents:
            nodes.save_documents(self.db, list(self._documents.values()))
        if self._labels:
            nodes.save_labels(self.db, list(self._labels.items()))
        if self._revisions:
            revisions.save(self.db, self._revisions)
            changed = {row.resource_id for row in self._revisions}
            revisions.prune(self.db, changed, self.limits.revisions_keep - 1)

    def _write_tasks(self) -> None:
        if self._tasks_removed:
            tasks.remove(self.db, self._tasks_removed)
            if told := [resource_of(id) for id in self._tasks_removed if type_of(id) == REACT]:
                reactors.forget(self.db, told)
        if self._tasks_saved:
            tasks.save(self.db, list(self._tasks_saved.values()))
            for row in self._tasks_saved.values():
                if row.claimed_by is None and not row.held and row.position <= until(self.now_ms):
                    self.hint("work", row.pair)


def _standing(node: Node) -> _Before:
    phase = state.phase(node)
    return phase, state.verdict(node, phase), node.gate, node.generation, node.synced_gen
