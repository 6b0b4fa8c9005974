"""Publishing a kind version again, on every store."""

import asyncio

import pytest

from stdworker.engine.reconcile import Engine
from stdworker.errors import Incompatible
from stdworker.model.kind import KindVersion

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
LEAF = {"kind": "leaf", "kind_version": 1, "reactions": [MAKE], "spec_schema": {"properties": {"size": {}}}}
CLOSED = LEAF | {"spec_schema": {"properties": {"size": {}}, "additionalProperties": False}}


def test_a_break_stores_nothing_and_is_stored_by_force_with_an_event(database_url):
    async def scenario() -> None:
        engine = await Engine.open(database_url)
        _, first = await engine.publish_kind(LEAF, "ada")
        with pytest.raises(Incompatible) as refused:
            await engine.publish_kind(CLOSED, "ada")
        assert [pointer for pointer, _ in refused.value.violations] == ["/spec_schema/additionalProperties"]
        assert await engine.kind(KindVersion("leaf")) == first
        _, forced = await engine.publish_kind(CLOSED, "ada", force=True)
        assert await engine.kind(KindVersion("leaf")) == forced != first
        [event] = [event for event in await engine.events() if event.type == "KindForced"]
        assert (event.actor, event.message) == ("ada", "leaf@1: 1 break")
        await engine.close()

    asyncio.run(scenario())
