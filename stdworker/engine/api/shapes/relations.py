"""What stands around a resource."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from stdworker.engine.api.shapes.common import Instant, RefView, instant
from stdworker.engine.api.shapes.resources import ResourceView
from stdworker.engine.reconcile.texts import progress
from stdworker.engine.store.records import Edge, ResourceRecord
from stdworker.model.kind import Phase


class ChildrenView(Struct):
    """A page of what a resource owns directly."""

    owner: RefView
    resources: list[ResourceView]


class FlowView(Struct):
    """A value that flows from the dependency's status into the dependent's spec; both are JSON pointers."""

    dependent_field: str
    source_field: str


class DependencyView(Struct):
    """What a resource waits for."""

    kind: str
    name: str
    phase: Phase
    is_ready: bool
    health_ok: bool
    updated_at: Instant
    value_mappings: list[FlowView]

    @classmethod
    def of(cls, edge: Edge, record: ResourceRecord) -> DependencyView:
        return cls(
            kind=edge.dependency.kind,
            name=edge.dependency.name,
            phase=record.phase,
            is_ready=record.is_ready,
            health_ok=record.health_ok,
            updated_at=instant(record.updated_at_ms),
            value_mappings=[FlowView(dependent, source) for dependent, source in edge.flows],
        )


class Dependencies(Struct):
    """A page of what a resource waits for."""

    dependencies: list[DependencyView]


class NodeView(Struct):
    """One resource of a graph; `message` says why it is not Ready."""

    ref: str
    kind: str
    name: str
    owner: str | None
    phase: Phase
    is_ready: bool
    message: str

    @classmethod
    def of(cls, record: ResourceRecord) -> NodeView:
        return cls(**_members(record))


class EdgeView(Struct):
    """`from` depends on `to`, both written kind/name."""

    source: str = field(name="from")
    target: str = field(name="to")

    @classmethod
    def of(cls, edge: Edge) -> EdgeView:
        return cls(str(edge.dependent), str(edge.dependency))


class Graph(Struct):
    """A resource, its whole subtree, and what depends on what in it."""

    owner: RefView
    nodes: list[NodeView]
    edges: list[EdgeView]
    truncated: bool


class NearNodeView(NodeView):
    """One resource near another: `distance` counts the steps, up to owners and dependencies below zero."""

    distance: int

    @classmethod
    def of_near(cls, record: ResourceRecord, distance: int) -> NearNodeView:
        return cls(**_members(record), distance=distance)


class Subgraph(Struct):
    """What stands around a resource, the nearest first, and what depends on what in it."""

    resource: RefView
    nodes: list[NearNodeView]
    edges: list[EdgeView]
    truncated: bool


def _members(record: ResourceRecord) -> dict[str, Any]:
    return {
        "ref": str(record.ref),
        "kind": record.kind,
        "name": record.name,
        "owner": str(record.owner) if record.owner else None,
        "phase": record.phase,
        "is_ready": record.is_ready,
        "message": culprit(record),
    }


def culprit(record: ResourceRecord) -> str:
    """Why a resource is not Ready, in a sentence; "" when it is or when nothing is known yet."""
    if record.is_ready:
        return ""
    if record.phase is Phase.FAILED and record.failure_message:
        return record.failure_message
    told = [c for c in record.conditions if c.status == "False" and c.message]
    if told:
        return max(told, key=lambda c: c.type == "Ready").message
    return progress(record.work.progress, record.work.progress_message) if record.work else ""
