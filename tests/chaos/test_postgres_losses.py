"""Connections break, the server restarts, stands still or is locked: nothing is lost, doubled, or waits for ever."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections import Counter

import psycopg
import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store import postgres_connection
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import Applied, ApplyDocument
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.errors import StdworkerError, StoreUnavailable
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

pytestmark = [pytest.mark.postgres]

LEAF = KindVersion("leaf")
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
POKE = {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]}
RESOURCES = 240
CHUNK = 20
HANG_SECONDS = 60


@pytest.fixture
def url(postgres):
    return postgres.create_database()


@pytest.fixture
def sql(url):
    """Statements of an operator, each by itself."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SET synchronous_commit = local")
        yield lambda statement, *values: db.execute(statement, values).fetchall()


def opened(url, scenario):
    """Run it on an engine with the kind `leaf`."""

    async def run():
        engine = await Engine.open(url)
        try:
            await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE, POKE]}, "test")
            return await asyncio.wait_for(scenario(engine), HANG_SECONDS)
        finally:
            await engine.close()

    return asyncio.run(run())


def documents(first, count):
    return [ApplyDocument("leaf", 1, f"x{i}", RawJson(b"{}")) for i in range(first, first + count)]


async def ask(call):
    return await call()


async def insist(call):
    """As brokers do: again until the store answers."""
    while True:
        try:
            return await call()
        except StoreUnavailable:
            await asyncio.sleep(0.02)


class Load:
    """Applies, claims and settles on one engine, counting what it is told; `ask` makes each call."""

    def __init__(self, engine, ask):
        self.engine = engine
        self.ask = ask
        self.results = Counter()
        self.settled = Counter()
        self.steps = 0

    async def apply(self):
        for first in range(0, RESOURCES, CHUNK):
            done = await self.ask(lambda first=first: self.engine.apply(documents(first, CHUNK), "test"))
            self.results.update(applied.result for applied in done)
            self.steps += 1

    async def work(self, broker):
        while sum(self.settled.values()) < RESOURCES:
            claims = await self.ask(lambda: self.engine.claim([Want(LEAF, 7, "w")], broker))
            results = [Settlement(claim.lease, claim.stage, Outcome(status={"by": broker})) for claim in claims]
            landed = await self.ask(lambda results=results: self.engine.settle(results))
            for claim, is_landed in zip(claims, landed, strict=True):
                assert is_landed
                self.settled[claim.resource.uid, claim.resource.generation] += 1
            self.steps += 1
            await asyncio.sleep(0)

    async def run(self, disturb):
        disturbing = asyncio.create_task(disturb(self))
        await asyncio.gather(self.apply(), self.work("one"), self.work("two"))
        await disturbing


def test_every_connection_may_be_ended_at_any_moment_and_nothing_is_lost_or_done_twice(url, sql):
    async def disturb(load):
        while sum(load.settled.values()) < RESOURCES:
            steps = load.steps
            sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()"
            )
            while load.steps < steps + 6 and sum(load.settled.values()) < RESOURCES:
                await asyncio.sleep(0.005)

    async def scenario(engine):
        load = Load(engine, ask)
        await load.run(disturb)
        return load, await engine.summary(), len(await engine.events(limit=1_000))

    load, summary, events = opened(url, scenario)

    assert load.results == {"created": RESOURCES}
    assert set(load.settled.values()) == {1}
    assert summary["totals"] == {"Ready": RESOURCES}
    assert sql("SELECT count(*), count(DISTINCT seq), max(seq) FROM events WHERE type = 'Created'")[0][:2] == (
        RESOURCES,
        RESOURCES,
    )
    assert events > RESOURCES


def test_a_server_that_crashes_and_restarts_under_load_costs_nothing_but_time(url, postgres):
    async def disturb(load):
        for _ in range(2):
            steps = load.steps
            await asyncio.to_thread(postgres.restart)
            while load.steps == steps and sum(load.settled.values()) < RESOURCES:
                await asyncio.sleep(0.005)

    async def scenario(engine):
        running = asyncio.create_task(engine.run())
        load = Load(engine, insist)
        await load.run(disturb)
        while engine.health.outage:
            await asyncio.sleep(0.02)
        await engine.ping()
        running.cancel()
        return load, await engine.summary()

    load, summary = opened(url, scenario)

    assert load.results == {"created": RESOURCES}
    assert set(load.settled.values()) == {1}
    assert summary["totals"] == {"Ready": RESOURCES}


