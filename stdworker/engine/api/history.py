"""The specs that a resource has had: listed, downloaded, copied forward."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, etags
from stdworker.engine.api.context import Actor, InEngine, PathRef, answer, paged
from stdworker.engine.api.openapi import PAGED, documented
from stdworker.engine.api.queries import SEQUENCE_MAX, PageQuery
from stdworker.engine.api.shapes.history import Revisions, RevisionView, RollbackBody, RolledBack

router = APIRouter(tags=["history"])

Generation = Annotated[int, Path(ge=1, le=SEQUENCE_MAX, examples=[1])]


@router.get(
    "/resources/{kind}/{name}/spec-history",
    **documented(
        "List the specs that a resource has had, the live one first",
        answer=Revisions,
        headers=PAGED,
        problems=(404,),
    ),
)
async def spec_history(engine: InEngine, ref: PathRef, query: Annotated[PageQuery, Query()]) -> Response:
    """Each revision holds from its generation on; generations between two changed something else than the spec."""
    page = await engine.revisions(ref, limit=query.limit, cursor=query.cursor)
    live = None if query.cursor else page.items[0].generation
    return paged(Revisions([RevisionView.of(row, is_live=row.generation == live) for row in page.items]), page.cursor)


@router.post(
    "/resources/{kind}/{name}/rollback",
    **documented(
        "Give a resource an earlier spec again",
        answer=RolledBack,
        body=RollbackBody,
        example={"generation": 1},
        problems=(400, 404, 409, 412, 413, 422),
    ),
)
async def rollback(
    engine: InEngine, actor: Actor, ref: PathRef, request: Request, if_match: etags.IfMatch = None
) -> Response:
    """The spec is copied forward as a new generation; version, labels and provider config stay as they are.

    The answer is the generation that the resource is at now: the same one if it has that spec already.
    """
    body = bodies.decode(await bodies.read(request), RollbackBody)
    generation = await engine.roll_back(ref, body.generation, actor, only_if=etags.named(if_match))
    return answer(RolledBack(generation))


@router.get(
    "/raw/resources/{kind}/{name}/spec/{generation}",
    **documented(
        "The spec of a generation, token by token", answer={}, answer_example={"name": "Ada"}, problems=(404,)
    ),
)
async def raw_spec(engine: InEngine, ref: PathRef, generation: Generation) -> Response:
    """Of a generation that changed something else, the spec that it had."""
    spec = (await engine.revision(ref, generation)).spec
    return Response((spec or "{}").encode(), media_type="application/json")
