"""A real engine on SQLite behind the real application, and someone who does its work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI

from stdworker.engine.api import build_app
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Settlement, Want
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome

MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "description": "A thing without children.",
    "spec_schema": {"type": "object", "properties": {"size": {"type": "number"}}},
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


@pytest.fixture
async def engine(sqlite_url) -> AsyncIterator[Engine]:
    opened = await Engine.open(sqlite_url)
    running = asyncio.create_task(opened.run())
    yield opened
    running.cancel()
    await opened.close()


@pytest.fixture
async def app(engine) -> FastAPI:
    return build_app(engine)


@pytest.fixture
async def api(app) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as client:
        yield client


@pytest.fixture
async def leaf(api) -> None:
    """The kind leaf is published."""
    (await api.put("/kinds/leaf/manifest", json=MANIFEST)).raise_for_status()


@pytest.fixture
def work(engine) -> Callable[..., Awaitable[int]]:
    """Do what is due of the kind leaf, once; the settlement is made by `result`."""

    async def once(**result) -> int:
        claims = await engine.claim([Want(KindVersion("leaf"), 100, "worker")], "broker")
        result = result or {"outcome": Outcome(status={"ok": True})}
        await engine.settle([Settlement(claim.lease, claim.stage, **result) for claim in claims])
        return len(claims)

    return once
