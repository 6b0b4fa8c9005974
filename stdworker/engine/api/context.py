"""What routes share: the engine, the caller's name, and how answers are written."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from starlette.responses import Response

from stdworker.engine.api.guard import address_of, client_of
from stdworker.engine.api.shapes.common import encode
from stdworker.engine.reconcile import Engine
from stdworker.model.resource import Ref


async def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


async def _actor(request: Request) -> str:
    """Who the audit says it was."""
    if who := client_of(request.scope):
        return who.actor
    address = address_of(request.scope)
    return f"anonymous@{address}" if address else "anonymous"


KindPath = Annotated[str, Path(examples=["greeter"])]


async def _path_ref(kind: KindPath, name: Annotated[str, Path(examples=["ada"])]) -> Ref:
    return Ref(kind, name)


InEngine = Annotated[Engine, Depends(_engine)]
Actor = Annotated[str, Depends(_actor)]
PathRef = Annotated[Ref, Depends(_path_ref)]


def answer(view: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode(view), status_code=status, media_type="application/json", headers=headers)


def paged(view: Any, cursor: str | None) -> Response:
    return answer(view, headers={"X-Next-Cursor": cursor} if cursor else None)


def now_ms() -> int:
    return time.time_ns() // 1_000_000
