"""What stands around a resource: children, dependencies, events, its graph, and waiting for it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stdworker.engine.api.context import InEngine, PathRef, answer, now_ms, paged
from stdworker.engine.api.openapi import PAGED, documented
from stdworker.engine.api.queries import GraphQuery, PageQuery, RootsQuery, SubgraphQuery, WaitQuery
from stdworker.engine.api.shapes.common import Deleted, RefView
from stdworker.engine.api.shapes.events import Events, EventView
from stdworker.engine.api.shapes.explanation import ExplanationView
from stdworker.engine.api.shapes.relations import (
    ChildrenView,
    Dependencies,
    DependencyView,
    EdgeView,
    Graph,
    NearNodeView,
    NodeView,
    Subgraph,
)
from stdworker.engine.api.shapes.resources import ResourceView, Summary
from stdworker.engine.api.wait import Waiting
from stdworker.engine.reconcile import readings

router = APIRouter(prefix="/resources/{kind}/{name}", tags=["relations"])


@router.get(
    "/children",
    **documented("List what a resource owns directly", answer=ChildrenView, headers=PAGED, problems=(404,)),
)
async def children(engine: InEngine, ref: PathRef, query: Annotated[RootsQuery, Query()]) -> Response:
    await engine.get(ref)
    where = query.filter()
    where.owners = [ref]
    page = await engine.find(where, limit=query.limit, cursor=query.cursor)
    now = now_ms()
    shown = [ResourceView.of(record, now) for record in page.items]
    return paged(ChildrenView(RefView(ref.kind, ref.name), shown), page.cursor)


@router.get(
    "/dependencies",
    **documented("List what a resource waits for", answer=Dependencies, headers=PAGED, problems=(404,)),
)
async def dependencies(engine: InEngine, ref: PathRef, query: Annotated[PageQuery, Query()]) -> Response:
    page = await engine.dependencies(ref, limit=query.limit, cursor=query.cursor)
    return paged(Dependencies([DependencyView.of(edge, record) for edge, record in page.items]), page.cursor)


@router.get(
    "/events",
    **documented("List a resource's events, the oldest first", answer=Events, headers=PAGED, problems=(404,)),
)
async def events(engine: InEngine, ref: PathRef, query: Annotated[PageQuery, Query()]) -> Response:
    """Events outlive their resource."""
    found = await engine.events(ref, after=readings.after(query.cursor), limit=query.limit + 1)
    if not found and query.cursor is None:
        await engine.get(ref)
    shown = found[: query.limit]
    more = len(found) > query.limit
    return paged(Events([EventView.of(record) for record in shown]), str(shown[-1].seq) if more else None)


@router.get("/graph", **documented("A resource's whole subtree and its edges", answer=Graph, problems=(404,)))
async def graph(engine: InEngine, ref: PathRef, query: Annotated[GraphQuery, Query()]) -> Response:
    """`truncated` says that there is more; `/children` lists all of it page by page, a level at a time."""
    found = await engine.subtree(ref, query.limit, NodeView.of)
    edges = [EdgeView.of(edge) for edge in found.edges]
    return answer(Graph(RefView(ref.kind, ref.name), list(found.nodes), edges, found.is_cut))


@router.get("/subgraph", **documented("What stands around a resource", answer=Subgraph, problems=(404,)))
async def subgraph(engine: InEngine, ref: PathRef, query: Annotated[SubgraphQuery, Query()]) -> Response:
    """Ancestors are owners and what a resource depends on; descendants what it owns and what depends on it."""
    found = await engine.neighbourhood(ref, query.ancestor_depth, query.descendant_depth, query.limit)
    nodes = [NearNodeView.of_near(record, distance) for distance, record in found.resources]
    edges = [EdgeView.of(edge) for edge in found.edges]
    return answer(Subgraph(RefView(ref.kind, ref.name), nodes, edges, found.is_cut))


@router.get(
    "/summary",
    **documented("Count what is below a resource by phase and kind", answer=Summary, problems=(404,)),
)
async def summary(engine: InEngine, ref: PathRef) -> Response:
    return answer(await engine.summary_below(ref))


@router.get(
    "/explain",
    **documented("Why a resource is not Ready, and which config it gets", answer=ExplanationView, problems=(404,)),
)
async def explain(engine: InEngine, ref: PathRef) -> Response:
    """Each reason says what to do about it. Of a resource that is Ready there are none."""
    return answer(ExplanationView.of(await engine.explain(ref)))


@router.get(
    "/wait",
    **documented(
        "Wait until a resource is ready, synced or deleted",
        answer=(ResourceView, Deleted),
        problems=(404, 408, 409, 422),
    ),
)
async def wait(engine: InEngine, ref: PathRef, request: Request, query: Annotated[WaitQuery, Query()]) -> Response:
    """200 when it is so, 408 when it isn't within the time, 409 when it can't become so.

    Waiting for `deleted` answers a `Deleted`.
    """
    state = request.app.state
    waiting = Waiting(engine, ref, query.condition, request.is_disconnected, lambda: state.draining)
    record = await waiting.until(query.timeout)
    return answer(Deleted() if record is None else ResourceView.of(record, now_ms()))
