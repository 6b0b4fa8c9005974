"""The application: routes, middleware, probes, the OpenAPI document and its page."""

from __future__ import annotations

import platform
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

import stdworker
from stdworker.engine.api import (
    audit,
    batch,
    configs,
    docs,
    history,
    kinds,
    metrics,
    openapi,
    operations,
    plan,
    problems,
    reactors,
    relations,
    resources,
    watch,
)
from stdworker.engine.api.asked import only_known
from stdworker.engine.api.context import InEngine, answer, now_ms
from stdworker.engine.api.feed import Feed
from stdworker.engine.api.guard import Access, Guard
from stdworker.engine.api.shapes.members import Members, MemberView, VersionView
from stdworker.engine.reconcile import Engine

GZIP_BYTES_MIN = 1_024
GZIP_LEVEL = 4
API_PREFIX = "/api/v1"
CORS: dict[str, Any] = {
    "allow_methods": ["GET", "HEAD", "POST", "PUT", "DELETE"],
    "allow_headers": ["content-type", "if-match", "if-none-match", "last-event-id"],
    "expose_headers": ["ETag", "Retry-After", "X-API-Version", "X-Apply-Result", "X-Next-Cursor"],
}

_OPEN = Access()


def build_app(engine: Engine, *, store: str = "sqlite", access: Access = _OPEN) -> FastAPI:
    """The REST API over an open engine; `store` is what `/version` calls the database."""
    app = FastAPI(
        title="converge",
        version=stdworker.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.engine = engine
    app.state.store = store
    app.state.feed = Feed(engine)
    app.state.draining = False  # set by whoever runs it
    problems.install(app)
    parts = (batch, plan, resources, history, relations, operations, watch, kinds, configs, reactors, audit)
    for router in (_meta, *(part.router for part in parts)):
        app.include_router(router, prefix=API_PREFIX, dependencies=[Depends(only_known)])
    app.include_router(_probes)
    app.include_router(_pages)
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES_MIN, compresslevel=GZIP_LEVEL)
    app.add_middleware(metrics.Measure)
    if access.origins:
        app.add_middleware(CORSMiddleware, allow_origins=[*access.origins], **CORS)
    app.add_middleware(Guard, access=access)
    return app


def build_probes(engine: Engine, *, access: Access = _OPEN) -> FastAPI:
    """What a process without REST shows of itself: `/livez`, `/readyz` and `/metrics`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.engine = engine
    app.state.feed = None
    app.state.draining = False
    problems.install(app)
    app.include_router(_probes)
    app.add_middleware(Guard, access=access)
    return app


_meta = APIRouter(tags=["engine"])
_probes = APIRouter(include_in_schema=False)
_pages = APIRouter(include_in_schema=False)


@_meta.get("/version", **openapi.documented("What answers", answer=VersionView))
async def version(request: Request) -> Response:
    return answer(VersionView(stdworker.__version__, "v1", platform.python_version(), request.app.state.store))


@_meta.get("/cluster-members", **openapi.documented("List the engine's processes and their workers", answer=Members))
async def cluster_members(engine: InEngine) -> Response:
    now = now_ms()
    return answer(Members([MemberView.of(record, now) for record in await engine.members()]))


@_probes.get("/livez")
async def livez() -> Response:
    return PlainTextResponse("ok")


@_probes.get("/readyz")
async def readyz(engine: InEngine, request: Request) -> Response:
    """Ready means that the store can be used and the process isn't on its way out."""
    if request.app.state.draining:
        raise problems.Draining
    await engine.ping()
    return PlainTextResponse("ok")


@_probes.get("/metrics")
async def show_metrics(engine: InEngine) -> Response:
    by_kind = (await engine.summary())["by_kind"]
    return Response(metrics.exposition(by_kind, await engine.delivery_counts()), media_type=metrics.CONTENT_TYPE_LATEST)


@_pages.get("/openapi.json")
async def show_openapi(request: Request) -> Response:
    return answer(openapi.document(request.app))


@_pages.get("/docs")
async def show_docs(request: Request) -> Response:
    return HTMLResponse(docs.page(openapi.document(request.app)))


@_pages.get("/docs.css")
async def show_docs_style() -> Response:
    return Response(docs.style(), media_type="text/css")


@_pages.get("/")
async def root() -> Response:
    return RedirectResponse("/docs")
