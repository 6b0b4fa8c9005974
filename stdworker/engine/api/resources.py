"""Resources: apply, list, get, delete, reconcile, and their raw documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations, etags, shapes, views
from stdworker.engine.api.context import Actor, InEngine, PathRef, answer, now_ms, paged
from stdworker.engine.api.diff import changes
from stdworker.engine.api.openapi import APPLIED, PAGED, TAGGED, documented
from stdworker.engine.api.queries import ApplyQuery, DeleteQuery, ListQuery, RootsQuery
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.records import ApplyDocument, ResourceRecord
from stdworker.errors import NotFound, RequestError
from stdworker.model.resource import Ref

router = APIRouter(tags=["resources"])

EXAMPLE = {
    "kind": "greeter",
    "kind_version": 1,
    "name": "ada",
    "spec": {"name": "Ada"},
    "labels": {"team": "analytics"},
}


@router.post(
    "/resources",
    **documented(
        "Declare a resource",
        answer=(shapes.ResourceView, shapes.DryRun),
        also={201: shapes.ResourceView},
        headers=APPLIED,
        body=shapes.ResourceBody,
        example=EXAMPLE,
        problems=(400, 409, 412, 413, 422),
    ),
)
async def apply(
    engine: InEngine,
    actor: Actor,
    request: Request,
    query: Annotated[ApplyQuery, Query()],
    if_match: etags.IfMatch = None,
    if_none_match: etags.IfNew = None,
) -> Response:
    """With `dryRun=true` nothing is stored and the answer is a `DryRun`."""
    body = await bodies.read(request, bodies.RESOURCE_BYTES_MAX)
    document = declarations.resource(bodies.decode(body, shapes.ResourceBody))
    document.only_if = etags.named(if_match)
    document.only_new = etags.asks_for_new(if_none_match)
    before = await _current(engine, document) if query.dry_run else None
    (applied,) = await engine.apply([document], actor, dry_run=query.dry_run)
    if isinstance(applied, RequestError):
        raise applied
    shown = views.resource(applied.resource, now_ms())
    headers = {"X-Apply-Result": applied.result, "ETag": etags.of(applied.resource)}
    if query.dry_run:
        would = shapes.DryRun(applied.result, changes(before, applied.resource), shown)  # type: ignore[arg-type]
        return answer(would, headers=headers)
    return answer(shown, 201 if applied.result == "created" else 200, headers)


async def _current(engine: Engine, document: ApplyDocument) -> ResourceRecord | None:
    try:
        return await engine.get(Ref(document.kind, document.name))
    except NotFound:
        return None


@router.get("/resources", **documented("List resources, the youngest first", answer=shapes.Resources, headers=PAGED))
async def list_resources(engine: InEngine, query: Annotated[ListQuery, Query()]) -> Response:
    page = await engine.find(query.filter(), limit=query.limit, cursor=query.cursor)
    now = now_ms()
    return paged(shapes.Resources([views.resource(record, now) for record in page.items]), page.cursor)


@router.get("/resources/roots", **documented("List resources that nobody owns", answer=shapes.Roots, headers=PAGED))
async def roots(engine: InEngine, query: Annotated[RootsQuery, Query()]) -> Response:
    where = query.filter()
    where.roots_only = True
    page = await engine.find(where, limit=query.limit, cursor=query.cursor)
    counts = await engine.descendant_counts([record.uid for record in page.items])
    now = now_ms()
    return paged(
        shapes.Roots([views.root(record, counts.get(record.uid, 0), now) for record in page.items]), page.cursor
    )


@router.get("/resources/summary", **documented("Count resources by phase and kind", answer=shapes.Summary))
async def summary(engine: InEngine) -> Response:
    return answer(await engine.summary())


@router.get(
    "/resources/{kind}/{name}",
    **documented("Get a resource", answer=shapes.ResourceView, headers=TAGGED, also={304: None}, problems=(404,)),
)
async def get(engine: InEngine, ref: PathRef, if_none_match: etags.IfNoneMatch = None) -> Response:
    record = await engine.get(ref)
    headers = {"ETag": etags.of(record)}
    if etags.is_known(record, if_none_match):
        return Response(status_code=304, headers=headers)
    return answer(views.resource(record, now_ms()), headers=headers)


@router.delete(
    "/resources/{kind}/{name}",
    **documented("Delete a resource and what it owns", answer=shapes.Deleted, problems=(404, 409, 412)),
)
async def delete(
    engine: InEngine,
    actor: Actor,
    ref: PathRef,
    query: Annotated[DeleteQuery, Query()],
    if_match: etags.IfMatch = None,
) -> Response:
    """The deletion is requested; it ends when all teardowns did, dependents first."""
    await engine.delete(ref, actor, force=query.force, only_if=etags.named(if_match))
    return answer(shapes.Deleted())


@router.post(
    "/resources/{kind}/{name}/reconcile",
    **documented("Run a resource again", answer=shapes.ResourceView, status=202, problems=(404, 409)),
)
async def reconcile(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    return answer(views.resource(await engine.reconcile(ref, actor), now_ms()), 202)


@router.post(
    "/resources/{kind}/{name}/quarantine",
    **documented("Freeze a resource", answer=shapes.Quarantined, problems=(404, 409)),
)
async def quarantine(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    """Nothing of it runs until it is released: a running task is told to stop, edits are kept and wait."""
    await engine.quarantine(ref, actor)
    return answer(shapes.Quarantined(True))


@router.post(
    "/resources/{kind}/{name}/unquarantine",
    **documented("Release a resource from its quarantine", answer=shapes.Quarantined, problems=(404,)),
)
async def unquarantine(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    """What is due runs. One that isn't quarantined stays as it is."""
    await engine.unquarantine(ref, actor)
    return answer(shapes.Quarantined(False))


@router.get(
    "/raw/resources/{kind}/{name}/status",
    **documented(
        "The status as it was reported, token by token",
        answer={},
        answer_example={"greeting": "Hello"},
        problems=(404,),
    ),
)
async def raw_status(engine: InEngine, ref: PathRef) -> Response:
    status = (await engine.get(ref)).status
    if status is None:
        raise NotFound(f"{ref} has no status")
    return Response(bytes(status), media_type="application/json")
