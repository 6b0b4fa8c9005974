"""Default and override together keep the config schema, judged for each task."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion

STORES = "both"

SCHEMA = {"required": ["region"], "properties": {"region": {"type": "string"}, "size": {"type": "integer"}}}


def put(world, name, spec, *, is_default=False):
    world.do(world.engine.put_config(ConfigDeclaration(name, KindVersion("leaf"), is_default, RawJson(spec)), "t"))


@pytest.fixture
def leaf(world):
    """`leaf/a` has the override `small`, which leaves the region to the default."""
    world.leaf(config_schema=SCHEMA)
    put(world, "small", b'{"size":1}')
    world.apply("leaf", "a", provider_config_ref="small")
    return world


def test_what_an_override_leaves_out_may_come_from_the_default(leaf):
    put(leaf, "d", b'{"region":"eu"}', is_default=True)
    assert leaf.work() == ["work leaf/a"]
    assert leaf.phase("leaf/a") == "Ready"


def test_a_config_that_is_not_whole_with_its_default_fails_the_task_before_a_worker_has_it(leaf):
    assert leaf.work() == []
    found = leaf.get("leaf/a")
    assert (found.phase, found.failure_reason, found.failure_terminal) == ("Failed", "BadConfig", True)
    assert "region" in found.failure_message
    assert leaf.claim() == []


def test_the_edit_that_mends_the_config_runs_the_resource_again(leaf):
    leaf.work()
    put(leaf, "d", b'{"region":"eu"}', is_default=True)
    assert leaf.work() == ["work leaf/a"]
    assert leaf.phase("leaf/a") == "Ready"


def test_a_task_without_an_override_is_not_held_to_what_only_a_default_must_keep(leaf):
    leaf.apply("leaf", "b")
    assert leaf.work() == ["work leaf/b"]


def test_a_refused_task_takes_no_workers_credit_from_the_next(leaf):
    leaf.apply("leaf", "b")
    assert [claim.resource.name for claim in leaf.claim(1)] + [c.resource.name for c in leaf.claim(1)] == ["b"]


def test_a_teardown_is_tried_with_what_config_there_is(world):
    drop = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "f"}
    make = {"name": "make", "trigger": "specChange", "emits": ["status"]}
    world.kind("leaf", make, drop, config_schema=SCHEMA)
    put(world, "small", b'{"size":1}')
    world.apply("leaf", "a", provider_config_ref="small")
    world.work()
    world.delete("leaf/a")
    assert world.work() == ["delete leaf/a"]
