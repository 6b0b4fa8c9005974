"""Configs that composers emit: owned, selected by children, and there as long as anything refers to them."""

import pytest

from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.errors import Conflict
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, Outcome

STORES = "both"

DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
GRACE = 60


@pytest.fixture
def world(world):
    """A group emits the configs that its spec lists, and has the children that it lists, each with a config or none."""
    world.leaf()
    world.leaf("kept", orphan_grace_secs=GRACE)
    world.kind("vm", MAKE, DROP)
    world.composite()

    def compose(claim):
        spec = claim.resource.spec
        children = [
            ChildSpec(kind, 1, name, {}, provider_config_ref=config)
            for (kind, name), config in ((ref.split("/"), config) for ref, config in spec["children"].items())
        ]
        kinds = {child.provider_config_ref: child.kind for child in children}
        configs = [ProviderConfigSpec(name, kinds.get(name, "leaf"), 1, x) for name, x in spec["configs"].items()]
        return Outcome(children=children, configs=configs, allow_empty=True)

    world.on("group", compose, Stage.COMPOSE)
    return world


def group(world, configs, children, name="g"):
    world.apply("group", name, {"configs": configs, "children": children})


def compose(world):
    world.answer(next(claim for claim in world.claim() if claim.stage == Stage.COMPOSE))


def stored(world):
    return [config.name for config in world.do(world.engine.configs()).items]


def put(world, name, spec=b"{}", kind="leaf"):
    return world.do(world.engine.put_config(ConfigDeclaration(name, KindVersion(kind), spec=RawJson(spec)), "ada"))[0]


# ---- owned and selected ----


def test_configs_that_a_composer_emits_are_owned_selected_and_pruned(world):
    group(world, {"one": {"x": 1}, "two": {}}, {"leaf/a": "one"})
    compose(world)
    assert world.claim_one().override.spec == b'{"x":1}'
    assert str(world.do(world.engine.config("one")).owner) == "group/g"
    with pytest.raises(Conflict, match="the provider config one is owned by group/g"):
        put(world, "one")
    group(world, {"two": {}}, {"leaf/a": "two"})
    compose(world)
    assert stored(world) == ["two"]
    assert world.get("leaf/a").provider_config == "two"


def test_a_config_name_that_someone_else_owns_stops_the_composer(world):
    put(world, "taken")
    group(world, {"taken": {}}, {})
    world.work()
    assert world.get("group/g").failure_message == "the config taken exists and is not owned by group/g"


def test_an_emitted_config_that_changes_runs_its_children_again_at_the_same_generation(world):
    group(world, {"one": {"x": 1}}, {"leaf/a": "one"})
    world.work()
    group(world, {"one": {"x": 2}}, {"leaf/a": "one"})
    assert world.work() == ["compose group/g", "work leaf/a"]
    assert world.get("leaf/a").generation == 1


def test_an_emitted_config_may_change_its_kind_and_nothing_else(world):
    group(world, {"x": {"v": 1}}, {"leaf/a": "x"})
    world.work()
    group(world, {"x": {"v": 1}}, {"vm/b": "x"})
    world.work()
    assert [(config.name, config.pair.kind) for config in world.do(world.engine.configs()).items] == [("x", "vm")]
    assert world.phase("group/g") == "Ready"


def test_a_child_that_gets_another_config_is_a_new_generation(world):
    group(world, {"one": {"x": 1}}, {"leaf/a": "one"})
    world.work()
    group(world, {"two": {"x": 1}}, {"leaf/a": "two"})
    assert world.work() == ["compose group/g", "work leaf/a"]
    assert world.get("leaf/a").generation == 2


def test_a_child_cannot_select_a_config_that_its_composer_emits_no_more(world):
    group(world, {"one": {}}, {"leaf/a": "one"})
    world.work()
    group(world, {}, {"leaf/a": "one"})
    world.work()
    found = world.get("group/g")
    assert found.failure_message == "leaf/a: the provider config one does not exist"
    assert (found.failure_terminal, stored(world)) == (True, ["one"])


# ---- as long as something refers to them ----


@pytest.fixture
def torn_down(world):
    """`vm/a` is dropped together with its config, which is its alone, and waits for its teardown."""
    group(world, {"one": {"x": 1}}, {"vm/a": "one", "leaf/b": None})
    world.work()
    group(world, {}, {"leaf/b": None})
    compose(world)
    return world


