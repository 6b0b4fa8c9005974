"""A replica takes what is long to read, and nobody sees the difference."""

from __future__ import annotations

import asyncio
import contextlib

import psycopg
import pytest

from stdworker.engine.reconcile import Engine, reading
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import SettingsError
from stdworker.model.json_text import RawJson
from stdworker.model.resource import Ref

pytestmark = [pytest.mark.postgres]

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
HANG_SECONDS = 60


@contextlib.asynccontextmanager
async def opened(url, read_url):
    engine = await Engine.open(url, read_url=read_url)
    try:
        async with asyncio.timeout(HANG_SECONDS):
            yield engine
    finally:
        await engine.close()


async def apply(engine, *names):
    await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
    await engine.apply([ApplyDocument("leaf", 1, name, RawJson(b"{}")) for name in names], "test")


async def names(engine):
    return sorted(record.name for record in (await engine.find(ResourceFilter())).items)


class Copy:
    """A copy of a database as it was, with a resource under another name: what is read from it shows."""

    def __init__(self, server, url):
        self._server = server
        self.name = f"{url.rpartition('/')[2]}_copy"
        self.url = f"{server.url}/{self.name}"
        self.admin(f"CREATE DATABASE {self.name} TEMPLATE {url.rpartition('/')[2]}")
        self.change("UPDATE resources SET name = 'copied'")

    def admin(self, statement):
        with psycopg.connect(f"{self._server.url}/postgres", autocommit=True) as db:
            db.execute(statement)

    def change(self, statement):
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(statement)

    def refuse(self, *, connections):
        self.admin(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS {not connections}")
        if connections:
            self.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'")


@pytest.fixture
def url(postgres):
    """A database with a resource and an identity."""
    url = postgres.create_database()

    async def fill():
        async with opened(url, url) as engine:
            await apply(engine, "a")

    asyncio.run(fill())
    return url


@pytest.fixture
def copy(postgres, url):
    return Copy(postgres, url)


def test_lists_come_from_the_replica_unless_something_was_stored_that_it_does_not_have(url, copy, monkeypatch):
    monkeypatch.setattr(reading, "CATCH_UP_SECONDS", 0.0)

    async def scenario():
        async with opened(url, copy.url) as engine:
            assert await names(engine) == ["copied"]
            assert (await engine.get(Ref("leaf", "a"))).name == "a"
            await apply(engine, "b")
            assert await names(engine) == ["a", "b"]

    asyncio.run(scenario())


def test_a_replica_that_is_away_is_told_once_and_used_again_when_it_is_back(url, copy, monkeypatch, caplog):
    monkeypatch.setattr(reading, "AWAY_SECONDS", 0.0)

    async def scenario():
        async with opened(url, copy.url) as engine:
            copy.refuse(connections=True)
            assert [await names(engine) for _ in range(3)] == [["a"]] * 3
            copy.refuse(connections=False)
            assert await names(engine) == ["copied"]
            await engine.ping()

    asyncio.run(scenario())
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "lists are read from DATABASE_URL until the replica can be used",
        "lists are read from the replica again",
    ]


def test_a_replica_that_has_not_seen_a_migration_yet_is_not_asked(url, copy):
    copy.change("UPDATE alembic_version SET version_num = '0000'")

    async def scenario():
        async with opened(url, copy.url) as engine:
            assert await names(engine) == ["a"]

    asyncio.run(scenario())


def test_a_copy_of_another_database_is_refused_at_the_start(url, copy):
    copy.change("UPDATE counters SET value = 7 WHERE name = 'identity'")

    async def scenario():
        with pytest.raises(SettingsError, match="a replica of the database that DATABASE_URL names"):
            await Engine.open(url, read_url=copy.url)

    asyncio.run(scenario())


def test_an_engine_starts_without_its_replica(url, caplog):
    async def scenario():
        async with opened(url, "postgresql://nobody@127.0.0.1:1/none") as engine:
            assert await names(engine) == ["a"]

    asyncio.run(scenario())
    assert "until the replica can be used" in caplog.text


def test_a_streaming_replica_shows_all_that_was_stored_and_a_frozen_one_holds_nobody_up(
    url, postgres_replica, monkeypatch
):
    read_url = f"{postgres_replica.url}/{url.rpartition('/')[2]}"

    async def scenario():
        async with opened(url, read_url) as engine:
            stored = ["a"]
            for n in range(20):
                stored.append(f"x{n:02}")
                await apply(engine, stored[-1])
                assert await names(engine) == stored
            with psycopg.connect(read_url) as db:
                reads = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'converge'"
                assert db.execute(reads).fetchone() != (0,)
            monkeypatch.setattr(reading, "REPLICA_SECONDS", 0.2)
            with postgres_replica.frozen():
                assert await names(engine) == stored

    asyncio.run(scenario())