def test_who_listens_hears_that_hints_may_have_been_missed(url, sql):
    async def scenario(engine):
        async with engine.watch("work") as watch:
            while any(hint.pair is None for hint in await watch.next(0.05)):
                pass  # the listener's first word
            listening = "datname = current_database() AND query LIKE %s"
            [(pid,)] = sql(f"SELECT pid FROM pg_stat_activity WHERE {listening}", "LISTEN %")
            sql("SELECT pg_terminate_backend(%s)", pid)
            while not any(hint.pair is None for hint in await watch.next(HANG_SECONDS)):
                pass

    opened(url, scenario)


# ---- the commit whose answer never came ----


@pytest.fixture
def held_commits(url, postgres, sql):
    """Commits of sessions that are open by then wait for a replica that isn't there; ended, they have happened."""
    database = url.rpartition("/")[2]

    def hold():
        sql_admin(postgres, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        sql_admin(postgres, f"ALTER DATABASE {database} SET synchronous_commit = local")

    yield hold
    sql_admin(postgres, "ALTER SYSTEM RESET synchronous_standby_names")


def sql_admin(postgres, statement):
    with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as db:
        db.execute("SET synchronous_commit = local")
        db.execute(statement)
        db.execute("SELECT pg_reload_conf()")


def waiting(sql):
    return [pid for (pid,) in sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")]


async def end_waiting(sql):
    while not (found := waiting(sql)):
        await asyncio.sleep(0.01)
    for pid in found:
        sql("SELECT pg_terminate_backend(%s)", pid)


def test_what_was_committed_without_an_answer_is_not_done_again(url, sql, held_commits):
    x0 = Ref("leaf", "x0")

    async def scenario(engine):
        await engine.apply(documents(0, 1), "test")
        others = [await Engine.open(url) for _ in range(4)]  # a connection that was lost once waits for nobody
        held_commits()
        told = []
        for other, asked in zip(
            others,
            (
                lambda other: other.apply(documents(1, 1), "test"),
                lambda other: other.operate(x0, "poke", None, "test"),
                lambda other: other.reconcile(x0, "test"),
                lambda other: other.claim([Want(LEAF, 1, "w")], "b"),
            ),
            strict=True,
        ):
            answer = asyncio.create_task(asked(other))
            await end_waiting(sql)
            told.append(await answer)
            await other.close()
        [[applied], operation, reconciled, [claim]] = told
        assert isinstance(applied, Applied)
        assert (applied.result, applied.resource.generation) == ("created", 1)
        assert reconciled.generation == 2
        found = await engine.read(lambda db: db.fetch("SELECT token, epoch FROM queue WHERE claimed_by = 'b'"))
        assert found == [tuple(claim.lease)]
        assert [o.uid for o in (await engine.operations(x0)).items] == [operation.uid]

    opened(url, scenario)


def test_a_commit_that_is_still_on_its_way_is_waited_for(url, sql, held_commits):
    database = PostgresDatabase(url)
    database.migrate()
    connection = database.connect()
    held_commits()
    connection.begin()
    connection.run("UPDATE counters SET value = 7 WHERE name = 'catalog'")
    committing = threading.Thread(target=connection.commit)
    committing.start()
    while not (held := waiting(sql)):
        time.sleep(0.01)

    with socket.socket(fileno=os.dup(connection._db.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
    while not sql("SELECT 1 FROM pg_locks WHERE NOT granted"):
        time.sleep(0.01)
    assert committing.is_alive()
    sql("SELECT pg_terminate_backend(%s)", held[0])

    committing.join(HANG_SECONDS)
    assert connection.fetch("SELECT value FROM counters WHERE name = 'catalog'") == [(7,)]
    connection.close()


def test_a_transaction_that_was_undone_at_its_commit_is_known_to_be(url, sql):
    database = PostgresDatabase(url)
    database.migrate()
    connection = database.connect()
    connection.begin()
    connection.run("UPDATE counters SET value = 7 WHERE name = 'catalog'")
    run = connection._run

    def lose(query, values=None):
        if query == b"COMMIT":
            sql("SELECT pg_terminate_backend(%s)", connection._db.info.backend_pid)
        return run(query, values)

    connection._run = lose
    with pytest.raises(postgres_connection.ConnectionLost) as lost:
        connection.commit()
    connection._run = run

    assert database.is_retryable(lost.value)
    assert connection.fetch("SELECT value FROM counters WHERE name = 'catalog'") == [(0,)]
    connection.close()


def test_a_commit_of_which_nobody_can_be_asked_is_in_doubt(url, sql, monkeypatch):
    monkeypatch.setattr(postgres_connection, "DOUBT_SECONDS", 0.0)
    database = PostgresDatabase(url)
    database.migrate()
    connection = database.connect()
    connection.begin()
    connection.run("UPDATE counters SET value = 7 WHERE name = 'catalog'")
    run = connection._run

    def lose(query, values=None):
        if query == b"COMMIT":
            sql("SELECT pg_terminate_backend(%s)", connection._db.info.backend_pid)
            connection._url = "postgresql://nobody@127.0.0.1:1/none"
        return run(query, values)

    connection._run = lose
    with pytest.raises(StoreUnavailable, match="in the middle of a commit") as doubt:
        connection.commit()
    assert doubt.value.code == "store_in_doubt"
    connection.close()


# ---- waits have an end ----


def test_a_server_that_stands_still_is_an_outage_that_ends_when_it_goes_on(url, postgres, monkeypatch):
    monkeypatch.setattr(postgres_connection.Bounded, "answer_seconds", 0.5)

    async def scenario(engine):
        await engine.kinds()
        with postgres.frozen():
            for call in (engine.apply(documents(0, 1), "test"), engine.kinds()):
                with pytest.raises(StoreUnavailable):
                    await call
        await insist(engine.probe)
        [applied] = await engine.apply(documents(0, 1), "test")
        assert applied.result == "created"

    opened(f"{url}?connect_timeout=2", scenario)


def test_what_somebody_else_holds_for_too_long_is_refused_and_works_once_it_is_free(url, monkeypatch):
    monkeypatch.setattr(
        postgres_connection, "WRITER_SETTINGS", (*postgres_connection.WRITER_SETTINGS, "lock_timeout = '100ms'")
    )

    async def scenario(engine):
        await engine.apply(documents(0, 1), "test")
        with psycopg.connect(url) as someone:
            someone.execute("SELECT 1 FROM resources FOR UPDATE")
            with pytest.raises(StoreUnavailable, match="another session holds") as refused:
                await engine.reconcile(Ref("leaf", "x0"), "test")
            assert refused.value.code == "store_locked"
        assert (await engine.reconcile(Ref("leaf", "x0"), "test")).generation == 2

    opened(url, scenario)


def test_an_engine_that_stands_still_with_a_lock_does_not_hold_up_the_others_for_ever(url, monkeypatch):
    idle = "idle_in_transaction_session_timeout = '200ms'"
    monkeypatch.setattr(postgres_connection, "WRITER_SETTINGS", (*postgres_connection.WRITER_SETTINGS, idle))

    async def scenario(engine):
        stuck = PostgresDatabase(url).connect()
        stuck.begin()
        stuck.lock_rechecks()
        await engine.follow_up()
        with pytest.raises(postgres_connection.ConnectionLost):
            stuck.commit()
        stuck.close()

    opened(url, scenario)


def test_a_statement_that_takes_too_long_is_ended_and_told(url, monkeypatch):
    monkeypatch.setattr(
        postgres_connection, "READER_SETTINGS", (*postgres_connection.READER_SETTINGS, "statement_timeout = '50ms'")
    )

    async def scenario(engine):
        with pytest.raises(StdworkerError, match="longer than 20 s"):
            await engine.read(lambda db: db.fetch("SELECT pg_sleep(30)"))
        await engine.ping()

    opened(url, scenario)


def test_one_process_sweeps_and_the_others_go_on_without_waiting(url):
    database = PostgresDatabase(url)
    database.migrate()
    one, other = database.connect(), database.connect()
    one.begin()
    other.begin()
    assert one.lock_sweep()
    assert not other.lock_sweep()
    one.commit()
    assert other.lock_sweep()
    for connection in (one, other):
        connection.rollback()
        connection.close()
