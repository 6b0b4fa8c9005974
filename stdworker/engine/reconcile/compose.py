"""What a composer's children, edges and configs change.

Children are compared by (kind, name) with what the composite owns; those that are the same are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from stdworker.engine.reconcile import configs, gates, orphans, schedule, state
from stdworker.engine.reconcile import wanted as wanted_children
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.reconcile.wanted import Wanted
from stdworker.engine.store import edges as edge_store
from stdworker.engine.store.rows import EdgeRow, Node
from stdworker.errors import JsonError
from stdworker.model.json_text import RawJson, equal
from stdworker.model.kind import Emit
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref


def apply(uow: UnitOfWork, owner: Node, outcome: Outcome, emits: frozenset[Emit]) -> None:
    """Make what the composite owns what its composer wants. Raises Rejected, having changed nothing."""
    edges = outcome.edges if Emit.EDGES in emits else ()
    emitted = outcome.configs if Emit.CONFIGS in emits else ()
    owned = {node.ref: node for node in uow.lock_owned(owner)}
    wanted = wanted_children.check(uow, owner, owned, outcome.children, edges, emitted)
    if not wanted:
        wanted_children.guard_against_emptiness(uow, owner, owned, outcome)

    fresh = _create(uow, owner, [child for ref, child in wanted.items() if ref not in owned])
    changed = [owned[ref] for ref, child in wanted.items() if ref in owned and _update(uow, owned[ref], child)]
    _connect(uow, owner, wanted, {**owned, **fresh})
    for node in (*changed, *fresh.values()):
        uow.request(node, schedule.SPEC)
    for ref in wanted:
        if ref in owned and state.count_child(owner, owned[ref]):
            uow.touch(owned[ref])
    dropped = _drop(uow, owner, [node for ref, node in owned.items() if ref not in wanted])
    configs.replace_owned(uow, owner, emitted)  # last: what others lock, too, once they hold their resources
    owner.due &= ~state.COMPOSE_DUE
    owner.recompose = outcome.recompose
    if fresh or changed or dropped:
        uow.event(owner, "Composed", created=len(fresh), changed=len(changed), dropped=dropped)


def _create(uow: UnitOfWork, owner: Node, children: Sequence[Wanted]) -> dict[Ref, Node]:
    """New children, which their owner counts as moving from the start."""
    root = owner.root_id or owner.id
    fresh = [
        Node(
            0,
            "",
            child.pair.kind,
            child.name,
            owner.id,
            root,
            uow.now_ms,
            child.pair.version,
            child.config,
            counted_unsettled=True,
            counted_unready=True,
            spec=child.spec,
            composed_spec=child.spec,
        )
        for child in children
    ]
    if fresh:
        uow.create(fresh)
        owner.unsettled += len(fresh)
        owner.unready += len(fresh)
    for node, child in zip(fresh, children, strict=True):
        if child.labels:
            uow.relabel(node, child.labels)
        uow.event(node, "Created", owner=str(owner.ref))
    return {node.ref: node for node in fresh}


def _update(uow: UnitOfWork, node: Node, child: Wanted) -> bool:
    """Bring an owned child up to date; True when it must run again."""
    if not node.wanted:
        orphans.adopt(uow, node)
    if state.is_deleting(node):
        return False  # it comes again once it is gone
    if json.loads(node.labels) != child.labels:
        uow.relabel(node, child.labels)
        uow.event(node, "LabelsChanged")
        schedule.relabelled(uow, node)
    same = equal(RawJson((node.composed_spec or "{}").encode()), child.spec.encode())
    flipped, reconfigured = node.kind_version != child.pair.version, node.provider_config != child.config
    uow.refer(node, child.config)
    before = node.flowed
    gates.prune_flowed(node, child.flowed_fields)
    if same and not flipped and not reconfigured and node.flowed == before:
        return False
    if not same:
        node.composed_spec = child.spec
    if child.incoming:
        _hold(uow, node)  # whether the values fit into the new spec is the gate's to say
    uow.rewrite(node)
    try:
        spec = gates.effective_spec(child.spec, node.flowed)
    except JsonError:  # what flowed in has no place any more, which the gate will say
        spec, node.flowed = child.spec, None
    if flipped or not equal(spec.encode(), (node.spec or "{}").encode()):
        uow.respecify(node, spec, child.pair.version)
    elif reconfigured:
        state.bump(node)
    else:
        return False
    return True


def _connect(uow: UnitOfWork, owner: Node, wanted: dict[Ref, Wanted], nodes_by_ref: dict[Ref, Node]) -> None:
    """Replace the composite's edges; children whose dependencies are others now wait until these were looked at.

    Those of children that go stay as long as they do: they say in which order.
    """
    before = {(edge.dependent_id, edge.dependency_id): edge for edge in edge_store.owned(uow.db, owner.id)}
    after: dict[tuple[int, int], EdgeRow] = {}
    for ref, child in wanted.items():
        for source, flows in child.incoming.items():
            edge = EdgeRow(nodes_by_ref[ref].id, nodes_by_ref[source].id, owner.id, json.dumps(flows))
            after[edge.dependent_id, edge.dependency_id] = edge
    new = [edge for key, edge in after.items() if before.get(key) != edge]
    kept = {node.id for ref, node in nodes_by_ref.items() if ref not in wanted}
    gone = [key for key in before if key not in after and key[0] not in kept]
    if new:
        edge_store.save(uow.db, new)
    if gone:
        edge_store.remove(uow.db, gone)
    by_id = {node.id: node for node in nodes_by_ref.values()}
    for id in {edge.dependent_id for edge in new} | {dependent for dependent, _ in gone}:
        if id in by_id:
            _hold(uow, by_id[id])
    for dependency in {dependency for _, dependency in gone}:
        if dependency in by_id and state.is_deleting(by_id[dependency]):
            uow.recheck(edge_store.REMOVAL, dependency)


def _hold(uow: UnitOfWork, node: Node) -> None:
    """Until its dependencies are looked at, the child may not run."""
    if node.gate in (state.OPEN, state.BLOCKED):
        node.gate, node.gate_message = state.WAITING, "its dependencies were changed"
        uow.touch(node)
    uow.request(node, schedule.SPEC)
    uow.recheck(edge_store.GATE, node.id)


def _drop(uow: UnitOfWork, owner: Node, unwanted: Sequence[Node]) -> int:
    """How many go: a quarantined child stays until its release composes its owner again, or until another takes it
    along that it depends on."""
    dropped = 0
    while going := [node for node in unwanted if node.wanted and not state.is_quarantined(node)]:
        for node in going:
            orphans.drop(uow, owner, node)
        dropped += len(going)
    return dropped
