"""What a unit of work collects until it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from stdworker.engine.store.events import EventRow
from stdworker.engine.store.rows import Node, RevisionRow, TaskRow
from stdworker.model.kind import Transition


class Crossing(NamedTuple):
    """A transition in the life of a resource that reactors may watch; `seq` counts those of the resource."""

    node: Node
    transition: Transition
    generation: int
    seq: int


@dataclass(slots=True, eq=False)
class Pending:
    """What decisions changed and asked for, and nobody has written yet; nodes and labels by the node's id.

    Of `dirty` nodes the state changed, of `documents` what else they have, of `reported` the status.
    """

    fresh: dict[int, Node] = field(default_factory=dict)
    dirty: dict[int, Node] = field(default_factory=dict)
    documents: dict[int, Node] = field(default_factory=dict)
    labels: dict[int, dict[str, str]] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)
    requests: dict[int, int] = field(default_factory=dict)
    tasks: dict[int, TaskRow] = field(default_factory=dict)
    tasks_removed: set[int] = field(default_factory=set)
    revisions: list[RevisionRow] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    rechecks: set[tuple[int, int]] = field(default_factory=set)
    rechecked: set[tuple[int, int]] = field(default_factory=set)
    events: list[EventRow] = field(default_factory=list)

    def forget(self, node_id: int) -> None:
        """The node is gone: nothing of it is to be written."""
        for by_node in (self.dirty, self.documents, self.labels, self.requests):
            by_node.pop(node_id, None)