def test_a_dropped_child_is_torn_down_with_the_config_that_is_emitted_no_more(torn_down):
    teardown = torn_down.claim_one()
    assert (teardown.stage, teardown.override.spec) == (Stage.DELETE, b'{"x":1}')
    assert stored(torn_down) == ["one"]
    torn_down.answer(teardown)
    assert stored(torn_down) == []


def test_a_composite_that_is_deleted_has_its_children_torn_down_with_its_configs(world):
    group(world, {"one": {"x": 1}, "two": {}}, {"vm/a": "one"})
    world.work()
    world.delete("group/g")
    teardown = world.claim_one()
    assert (teardown.stage, teardown.override.spec) == (Stage.DELETE, b'{"x":1}')
    world.answer(teardown)
    assert (stored(world), world.find()) == ([], [])


def test_a_config_stays_as_long_as_an_orphan_may_come_back_to_it(world):
    group(world, {"one": {}}, {"kept/a": "one"})
    world.work()
    group(world, {}, {})
    world.work()
    assert (world.phase("kept/a"), stored(world)) == ("Orphaned", ["one"])
    world.clock.advance(GRACE)
    world.do(world.engine.ticks.expire())
    world.rest()
    assert stored(world) == []


def test_an_orphan_that_comes_back_to_another_config_leaves_nothing_of_its_old_one(world):
    group(world, {"one": {}}, {"kept/a": "one"})
    world.work()
    group(world, {}, {})
    world.work()
    group(world, {"two": {}}, {"kept/a": "two"})
    world.work()
    assert (world.get("kept/a").provider_config, stored(world)) == ("two", ["two"])


def test_a_config_stays_until_the_last_of_those_that_refer_to_it_has_another(world):
    group(world, {"one": {}}, {"leaf/a": "one"})
    world.work()
    for name in ("x", "y"):
        world.apply("leaf", name, provider_config_ref="one")
    group(world, {}, {})
    world.work()
    world.apply("leaf", "x", provider_config_ref=None)
    assert stored(world) == ["one"]
    world.delete("leaf/y")
    assert stored(world) == []


def test_what_a_person_declared_stays_whoever_refers_to_it(world):
    put(world, "hers")
    world.apply("leaf", "x", provider_config_ref="hers")
    world.delete("leaf/x")
    assert stored(world) == ["hers"]


def test_a_composer_that_emits_a_config_again_takes_it_back(torn_down):
    group(torn_down, {"one": {"x": 1}}, {"leaf/b": None})
    torn_down.work()
    assert (torn_down.exists("vm/a"), stored(torn_down)) == (False, ["one"])


def test_another_composite_takes_the_name_once_nothing_refers_to_it_any_more(torn_down):
    group(torn_down, {"one": {"x": 2}}, {"leaf/c": "one"}, name="h")
    teardown, taking = sorted(torn_down.claim(), key=lambda claim: claim.stage == Stage.COMPOSE)
    torn_down.answer(taking)
    found = torn_down.get("group/h")
    assert found.failure_message.startswith("the config one can't be taken yet: another composite emits it no more")
    assert not found.failure_terminal
    torn_down.answer(teardown)
    torn_down.clock.advance(5)
    assert torn_down.work() == ["compose group/h", "work leaf/c"]
    assert str(torn_down.do(torn_down.engine.config("one")).owner) == "group/h"


@pytest.fixture
def left_behind(world):
    """`leaf/x`, nobody's child, has a config whose composite is gone."""
    group(world, {"one": {"x": 1}}, {})
    world.work()
    world.apply("leaf", "x", provider_config_ref="one")
    world.work()
    world.delete("group/g")
    assert stored(world) == ["one"]
    return world


def test_what_a_composite_left_behind_goes_with_the_last_reference(left_behind):
    assert left_behind.do(left_behind.engine.config("one")).owner is None
    left_behind.delete("leaf/x")
    assert stored(left_behind) == []


def test_what_a_composite_left_behind_belongs_to_the_person_who_declares_it(left_behind):
    assert put(left_behind, "one", b'{"x":1}') == "configured"
    left_behind.delete("leaf/x")
    assert stored(left_behind) == ["one"]


@pytest.mark.parametrize("x", [1, 2])
def test_what_a_composite_left_behind_belongs_to_the_one_that_emits_it(left_behind, x):
    group(left_behind, {"one": {"x": x}}, {})
    assert left_behind.work() == ["compose group/g", *["work leaf/x"] * (x == 2)]
    left_behind.delete("leaf/x")
    assert str(left_behind.do(left_behind.engine.config("one")).owner) == "group/g"
