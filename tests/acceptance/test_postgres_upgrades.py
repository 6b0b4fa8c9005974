"""A newer version brings its schema while older processes serve, and many processes start at once."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import uuid

import psycopg
import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store import migrate, postgres
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.errors import StoreError, StoreUnavailable
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome

pytestmark = [pytest.mark.postgres]

LEAF = KindVersion("leaf")
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
PROCESSES = 5
HANG_SECONDS = 60
MIGRATE = "import sys; from stdworker.engine.store.postgres import PostgresDatabase as D; D(sys.argv[1]).migrate()"

FUTURE = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{last}"


def upgrade():
    for table in ("resources", "queue", "edges", "events", "kinds"):
        op.add_column(table, sa.Column("of_the_future", sa.BigInteger(), nullable=False, server_default="7"))
    op.create_table("of_the_future", sa.Column("id", sa.BigInteger(), primary_key=True))
"""


@pytest.fixture
def url(postgres):
    return postgres.create_database()


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """Migrates a database as a version will that has one migration more."""
    ours = migrate.SCRIPTS
    theirs = tmp_path / "migrations"
    shutil.copytree(ours, theirs)
    last = max(script.name[:4] for script in (ours / "versions").glob("0*.py"))
    (theirs / "versions" / "9999_future.py").write_text(FUTURE.format(last=last))

    def upgrade(url):
        monkeypatch.setattr(migrate, "SCRIPTS", theirs)
        try:
            PostgresDatabase(url).migrate()
        finally:
            monkeypatch.setattr(migrate, "SCRIPTS", ours)

    return upgrade


def schema(url):
    with psycopg.connect(url) as db:
        return db.execute("SELECT version_num FROM alembic_version").fetchall()


async def publish(engine):
    await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")


async def work(engine, name):
    """One resource through its whole life up to Ready."""
    await engine.apply([ApplyDocument("leaf", 1, name)], "test")
    claims = await engine.claim([Want(LEAF, 1, "w")], "b")
    results = [Settlement(claim.lease, claim.stage, Outcome(status={"n": 1})) for claim in claims]
    assert await engine.settle(results) == [True]


def test_a_database_that_is_not_there_is_to_be_created(postgres):
    with pytest.raises(StoreUnavailable, match="does not exist") as refused:
        PostgresDatabase(f"{postgres.url}/nowhere").migrate()
    assert refused.value.hint.startswith("create it empty")


def test_a_role_that_may_not_make_tables_is_told_of_once_without_the_statement(postgres, url):
    role = f"role_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # as it is from Postgres 15 on
    with pytest.raises(StoreError, match="may not do what the engine needs: permission denied for") as refused:
        PostgresDatabase(url.replace("postgres@", f"{role}@")).migrate()
    assert "own its database" in refused.value.hint
    assert "CREATE TABLE" not in refused.value.message


def test_a_database_of_another_program_is_named_as_such_and_left_alone(url):
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE resources (theirs int)")
    with pytest.raises(StoreError, match="is another program's") as refused:
        PostgresDatabase(url).migrate()
    assert "of its own" in refused.value.hint
    with psycopg.connect(url) as other:
        assert other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)


def test_many_processes_that_start_at_once_make_one_schema(url):
    started = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(PROCESSES)
    ]
    assert [(process.communicate(timeout=HANG_SECONDS)[0], process.returncode) for process in started] == [
        (b"", 0)
    ] * PROCESSES
    assert len(schema(url)) == 1


def test_an_older_process_goes_on_while_a_newer_one_brings_its_schema(url, newer):
    async def scenario():
        older = await Engine.open(url)
        await publish(older)
        upgrading = asyncio.create_task(asyncio.to_thread(newer, url))
        done = 0
        while not upgrading.done() or done < 20:
            await work(older, f"x{done}")
            done += 1
        await upgrading
        assert schema(url) == [("9999",)]

        another = await Engine.open(url)
        await work(another, "late")
        assert (await older.summary())["totals"] == {"Ready": done + 1}
        await older.close()
        await another.close()

    asyncio.run(asyncio.wait_for(scenario(), HANG_SECONDS))


def test_a_migration_leaves_a_table_to_those_who_use_it_and_comes_back(url, newer, monkeypatch):
    monkeypatch.setattr(postgres, "MIGRATION_LOCK_SECONDS", 0.1)

    async def scenario():
        engine = await Engine.open(url)
        await publish(engine)
        with psycopg.connect(url) as someone:
            someone.execute("SELECT count(*) FROM resources")
            upgrading = threading.Thread(target=newer, args=(url,))
            upgrading.start()
            with psycopg.connect(url, autocommit=True) as db:
                while db.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() == (0,):
                    await asyncio.sleep(0.005)
            for n in range(5):
                await work(engine, f"x{n}")
            assert upgrading.is_alive()
        await asyncio.to_thread(upgrading.join, HANG_SECONDS)
        assert schema(url) == [("9999",)]
        await engine.close()

    asyncio.run(asyncio.wait_for(scenario(), HANG_SECONDS))


def test_a_migration_that_finds_no_moment_is_given_up_and_told(url, newer, monkeypatch):
    monkeypatch.setattr(postgres, "MIGRATION_LOCK_SECONDS", 0.1)
    monkeypatch.setattr(postgres, "MIGRATION_SECONDS", 0.0)
    PostgresDatabase(url).migrate()
    with psycopg.connect(url) as someone:
        someone.execute("SELECT count(*) FROM resources")
        with pytest.raises(StoreUnavailable, match="another session holds"):
            newer(url)
    newer(url)
    assert schema(url) == [("9999",)]
