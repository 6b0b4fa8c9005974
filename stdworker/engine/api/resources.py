"""Resources: apply, list, get, delete, reconcile, and their raw documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations, etags
from stdworker.engine.api.context import Actor, InEngine, PathRef, answer, now_ms, paged
from stdworker.engine.api.diff import changes
from stdworker.engine.api.openapi import APPLIED, PAGED, TAGGED, documented
from stdworker.engine.api.queries import ApplyQuery, DeleteResourceQuery, ListQuery, RootsQuery
from stdworker.engine.api.shapes.resources import (
    DeletedResource,
    DryRun,
    Quarantined,
    ResourceBody,
    Resources,
    ResourceView,
    Roots,
    RootView,
    Summary,
)
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.records import ResourceRecord
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
        answer=(ResourceView, DryRun),
        also={201: ResourceView},
        headers=APPLIED,
        body=ResourceBody,
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
    document = declarations.resource(bodies.decode(body, ResourceBody))
    document.only_if = etags.named(if_match)
    document.only_new = etags.asks_for_new(if_none_match)
    before = await _current(engine, document) if query.dry_run else None
    (applied,) = await engine.apply([document], actor, dry_run=query.dry_run)
    if isinstance(applied, RequestError):
        raise applied
    shown = ResourceView.of(applied.resource, now_ms())
    headers = {"X-Apply-Result": applied.result}
    if query.dry_run:
        would = DryRun(applied.result, changes(before, applied.resource), shown)  # type: ignore[arg-type]
        return answer(would, headers=headers)
    headers["ETag"] = etags.of(applied.resource.revision)
    return answer(shown, 201 if applied.result == "created" else 200, headers)


async def _current(engine: Engine, document: ApplyDocument) -> ResourceRecord | None:
    try:
        return await engine.get(Ref(document.kind, document.name))
    except NotFound:
        return None


@router.get("/resources", **documented("List resources, the youngest first", answer=Resources, headers=PAGED))
async def list_resources(engine: InEngine, query: Annotated[ListQuery, Query()]) -> Response:
    page = await engine.find(query.filter(), limit=query.limit, cursor=query.cursor)
    now = now_ms()
    return paged(Resources([ResourceView.of(record, now) for record in page.items]), page.cursor)


@router.get("/resources/roots", **documented("List resources that nobody owns", answer=Roots, headers=PAGED))
async def roots(engine: InEngine, query: Annotated[RootsQuery, Query()]) -> Response:
    where = query.filter()
    where.roots_only = True
    page = await engine.find(where, limit=query.limit, cursor=query.cursor)
    counts = await engine.descendant_counts([record.uid for record in page.items])
    now = now_ms()
    return paged(
        Roots([RootView.of_root(record, counts.get(record.uid, 0), now) for record in page.items]), page.cursor
    )


@router.get("/resources/summary", **documented("Count resources by phase and kind", answer=Summary))
async def summary(engine: InEngine) -> Response:
    return answer(await engine.summary())


@router.get(
    "/resources/{kind}/{name}",
    **documented("Get a resource", answer=ResourceView, headers=TAGGED, also={304: None}, problems=(404,)),
)
async def get(engine: InEngine, ref: PathRef, if_none_match: etags.IfNoneMatch = None) -> Response:
    record = await engine.get(ref)
    headers = {"ETag": etags.of(record.revision)}
    if etags.is_known(record, if_none_match):
        return Response(status_code=304, headers=headers)
    return answer(ResourceView.of(record, now_ms()), headers=headers)


@router.delete(
    "/resources/{kind}/{name}",
    **documented("Delete a resource and what can't be without it", answer=DeletedResource, problems=(404, 409, 412)),
)
async def delete(
    engine: InEngine,
    actor: Actor,
    ref: PathRef,
    query: Annotated[DeleteResourceQuery, Query()],
    if_match: etags.IfMatch = None,
) -> Response:
    """The deletion is requested; it ends when all teardowns did, dependents first."""
    doomed = await engine.delete(ref, actor, force=query.force, only_if=etags.named(if_match), dry_run=query.dry_run)
    return answer(DeletedResource.of(doomed, deleted=not query.dry_run))


@router.post(
    "/resources/{kind}/{name}/reconcile",
    **documented("Run a resource again", answer=ResourceView, status=202, problems=(404, 409)),
)
async def reconcile(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    return answer(ResourceView.of(await engine.reconcile(ref, actor), now_ms()), 202)


@router.post(
    "/resources/{kind}/{name}/quarantine",
    **documented("Freeze a resource", answer=Quarantined, problems=(404, 409)),
)
async def quarantine(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    """Nothing of it runs until it is released: a running task is told to stop, edits are kept and wait."""
    await engine.quarantine(ref, actor)
    return answer(Quarantined(True))


@router.post(
    "/resources/{kind}/{name}/unquarantine",
    **documented("Release a resource from its quarantine", answer=Quarantined, problems=(404,)),
)
async def unquarantine(engine: InEngine, actor: Actor, ref: PathRef) -> Response:
    """What is due runs. One that isn't quarantined stays as it is."""
    await engine.unquarantine(ref, actor)
    return answer(Quarantined(False))


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
