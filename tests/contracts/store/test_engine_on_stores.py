"""The whole engine on every store: the same life of a composite, races that only concurrent writers have."""

from __future__ import annotations

import asyncio
import itertools

import psycopg
import pytest

from stdworker.engine.reconcile import Engine, settle
from stdworker.engine.reconcile.clock import SystemClock
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.positions import Positions
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import Applied, ApplyDocument
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import StoreError, StoreUnavailable
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref

LEAF, GROUP = KindVersion("leaf"), KindVersion("group")
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "edges", "status"]}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
CHILDREN = 40


async def publish(engine: Engine) -> None:
    await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
    await engine.publish_kind({"kind": "group", "kind_version": 1, "reactions": [PLAN, SUM]}, "test")


def answer(claim) -> Settlement:
    outcome = Outcome(status={"id": claim.resource.name, "seen": len(claim.descendants)})
    if claim.stage is Stage.COMPOSE:
        outcome.children = [ChildSpec("leaf", 1, f"c{i}", {"n": i}) for i in range(CHILDREN)]
        flows = [ValueFlow("/from", "/id")]
        outcome.edges = [DepEdge(Ref("leaf", f"c{i}"), Ref("leaf", f"c{i // 2}"), flows) for i in range(1, CHILDREN)]
    return Settlement(claim.lease, claim.stage, outcome)


async def work(engine: Engine, broker: str) -> int:
    """Claim and settle until nothing is left."""
    done = 0
    while True:
        await engine.follow_up()
        claims = await engine.claim([Want(LEAF, 7, broker), Want(GROUP, 7, broker)], broker)
        if not claims:
            return done
        done += sum(await engine.settle([answer(claim) for claim in claims]))


def test_a_composite_with_flows_converges_and_goes(database_url):
    async def scenario() -> None:
        engine = await Engine.open(database_url)
        await publish(engine)
        await engine.apply([ApplyDocument("group", 1, "g", RawJson(b"{}"))], "test")
        assert await work(engine, "one") == CHILDREN + 2
        group = await engine.get(Ref("group", "g"))
        assert (group.phase, group.status) == ("Ready", RawJson(b'{"id":"g","seen":%d}' % CHILDREN))
        assert (await engine.get(Ref("leaf", "c5"))).spec == b'{"n":5,"from":"c2"}'
        await engine.delete(Ref("group", "g"), "test")
        await engine.follow_up()
        assert (await engine.find(ResourceFilter())).items == []
        assert await engine.summary() == {"totals": {}, "by_kind": {}}
        await engine.close()

    asyncio.run(scenario())


def test_several_engines_share_one_database_and_no_task_is_run_twice(postgres_url):
    async def scenario() -> None:
        engines = [await Engine.open(postgres_url) for _ in range(3)]
        await publish(engines[0])
        documents = [ApplyDocument("group", 1, "g", RawJson(b"{}"))]
        documents += [ApplyDocument("leaf", 1, f"x{i}", RawJson(b"{}")) for i in range(100)]
        await asyncio.gather(*(engine.apply(documents, f"e{i}") for i, engine in enumerate(engines)))
        landed = 0
        while (await engines[0].get(Ref("group", "g"))).phase != "Ready":
            landed += sum(await asyncio.gather(*(work(engine, f"b{i}") for i, engine in enumerate(engines))))
        assert landed == CHILDREN + 2 + 100
        assert (await engines[1].summary())["totals"] == {"Ready": CHILDREN + 101}
        for engine in engines:
            await engine.close()

    asyncio.run(scenario())


def test_max_inflight_is_exact_across_engines(postgres_url):
    async def scenario() -> None:
        engines = [await Engine.open(postgres_url) for _ in range(3)]
        await engines[0].publish_kind(
            {"kind": "leaf", "kind_version": 1, "reactions": [MAKE], "max_inflight": 5}, "test"
        )
        await engines[0].apply([ApplyDocument("leaf", 1, f"x{i}") for i in range(30)], "test")
        claims = await asyncio.gather(
            *(engine.claim([Want(LEAF, 4, "w")], f"b{i}") for i, engine in enumerate(engines * 3))
        )
        assert sum(map(len, claims)) == 5
        for engine in engines:
            await engine.close()

    asyncio.run(scenario())


async def until_blocked(url: str) -> None:
    """Until some transaction waits for another."""
    with psycopg.connect(url, autocommit=True) as db:
        while db.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone() == (0,):
            await asyncio.sleep(0.005)


