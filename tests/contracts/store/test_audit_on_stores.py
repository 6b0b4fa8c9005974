"""What people did is kept beside what the engine did, and is not pushed out by it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.store import events
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument, ConfigDeclaration
from stdworker.engine.store.records import AuditFilter
from stdworker.errors import RequestError
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

LEAF = {"kind": "leaf", "kind_version": 1, "reactions": [{"name": "w", "trigger": "specChange", "emits": ["status"]}]}


def run(database_url: str, scenario: Callable[[Engine], Awaitable[None]], **options) -> None:
    async def whole() -> None:
        engine = await Engine.open(database_url, EngineOptions(**options))
        try:
            await engine.publish_kind(LEAF, "ada")
            await scenario(engine)
        finally:
            await engine.close()

    asyncio.run(whole())


async def apply(engine: Engine, actor: str, *names: str) -> None:
    await engine.declare([ApplyDocument("leaf", 1, name) for name in names], actor)


async def work(engine: Engine, times: int) -> None:
    """The engine makes events of its own: each round tells of a status."""
    for n in range(times):
        await engine.reconcile(Ref("leaf", "a"), "engine")
        [claim] = await engine.claim([Want(KindVersion("leaf"), 1, "w")], "broker")
        await engine.settle([Settlement(claim.lease, claim.stage, outcome=Outcome(status={"n": n}))])


async def told(engine: Engine, **filters) -> list[tuple[str, str | None, str]]:
    page = await engine.audit(AuditFilter(**filters))
    return [(event.type, event.name, event.actor) for event in reversed(page.items)]


def test_what_the_engine_does_pushes_no_one_out_of_the_audit(database_url):
    async def scenario(engine: Engine) -> None:
        await apply(engine, "bob", "a")
        await work(engine, 5)
        for _ in range(2):  # the second passes over what the first left
            await engine.ticks.prune()
            assert await told(engine) == [("KindPublished", None, "ada"), ("Created", "a", "bob")]
        kept = await engine.events(limit=100)
        assert [event.type for event in kept[:2]] == ["KindPublished", "Created"]
        assert len(kept) == 2 + 3
        with pytest.raises(RequestError) as expired:
            await engine.read(_changes_after, 1)
        assert expired.value.code == "events_expired"
        assert (await engine.read(_changes_after, kept[2].seq)).whole

    run(database_url, scenario, events_keep=3)


def _changes_after(db, seq):
    from stdworker.engine.reconcile import changes

    return changes.after(db, seq, lambda ref: True)


def test_the_audit_has_a_count_of_its_own(database_url):
    async def scenario(engine: Engine) -> None:
        await apply(engine, "bob", *"abcdef")
        await engine.ticks.prune()
        assert await told(engine) == [("Created", name, "bob") for name in "def"]

    run(database_url, scenario, events_keep=3)


def test_what_is_too_old_goes_also_from_the_audit(database_url):
    async def scenario(engine: Engine) -> None:
        await apply(engine, "bob", "a")
        await engine.ticks.prune()
        assert await told(engine) == []
        assert await engine.events() == []

    run(database_url, scenario, events_keep_seconds=-1.0)


def test_pruning_goes_on_where_it_ended_a_piece_at_a_time(db):
    rows = [events.EventRow("leaf", "a", "u", "T", "", "", "x", "{}", n, n % 2 == 0) for n in range(10)]
    events.add(db, rows)
    calls = 0
    while events.prune(db, 2, 0, 3) >= 3:
        calls += 1
    assert calls == 3  # the audit at the end
    assert [seq for seq, _ in events.read(db, None, 0, 100)] == [7, 9, 10]


def test_events_of_a_resource_are_not_those_of_a_config_of_its_name(database_url):
    async def scenario(engine: Engine) -> None:
        await apply(engine, "bob", "a")
        await engine.put_config(ConfigDeclaration("a", KindVersion("leaf")), "eve")
        assert [event.type for event in await engine.events(Ref("leaf", "a"))] == ["Created"]
        assert await told(engine, name="a") == [("Created", "a", "bob"), ("ConfigCreated", "a", "eve")]
        assert [event.ref for event in await engine.events()] == [None, Ref("leaf", "a"), None]

    run(database_url, scenario)


@pytest.mark.parametrize(("since", "until", "found"), [(0, None, 1), (None, 0, 0), (1 << 50, None, 0)])
def test_instants_bound_the_audit_the_later_one_excluded(database_url, since, until, found):
    async def scenario(engine: Engine) -> None:
        assert len(await told(engine, since_ms=since, until_ms=until)) == found

    run(database_url, scenario)
