"""Reactors: what they are bound to, and the deliveries to them that were given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations, etags
from stdworker.engine.api.context import Actor, InEngine, answer, paged
from stdworker.engine.api.openapi import APPLIED, PAGED, TAGGED, documented
from stdworker.engine.api.queries import SEQUENCE_MAX, DeleteQuery, NamesQuery, PageQuery
from stdworker.engine.api.shapes.common import Deleted
from stdworker.engine.api.shapes.reactors import BindingBody, Bindings, BindingView, DeadLetters, DeadLetterView
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.records import revision
from stdworker.engine.store.rows import BindingRow

router = APIRouter(tags=["reactors"])

EXAMPLE = {
    "name": "tell-the-team",
    "watch_kind": "greeter",
    "transition": "degraded",
    "reactor": "pager",
    "label_match": {"team": "web"},
}

NamePath = Annotated[str, Path(examples=[EXAMPLE["name"]])]
DeadLetterId = Annotated[int, Path(ge=1, le=SEQUENCE_MAX)]


@router.post(
    "/reactor-bindings",
    **documented(
        "Declare a reactor binding",
        answer=BindingView,
        also={201: BindingView},
        headers=APPLIED,
        body=BindingBody,
        example=EXAMPLE,
        problems=(400, 412, 413, 422),
    ),
)
async def put(
    engine: InEngine,
    actor: Actor,
    request: Request,
    if_match: etags.IfMatch = None,
    if_none_match: etags.IfNew = None,
) -> Response:
    """An existing name is updated. What is crossed from now on is told; what waits already is told as it was bound."""
    body = bodies.decode(await bodies.read(request), BindingBody)
    declared = declarations.binding(body)
    declared.only_if = etags.named(if_match)
    declared.only_new = etags.asks_for_new(if_none_match)
    result, row = await engine.put_binding(declared, actor)
    status = 201 if result == "created" else 200
    [view] = await _views(engine, [row])
    return answer(view, status, {"X-Apply-Result": result, "ETag": _tag(row)})


@router.get("/reactor-bindings", **documented("List reactor bindings", answer=Bindings, headers=PAGED))
async def list_bindings(engine: InEngine, query: Annotated[NamesQuery, Query()]) -> Response:
    page = await engine.bindings(limit=query.limit, cursor=query.cursor)
    return paged(Bindings(await _views(engine, page.items)), page.cursor)


@router.get(
    "/reactor-bindings/{name}",
    **documented("Get a reactor binding", answer=BindingView, headers=TAGGED, problems=(404,)),
)
async def get(engine: InEngine, name: NamePath) -> Response:
    row = await engine.binding(name)
    [view] = await _views(engine, [row])
    return answer(view, headers={"ETag": _tag(row)})


async def _views(engine: Engine, rows: Sequence[BindingRow]) -> list[BindingView]:
    waiting = await engine.waiting([row.name for row in rows])
    return [BindingView.of(row, waiting.get(row.name)) for row in rows]


def _tag(row: BindingRow) -> str:
    return etags.of(revision(row.name, row.updated_at))


@router.delete(
    "/reactor-bindings/{name}", **documented("Delete a reactor binding", answer=Deleted, problems=(404, 412))
)
async def delete(
    engine: InEngine,
    actor: Actor,
    name: NamePath,
    query: Annotated[DeleteQuery, Query()],
    if_match: etags.IfMatch = None,
) -> Response:
    """Nothing new is told for it. What waits already is still told."""
    await engine.delete_binding(name, actor, only_if=etags.named(if_match), dry_run=query.dry_run)
    return answer(Deleted(not query.dry_run))


@router.get(
    "/dead-letters",
    **documented(
        "List deliveries to reactors that were given up, the youngest first", answer=DeadLetters, headers=PAGED
    ),
)
async def list_dead_letters(engine: InEngine, query: Annotated[PageQuery, Query()]) -> Response:
    page = await engine.dead_letters(limit=query.limit, cursor=query.cursor)
    return paged(DeadLetters([DeadLetterView.of(row) for row in page.items]), page.cursor)


@router.get("/dead-letters/{id}", **documented("Get a dead letter", answer=DeadLetterView, problems=(404,)))
async def get_dead_letter(engine: InEngine, id: DeadLetterId) -> Response:
    return answer(DeadLetterView.of(await engine.dead_letter(id)))


@router.post(
    "/dead-letters/{id}/retry",
    **documented("Deliver a dead letter again", answer=DeadLetterView, status=202, problems=(404, 409)),
)
async def retry(engine: InEngine, actor: Actor, id: DeadLetterId) -> Response:
    """It is no dead letter any more, and is told with the same dedup_token; the answer is what it was."""
    return answer(DeadLetterView.of(await engine.retry_dead_letter(id, actor)), 202)