def test_two_siblings_that_settle_in_overlapping_transactions_never_lose_their_parent(postgres_url):
    def settling(connection, claim) -> UnitOfWork:
        connection.begin()
        uow = UnitOfWork(connection, Kinds.read(connection), SystemClock().now_ms(), Positions(), EngineOptions())
        assert settle.settle(uow, [answer(claim)]) == [True]
        flush(uow)
        uow.closing.write(uow.db)
        return uow

    async def scenario() -> None:
        engine = await Engine.open(postgres_url)
        await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
        await engine.publish_kind({"kind": "group", "kind_version": 1, "reactions": [PLAN]}, "test")
        await engine.apply([ApplyDocument("group", 1, "g", RawJson(b"{}"))], "test")
        [compose] = await engine.claim([Want(GROUP, 1, "w")], "b")
        outcome = Outcome(children=[ChildSpec("leaf", 1, name, {}) for name in "ab"])
        await engine.settle([Settlement(compose.lease, Stage.COMPOSE, outcome)])
        one, two = await engine.claim([Want(LEAF, 2, "w")], "b")

        database = PostgresDatabase(postgres_url)
        first, second = database.connect(), database.connect()
        settling(first, one)
        late = asyncio.create_task(asyncio.to_thread(settling, second, two))
        await until_blocked(postgres_url)  # it read before the first is committed, and waits for the event counter
        first.commit()
        await late
        second.commit()
        first.close()
        second.close()
        await engine.follow_up()
        assert (await engine.get(Ref("group", "g"))).phase == "Ready"
        await engine.close()

    asyncio.run(scenario())


def test_hints_reach_the_other_engines(postgres_url):
    async def scenario() -> None:
        here, there = await Engine.open(postgres_url), await Engine.open(postgres_url)
        await publish(here)
        async with there.watch() as watch:
            seen, names = set(), itertools.count()
            while ("work", LEAF) not in seen:  # the first ones may come before it listens
                await here.apply([ApplyDocument("leaf", 1, f"x{next(names)}", RawJson(b"{}"))], "test")
                seen |= {(hint.topic, hint.pair) for hint in await watch.next(1)}
        await here.close()
        await there.close()

    asyncio.run(scenario())


def test_documents_survive_every_store_token_by_token(database_url):
    spec = '{"z":1.0,"a":123456789012345678901234567890,"s":"\\u0000\\ud83d\\ude00%s :x"}'

    async def scenario() -> None:
        engine = await Engine.open(database_url)
        await publish(engine)
        [done] = await engine.apply([ApplyDocument("leaf", 1, "a", RawJson(spec.encode()))], "test")
        assert isinstance(done, Applied)
        [claim] = await engine.claim([Want(LEAF, 1, "w")], "b")
        assert claim.resource.spec_json == spec.encode()
        await engine.settle([Settlement(claim.lease, claim.stage, Outcome(status=RawJson(spec.encode())))])
        assert (await engine.get(Ref("leaf", "a"))).status == spec.encode()
        await engine.close()

    asyncio.run(scenario())


def test_a_database_that_can_not_be_reached_is_one_clear_error(tmp_path):
    async def scenario(url: str, told: str) -> None:
        with pytest.raises(StoreError, match=told):
            await Engine.open(url)

    asyncio.run(scenario(f"sqlite:///{tmp_path}/no/such.db", "does not exist"))
    asyncio.run(scenario(f"sqlite:///{tmp_path}", "is a folder"))
    asyncio.run(scenario("postgresql://nobody@127.0.0.1:1/none", "can't be used"))


def test_an_outage_ends_with_the_first_write(database_url):
    async def scenario() -> None:
        engine = await Engine.open(database_url)
        engine.health.failed(StoreUnavailable("it is gone"))
        with pytest.raises(StoreUnavailable, match="it is gone"):
            await engine.ping()
        for _ in range(2):
            await engine.probe()
            await engine.ping()
        await engine.close()

    asyncio.run(scenario())


def test_names_and_messages_of_any_text_are_found_again(database_url):
    async def scenario() -> None:
        engine = await Engine.open(database_url)
        await publish(engine)
        labels = {"its": 'a "label" : % ✓'}
        await engine.apply([ApplyDocument("leaf", 1, "a", dumps({}), labels=labels)], "me: 100%")
        [found] = (await engine.find(ResourceFilter(labels=labels))).items
        assert found.labels == labels
        assert {event.actor for event in await engine.events(Ref("leaf", "a"))} == {"me: 100%"}
        await engine.close()

    asyncio.run(scenario())
