"""Hints: coalesced for slow listeners, short for other processes."""

import asyncio

import pytest

from stdworker.engine.reconcile.watch import (
    ANNOUNCED_MAX,
    MISSED,
    PENDING_HINTS_MAX,
    Hint,
    Watch,
    Watches,
    decode,
    encode,
)
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

LEAF = KindVersion("leaf")


def test_a_hint_waits_once_however_often_it_was_given():
    async def scenario():
        watches = Watches()
        async with Watch(watches) as watch:
            for _ in range(3):
                watches.publish([Hint("work", LEAF)])
            assert await watch.next(0) == {Hint("work", LEAF)}
            assert await watch.next(0) == set()

    asyncio.run(scenario())


def test_a_listener_that_is_very_slow_is_told_less_not_more():
    async def scenario():
        watches = Watches()
        async with Watch(watches) as watch:
            watches.publish([Hint("resource", LEAF, Ref("leaf", str(i))) for i in range(PENDING_HINTS_MAX + 1)])
            assert await watch.next(0) == {Hint("resource", LEAF)}

    asyncio.run(scenario())


def test_a_listener_hears_only_its_topics_and_what_nobody_hears_is_known():
    async def scenario():
        watches = Watches()
        assert watches.heard == frozenset()
        async with Watch(watches, frozenset(["config"])) as watch:
            assert watches.heard == {"config"}
            watches.publish([Hint("work", LEAF), Hint("config", LEAF)])
            assert await watch.next(0) == {Hint("config", LEAF)}
        assert watches.heard == frozenset()

    asyncio.run(scenario())


def test_every_listener_hears_of_a_retry_that_has_come_due(world):
    world.leaf()
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="busy", retry_after_ms=30_000)
    world.clock.advance(31)

    async def scenario():
        async with world.engine.watch() as one, world.engine.watch() as another:
            await world.engine.ticks.look()
            return await one.next(0), await another.next(0)

    assert world.do(scenario()) == ({Hint("work", LEAF)}, {Hint("work", LEAF)})


@pytest.mark.parametrize("message", ["", "hello", '["me", 7]', '["me", [["work"]]]', '["me", [["work", [1], 1]]]'])
def test_an_announcement_that_is_not_understood_may_mean_anything(message):
    assert decode(message) == ("", MISSED)


def test_other_processes_are_told_of_pairs_and_topics_in_a_bounded_message():
    hints = {Hint("work", LEAF), Hint("resource", LEAF, Ref("leaf", "a")), Hint("voided")}
    assert decode(encode(hints, "me")) == ("me", {Hint("work", LEAF), Hint("resource"), Hint("voided")})
    many = {Hint("work", KindVersion(f"kind-{i:060}")) for i in range(ANNOUNCED_MAX + 1)}
    assert decode(encode(many, "me"))[1] == {Hint("work")}
    most = {Hint("work", KindVersion(f"{i:063}", 32767)) for i in range(ANNOUNCED_MAX)}
    assert len(encode(most, "0" * 16)) < 8000  # what Postgres carries
