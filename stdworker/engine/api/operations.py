"""Operations of resources: asked for, listed, looked at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies
from stdworker.engine.api.context import Actor, InEngine, PathRef, answer, paged
from stdworker.engine.api.openapi import PAGED, documented
from stdworker.engine.api.queries import PageQuery
from stdworker.engine.api.shapes.operations import OperationBody, Operations, OperationView
from stdworker.model.json_text import RawJson

router = APIRouter(prefix="/resources/{kind}/{name}/ops", tags=["operations"])


@router.post(
    "",
    **documented(
        "Ask for an operation",
        answer=OperationView,
        status=202,
        body=OperationBody,
        example={"verb": "greet", "input": {"loud": True}},
        problems=(400, 404, 409, 413, 422),
    ),
)
async def ask(engine: InEngine, actor: Actor, ref: PathRef, request: Request) -> Response:
    """It runs once, after those that were asked for before it; look at it to learn what came of it."""
    body = bodies.decode(await bodies.read(request), OperationBody)
    return answer(OperationView.of(await engine.operate(ref, body.verb, RawJson(body.input) or None, actor)), 202)


@router.get(
    "",
    **documented(
        "List the operations of a resource, the youngest first",
        answer=Operations,
        headers=PAGED,
        problems=(404,),
    ),
)
async def list_operations(engine: InEngine, ref: PathRef, query: Annotated[PageQuery, Query()]) -> Response:
    page = await engine.operations(ref, limit=query.limit, cursor=query.cursor)
    return paged(Operations([OperationView.of(row) for row in page.items]), page.cursor)


@router.get("/{uid}", **documented("Get an operation", answer=OperationView, problems=(404,)))
async def get(engine: InEngine, ref: PathRef, uid: str) -> Response:
    return answer(OperationView.of(await engine.operation(ref, uid)))
