"""Who changed what, and when."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from stdworker.engine.api.context import InEngine, paged
from stdworker.engine.api.openapi import PAGED, documented
from stdworker.engine.api.queries import AuditQuery
from stdworker.engine.api.shapes.events import Audit, AuditView

router = APIRouter(tags=["audit"])


@router.get("/audit", **documented("List who changed what, the youngest first", answer=Audit, headers=PAGED))
async def audit(engine: InEngine, query: Annotated[AuditQuery, Query()]) -> Response:
    """One entry for each change that someone asked for and that was made; it outlives what was changed."""
    page = await engine.audit(query.filter(), limit=query.limit, cursor=query.cursor)
    return paged(Audit([AuditView.of(record) for record in page.items]), page.cursor)
