"""Changes of resources, read from the event sequence of either store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stdworker.engine.reconcile import Engine, EngineOptions, changes
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import RequestError
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.resource import Ref

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}


async def opened(url: str, **options: Any) -> Engine:
    engine = await Engine.open(url, EngineOptions(**options))
    await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
    return engine


async def apply(engine: Engine, *names: str, **members: Any) -> None:
    await engine.apply([ApplyDocument("leaf", 1, name, **members) for name in names], "test")


def read(db: Any, seq: int, where: ResourceFilter) -> tuple[int, list[changes.Change], bool]:
    found = changes.after(db, seq, lambda ref: changes.may_match(where, ref))
    return found.last, [change for change in found.found if changes.matches(where, change.traits)], found.whole


def test_what_is_gone_is_still_told_to_those_whom_its_labels_let_see_it(database_url):
    async def scenario() -> None:
        engine = await opened(database_url)
        await apply(engine, "a", labels={"team": "x"})
        await apply(engine, "b", labels={"team": "y"})
        for name in "ab":
            await engine.delete(Ref("leaf", name), "test")
        await engine.follow_up()
        where = ResourceFilter(pairs=[KindVersion("leaf")], labels={"team": "x"}, phases=[Phase.DELETING])
        last, found, whole = await engine.read(read, 0, where)
        about_a = await engine.events(Ref("leaf", "a"))
        assert [change.event.seq for change in found] == [event.seq for event in about_a]
        assert {change.resource for change in found} == {None}
        assert (last, whole) == ((await engine.events())[-1].seq, True)
        await engine.close()

    asyncio.run(scenario())


def test_more_events_than_are_read_at_once_are_read_in_turns(database_url):
    async def scenario() -> None:
        engine = await opened(database_url)
        names = [f"r{i}" for i in range(changes.EVENTS_READ_MAX + 100)]
        await apply(engine, *names)
        seen, last, whole = [], 0, False
        while not whole:
            last, found, whole = await engine.read(read, last, ResourceFilter())
            seen += [change.ref.name for change in found]
        assert sorted(seen) == sorted(names)
        await engine.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("away", [-2, 1])
def test_nobody_goes_on_from_where_events_are_missing(database_url, away):
    async def scenario() -> None:
        engine = await opened(database_url, events_keep=1)
        await apply(engine, *"abc")
        await engine.ticks.prune()
        youngest = await engine.read(changes.last)
        with pytest.raises(RequestError, match="are not kept"):
            await engine.read(read, youngest + away, ResourceFilter())
        assert len((await engine.read(read, youngest - 1, ResourceFilter()))[1]) == 1
        assert (await engine.read(read, youngest, ResourceFilter())) == (youngest, [], True)
        await engine.close()

    asyncio.run(scenario())


def test_every_state_of_a_resource_has_a_revision_of_its_own(database_url):
    async def scenario() -> None:
        engine = await opened(database_url)
        revisions = []
        for i in range(20):
            await apply(engine, "a", labels={"n": str(i)})
            revisions.append((await engine.get(Ref("leaf", "a"))).revision)
        assert len(set(revisions)) == len(revisions)
        await engine.close()

    asyncio.run(scenario())
