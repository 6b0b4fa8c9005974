"""What stands around a resource, a few steps up and down: owners and dependencies, children and dependents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, NamedTuple, TypeVar

from stdworker.engine.reconcile import gates, present
from stdworker.engine.store import lists
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.records import Edge, ResourceRecord
from stdworker.model.resource import Ref

EDGES_MAX = 10_000  # of one answer
READ_TOGETHER = 500

T = TypeVar("T")


class Neighbourhood(NamedTuple):
    """Resources with their distance (negative above, positive below) and the dependencies between them."""

    resources: Sequence[tuple[int, ResourceRecord]]
    edges: Sequence[Edge]
    is_cut: bool


class Subtree(NamedTuple, Generic[T]):
    """A resource and what is below it, and the dependencies between them."""

    nodes: Sequence[T]
    edges: Sequence[Edge]
    is_cut: bool


def around(db: Connection, ref: Ref, up: int, down: int, limit: int) -> Neighbourhood:
    """At most `limit` resources, those that are near first. Raises NotFound."""
    distances = {present.existing(db, ref).node.id: 0}
    is_cut = _spread(db, distances, lists.above, -1, up, limit)
    is_cut = _spread(db, distances, lists.below, 1, down, limit) or is_cut
    records = {seen.node.id: present.record(db, seen) for seen in lists.get_many(db, distances)}
    near = sorted((abs(distance), id) for id, distance in distances.items() if id in records)
    edges, some_missing = edges_among(db, [record.uid for record in records.values()])
    return Neighbourhood([(distances[id], records[id]) for _, id in near], edges, is_cut or some_missing)


def beneath(db: Connection, ref: Ref, limit: int, shown: Callable[[ResourceRecord], T]) -> Subtree[T]:
    """At most `limit` resources, level by level. Only what is shown of them is kept: specs may be large."""
    distances = {present.existing(db, ref).node.id: 0}
    is_cut = _spread(db, distances, lists.owned, 1, limit, limit)
    ids = list(distances)
    nodes: list[T] = []
    uids: list[str] = []
    for at in range(0, len(ids), READ_TOGETHER):
        part = ids[at : at + READ_TOGETHER]
        records = {seen.node.id: present.record(db, seen) for seen in lists.get_many(db, part)}
        nodes.extend(shown(records[id]) for id in part if id in records)
        uids.extend(record.uid for record in records.values())
    edges, some_missing = edges_among(db, uids)
    return Subtree(nodes, edges, is_cut or some_missing)


def _spread(
    db: Connection,
    distances: dict[int, int],
    step: Callable[[Connection, Collection[int], int], list[int]],
    sign: int,
    steps: int,
    limit: int,
) -> bool:
    """Go step by step; True when there was more than the limit lets in."""
    level = [id for id, distance in distances.items() if distance == 0]
    for distance in range(1, steps + 1):
        found = step(db, level, limit + len(distances) + 1) if level else []
        level = [id for id in found if id not in distances]
        room = limit - len(distances)
        distances.update(dict.fromkeys(level[:room], sign * distance))
        if len(level) > room:
            return True
    return False


def edges_among(db: Connection, uids: Collection[str]) -> tuple[list[Edge], bool]:
    """At most `EDGES_MAX` edges that begin and end at one of some resources; True when there may be more."""
    found, is_cut = lists.edges_among(db, uids, EDGES_MAX)
    return [Edge(dependent, dependency, gates.flows_of(flows)) for dependent, dependency, flows in found], is_cut
