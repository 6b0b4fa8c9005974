"""Default configs reach every worker whole, before the tasks that need them."""

from __future__ import annotations

import pytest

from stdworker.engine.broker import ticks
from stdworker.engine.reconcile import Hint
from stdworker.model.kind import KindVersion
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio

LEAF, OTHER = KindVersion("leaf", 1), KindVersion("other", 1)


async def test_each_pair_that_has_a_default_gets_it_before_any_task(scene):
    scene.engine.edit_config(LEAF, b'{"a":1}')
    scene.engine.queue("a")
    worker = await scene.worker(base=True).subscribe("leaf", "other")

    first, second = await worker.frame(), await worker.frame()

    assert (first.config.kind, first.config.kind_version, first.config.config) == ("leaf", 1, b'{"a":1}')
    assert second.HasField("task")


async def test_an_edit_is_pushed_to_every_stream_of_the_pair_and_to_no_other(scene):
    worker, other = await scene.worker().subscribe("leaf"), await scene.worker().subscribe("other")
    scene.engine.queue("a")
    scene.engine.queue("x", pair=OTHER)
    await worker.task()
    await other.task()

    scene.engine.edit_config(LEAF, b'{"a":2}')
    assert (await worker.next("config")).config == b'{"a":2}'

    scene.engine.queue("y", pair=OTHER)
    await other.task()
    assert not any(message.HasField("config") for message in other.received)


async def test_a_config_that_a_stream_has_seen_is_not_pushed_again(scene):
    scene.engine.edit_config(LEAF, b'{"a":1}')
    worker = await scene.worker().subscribe("leaf", "other")
    await worker.next("config")

    scene.engine.watches.publish([Hint("config")])  # hints were lost: anything may have been edited
    scene.engine.edit_config(OTHER, b'{"b":1}')

    assert (await worker.next("config")).kind == "other"


async def test_a_deleted_default_is_pushed_as_one_without_content(scene):
    scene.engine.edit_config(LEAF, b'{"a":1}')
    worker = await scene.worker().subscribe()
    await worker.next("config")

    scene.engine.edit_config(LEAF, None)
    config = await worker.next("config")

    assert (config.kind, config.config, config.bundle) == ("leaf", b"", b"")


async def test_a_task_claimed_after_an_edit_follows_that_config_even_when_its_hint_was_lost(scene):
    worker = await scene.worker().subscribe()
    scene.engine.queue("before")
    await worker.task()

    scene.engine.edit_config(LEAF, b'{"a":2}', told=False)
    scene.engine.queue("after")
    first, second = await worker.frame(), await worker.frame()

    assert first.config.config == b'{"a":2}'
    assert second.WhichOneof("body") in ("task", "tasks")


@pytest.fixture
def hasty(monkeypatch):
    """What fails is tried again at once."""
    monkeypatch.setattr(ticks, "PAUSE_SECONDS", 0.01)


async def test_an_edit_that_could_not_be_read_is_pushed_as_soon_as_it_can(hasty, scene, until, caplog):
    worker = await scene.worker().subscribe()
    scene.engine.queue("before")
    await worker.task()

    scene.engine.failing = {"default_configs"}
    scene.engine.edit_config(LEAF, b'{"a":2}')
    await until(lambda: "following hints fails" in caplog.text)
    scene.engine.failing = set()

    assert (await worker.next("config")).config == b'{"a":2}'


async def test_tasks_go_back_uncounted_when_their_config_can_not_be_read(hasty, scene):
    worker = await scene.worker().subscribe()
    scene.engine.queue("before")
    await worker.task()

    scene.engine.edit_config(LEAF, b'{"a":2}', told=False)
    scene.engine.failing = {"default_configs"}
    scene.engine.queue("after")
    await scene.engine.until(lambda: scene.engine.released)
    scene.engine.failing = set()

    assert [counted for _, counted in scene.engine.released] == [False] * len(scene.engine.released)
    assert (await worker.next("config")).config == b'{"a":2}'
    assert (await worker.task()).work_req.resource.name == "after"


async def test_the_pull_answers_the_pairs_that_have_a_default_and_leaves_out_the_others(scene):
    scene.engine.edit_config(LEAF, b'{"a":1}')
    client = scene.worker().client

    answer = await client.get_provider_config(pb.GetProviderConfigRequest(kinds=["leaf", "other"], kind_versions=[0]))

    assert [(entry.kind, entry.kind_version, entry.config) for entry in answer.entries] == [("leaf", 1, b'{"a":1}')]
