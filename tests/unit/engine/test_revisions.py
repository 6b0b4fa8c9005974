"""The specs that a resource has had: which are kept, and how one comes back."""

import pytest

from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.errors import Conflict, Invalid, NotFound
from stdworker.model.json_text import RawJson
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome

STORES = "both"


def history(world, ref, **page):
    return world.do(world.engine.revisions(world.ref(ref), **page))


def generations(world, ref):
    return [row.generation for row in history(world, ref).items]


def spec_at(world, ref, generation):
    return world.do(world.engine.revision(world.ref(ref), generation)).spec


def roll_back(world, ref, generation):
    return world.do(world.engine.roll_back(world.ref(ref), generation, "ada"))


def test_each_spec_is_kept_with_the_generation_since_which_it_was_there_and_who_wrote_it(world, clock):
    world.leaf()
    begun = clock.ms
    world.apply("leaf", "a", {"n": 1})
    clock.advance(60)
    world.apply("leaf", "a", {"n": 2})
    told = [
        (row.generation, row.kind_version, row.spec, row.written_by, row.written_at)
        for row in history(world, "leaf/a").items
    ]
    assert told == [(2, 1, '{"n":2}', "test", begun + 60_000), (1, 1, '{"n":1}', "test", begun)]


def test_a_generation_that_changed_something_else_has_the_spec_before_it(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.again("leaf/a")
    world.apply("leaf", "a", {"n": 2})
    world.again("leaf/a")
    assert [spec_at(world, "leaf/a", g) for g in (1, 2, 3, 4)] == ['{"n":1}', '{"n":1}', '{"n":2}', '{"n":2}']
    assert generations(world, "leaf/a") == [3, 1]


def test_labels_statuses_and_the_same_spec_again_are_no_revision(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 1}, labels={"x": "y"})
    world.on("leaf", lambda claim: Outcome(status={"ok": True}))
    world.work()
    assert generations(world, "leaf/a") == [1]


def test_a_spec_is_kept_token_by_token(world):
    world.leaf()
    first = b'{"n": 1.50, "big": 12345678901234567890123}'
    world.apply("leaf", "a", None)
    for text in (first, b"{}"):
        world.do(world.engine.apply([ApplyDocument("leaf", 1, "a", RawJson(text))], "test"))
    assert spec_at(world, "leaf/a", 2) == first.decode()


def test_a_generation_that_is_not_kept_or_not_there_yet_is_not_found(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    for generation in (0, 2):
        with pytest.raises(NotFound):
            spec_at(world, "leaf/a", generation)
        with pytest.raises(NotFound):
            roll_back(world, "leaf/a", generation)
    with pytest.raises(NotFound, match="no resource"):
        roll_back(world, "leaf/none", 1)


def test_history_is_paged_from_the_live_one_on(world):
    world.leaf()
    for n in range(5):
        world.apply("leaf", "a", {"n": n})
    seen, cursor = [], None
    while True:
        page = history(world, "leaf/a", limit=2, cursor=cursor)
        seen += [row.generation for row in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [5, 4, 3, 2, 1]


def test_as_many_are_kept_as_the_operator_says_of_each_resource_for_itself(world, store, clock):
    world.leaf()

    async def scenario():
        engine = await Engine.open(store, EngineOptions(revisions_keep=3), clock=clock)
        world.engine, before = engine, world.engine
        await before.close()

    world.do(scenario())
    for n in range(6):
        world.apply("leaf", "a", {"n": n})
    world.apply("leaf", "b", {"n": 0})
    world.apply("leaf", "b", {"n": 1})
    assert (generations(world, "leaf/a"), generations(world, "leaf/b")) == ([6, 5, 4], [2, 1])


def test_revisions_go_with_their_resource(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 2})
    world.delete("leaf/a")
    world.work()
    world.apply("leaf", "a", {"n": 3})
    assert generations(world, "leaf/a") == [1]


def test_a_rollback_copies_an_earlier_spec_forward_and_runs_it(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1}, labels={"x": "y"})
    world.apply("leaf", "a", {"n": 2})
    world.work()
    assert roll_back(world, "leaf/a", 1) == 3
    record = world.get("leaf/a")
    assert (record.spec, record.labels, record.phase) == (b'{"n":1}', {"x": "y"}, "Reconciling")
    assert (world.work(), world.phase("leaf/a")) == (["work leaf/a"], "Ready")
    [told] = [event for event in world.events("leaf/a") if event.type == "RolledBack"]
    assert (told.actor, told.detail) == ("ada", {"generation": 3})
    assert [(row.generation, row.written_by) for row in history(world, "leaf/a").items] == [
        (3, "ada"),
        (2, "test"),
        (1, "test"),
    ]


def test_a_rollback_to_what_is_live_changes_nothing(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 2})
    world.apply("leaf", "a", {"n": 1})
    world.work()
    assert [roll_back(world, "leaf/a", generation) for generation in (3, 1)] == [3, 3]
    assert (world.work(), generations(world, "leaf/a")) == ([], [3, 2, 1])


def test_a_rollback_keeps_the_version_and_is_judged_by_its_schema(world):
    world.leaf()
    world.leaf(version=2, spec_schema={"type": "object", "required": ["m"]})
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"m": 1}, version=2)
    with pytest.raises(Invalid) as refused:
        roll_back(world, "leaf/a", 1)
    assert refused.value.code == "schema"
    assert (world.get("leaf/a").generation, world.get("leaf/a").kind_version) == (2, 2)
    assert [row.kind_version for row in history(world, "leaf/a").items] == [2, 1]


def test_a_flip_alone_is_a_revision(world):
    world.leaf()
    world.leaf(version=2)
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 1}, version=2)
    assert [(row.generation, row.kind_version) for row in history(world, "leaf/a").items] == [(2, 2), (1, 1)]


def test_a_rollback_of_what_is_frozen_waits_for_the_release(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 2})
    world.work()
    world.do(world.engine.quarantine(world.ref("leaf/a"), "ada"))
    assert (roll_back(world, "leaf/a", 1), world.work()) == (3, [])
    world.do(world.engine.unquarantine(world.ref("leaf/a"), "ada"))
    assert world.work() == ["work leaf/a"]


def test_a_child_has_a_history_but_only_its_owner_changes_it(world):
    world.leaf()
    world.composite()
    world.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    world.group("g", ["leaf/a", {"n": 1}], ["leaf/b"], edges=[["leaf/b", "leaf/a", [["/from", "/id"]]]])
    world.work()
    world.group("g", ["leaf/a", {"n": 2}], ["leaf/b"], edges=[["leaf/b", "leaf/a", [["/from", "/id"]]]])
    world.work()
    assert [(row.spec, row.written_by) for row in history(world, "leaf/a").items] == [
        ('{"n":2}', "engine"),
        ('{"n":1}', "engine"),
    ]
    assert [row.spec for row in history(world, "leaf/b").items] == ['{"from":"a"}', "{}"]
    with pytest.raises(Conflict, match="group/g"):
        roll_back(world, "leaf/a", 1)


def test_what_is_being_deleted_is_not_rolled_back(world):
    world.leaf()
    world.kind(
        "leaf",
        {"name": "make", "trigger": "specChange", "emits": ["status"]},
        {"name": "unmake", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "leaf"},
    )
    world.apply("leaf", "a", {"n": 1})
    world.apply("leaf", "a", {"n": 2})
    world.delete("leaf/a")
    with pytest.raises(Conflict, match="being deleted"):
        roll_back(world, "leaf/a", 1)
    assert world.claim_one().stage is Stage.DELETE
