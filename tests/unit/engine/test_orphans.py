"""Children that a composer drops: frozen for their kind's grace, back if they are emitted again, else gone."""

import pytest

from stdworker.engine.reconcile.batcher import Batcher
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Terminal
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Condition, Outcome
from tests.unit.engine.conftest import COMPOSE, WORK, reaction

STORES = "both"

GRACE = 60


@pytest.fixture
def orphan(world):
    """`leaf/a`, which `group/g` has just dropped; it keeps `leaf/b`."""
    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    world.group("g", ["leaf/a", {"n": 1}], ["leaf/b"])
    world.work()
    world.group("g", ["leaf/b"])
    world.work()
    return world


def expire(world, seconds=GRACE):
    world.clock.advance(seconds)
    world.do(world.engine.ticks.expire())
    world.rest()


def adopt(world, spec=None):
    world.group("g", ["leaf/a", spec or {"n": 1}], ["leaf/b"])
    return world.work()


def types(world, ref):
    return [event.type for event in world.events(ref)]


def test_a_dropped_child_is_orphaned_for_its_grace_and_then_deleted(orphan):
    assert orphan.phase("leaf/a") == "Orphaned"
    assert orphan.phase("group/g") == "Ready"
    expire(orphan, GRACE - 1)
    assert orphan.phase("leaf/a") == "Orphaned"
    expire(orphan, 1)
    assert not orphan.exists("leaf/a")
    assert orphan.phase("group/g") == "Ready"
    assert types(orphan, "leaf/a")[-4:] == ["OrphanExpired", "DeleteRequested", "PhaseChanged", "Deleted"]


def test_what_becomes_of_an_orphan_has_its_owner_neither_compose_nor_roll_up_again(world):
    world.leaf(orphan_grace_secs=GRACE)
    again = [reaction(name, "childrenSettled", emits) for name, emits in (("replan", COMPOSE), ("sum", WORK))]
    world.composite("group", *again)
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.group("g", ["leaf/b"])
    assert world.work() == ["compose group/g", "rollup group/g"]
    expire(world)
    assert (world.exists("leaf/a"), world.work()) == (False, [])


def test_an_orphan_that_is_emitted_again_is_adopted_as_it_was(orphan):
    before = orphan.get("leaf/a")
    assert adopt(orphan) == ["compose group/g"]
    after = orphan.get("leaf/a")
    assert (after.uid, after.generation, after.status) == (before.uid, before.generation, before.status)
    assert after.phase == "Ready"
    assert "Adopted" in types(orphan, "leaf/a")
    expire(orphan)
    assert orphan.exists("leaf/a")


def test_an_orphan_that_is_emitted_again_with_another_spec_runs(orphan):
    assert adopt(orphan, {"n": 2}) == ["compose group/g", "work leaf/a"]
    assert (orphan.phase("leaf/a"), orphan.get("leaf/a").generation) == ("Ready", 2)


def test_an_orphan_that_is_dropped_again_has_its_whole_grace_again(orphan):
    expire(orphan, GRACE - 1)
    adopt(orphan)
    orphan.group("g", ["leaf/b"])
    orphan.work()
    expire(orphan, GRACE - 1)
    assert orphan.phase("leaf/a") == "Orphaned"
    expire(orphan, 1)
    assert not orphan.exists("leaf/a")


def test_composing_again_without_it_does_not_prolong_the_grace(orphan):
    expire(orphan, GRACE - 1)
    orphan.again("group/g")
    orphan.work()
    expire(orphan, 1)
    assert not orphan.exists("leaf/a")


def test_nothing_of_an_orphan_runs_and_what_was_asked_for_runs_when_it_is_adopted(orphan):
    orphan.again("leaf/a")
    assert orphan.work() == []
    default = ConfigDeclaration("d", KindVersion("leaf"), is_default=True, bundle=b"1")
    orphan.do(orphan.engine.put_config(default, "t"))
    assert orphan.work() == ["work leaf/b"]
    assert adopt(orphan) == ["compose group/g", "work leaf/a"]
    assert orphan.phase("leaf/a") == "Ready"


def test_a_task_that_runs_when_its_resource_is_orphaned_is_told_to_stop(world):
    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.answer(world.claim_one())
    claims = {claim.resource.name: claim for claim in world.claim()}
    world.group("g", ["leaf/b"])
    world.answer(world.claim_one())
    [void] = world.do(world.engine.voided("broker"))
    assert void.lease == claims["a"].lease
    world.settle(claims["a"], error="cancelled", released=True)
    world.settle(claims["b"])
    assert (world.work(), world.phase("leaf/a"), world.phase("group/g")) == ([], "Orphaned", "Ready")
    world.group("g", ["leaf/a"], ["leaf/b"])
    assert world.work() == ["compose group/g", "work leaf/a"]


@pytest.mark.parametrize("handler", ["sick", "failed", "unfinished"])
def test_an_orphan_counts_for_its_owner_no_more_and_again_when_it_is_adopted(world, handler):
    def work(claim):
        if claim.resource.name != "a" or handler == "unfinished":
            return Outcome()
        if handler == "failed":
            raise Terminal("no")
        return Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")])

    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.on("leaf", work)
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    if handler == "unfinished":
        world.again("leaf/a")
    world.rest()
    before = world.phase("group/g")
    assert before == ("Reconciling" if handler == "unfinished" else "Degraded")
    world.group("g", ["leaf/b"])
    world.answer(next(claim for claim in world.claim() if claim.stage == "compose"))
    assert world.phase("group/g") == "Ready"
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.answer(world.claim_one())
    assert world.phase("group/g") == before


@pytest.mark.parametrize("children", [[["leaf/b"]], [["leaf/a", {"n": 2}], ["leaf/b"]]])
def test_a_compose_and_its_counts_appear_together(world, monkeypatch, children):
    """Before anything else is looked at: a dropped child doesn't count, a changed one does."""
    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.on("leaf", lambda claim: Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")]))
    world.group("g", ["leaf/a", {"n": 1}], ["leaf/b"])
    world.work()
    world.group("g", *children)
    compose = world.claim_one()
    with monkeypatch.context() as slow:  # the follow-up of the compose has not come yet
        slow.setattr(Batcher, "follow", lambda self: None)
        outcome = world.handlers["group", compose.stage](compose)
        world.do(world.engine.settle([Settlement(compose.lease, compose.stage, outcome)]))
        told = world.condition("group/g", "Ready").message
    world.rest()
    dropped = len(children) == 1
    assert told == ("leaf/b: db is down" if dropped else "")
    assert world.phase("group/g") == ("Degraded" if dropped else "Reconciling")


def test_the_grace_is_that_of_the_version_at_which_the_child_is(world):
    world.leaf(orphan_grace_secs=GRACE)
    world.leaf(version=2)
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.write("UPDATE resources SET kind_version = 2 WHERE name = 'a'")
    world.group("g")
    world.apply("group", "g", {"children": []}, labels={"converge.sh/allow-empty": "true"})
    world.work()
    assert not world.exists("leaf/a")
    assert world.phase("leaf/b") == "Orphaned"


def test_the_grace_is_edited_live(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.do(world.engine.set_policy(KindVersion("leaf"), KindPolicy(orphan_grace_seconds=5), "t"))
    world.group("g", ["leaf/b"])
    world.work()
    assert world.phase("leaf/a") == "Orphaned"
    expire(world, 5)
    assert not world.exists("leaf/a")


def test_an_orphan_that_was_adopted_just_before_its_expiry_stays(orphan, monkeypatch):
    """The list of what has expired is as old as its reading; the decision is not."""
    from stdworker.engine.reconcile import orphans

    [a] = orphan.do(orphan.engine.read(lambda db: db.fetch("SELECT id FROM resources WHERE name = 'a'")))
    monkeypatch.setattr(orphans.nodes, "thawed", lambda db, now, limit: list(a))
    adopt(orphan)
    expire(orphan)
    assert orphan.phase("leaf/a") == "Ready"


def test_an_orphan_can_be_deleted_and_goes_with_its_owner(orphan):
    orphan.delete("group/g")
    assert not orphan.exists("leaf/a")
    assert not orphan.exists("group/g")


def test_a_child_that_is_being_deleted_is_no_orphan_when_it_is_dropped(world):
    unmake = {"name": "unmake", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "leaf"}
    world.kind("leaf", {"name": "make", "trigger": "specChange", "emits": []}, unmake, orphan_grace_secs=GRACE)
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.delete("leaf/a")
    world.group("g", ["leaf/b"])
    assert sorted(world.work()) == ["compose group/g", "delete leaf/a"]
    assert not world.exists("leaf/a")
    assert "Orphaned" not in types(world, "leaf/a")


def test_an_orphan_is_still_its_owners(orphan):
    with pytest.raises(Conflict, match="is owned by group/g"):
        orphan.apply("leaf", "a", {})


def test_an_orphan_that_is_quarantined_is_decided_on_at_its_release(orphan):
    orphan.do(orphan.engine.quarantine(orphan.ref("leaf/a"), "ada"))
    expire(orphan)
    assert orphan.phase("leaf/a") == "Quarantined"
    orphan.do(orphan.engine.unquarantine(orphan.ref("leaf/a"), "ada"))
    orphan.work()
    assert orphan.phase("leaf/a") == "Orphaned"
    expire(orphan)
    assert not orphan.exists("leaf/a")


def test_an_orphan_with_children_of_its_own_takes_them_along_when_it_expires(world):
    world.leaf()
    world.composite("inner", orphan_grace_secs=GRACE)
    world.composite()
    world.group("g", ["inner/i", {"children": [["leaf/deep"]]}], ["leaf/b"])
    world.work()
    world.group("g", ["leaf/b"])
    world.work()
    assert (world.phase("inner/i"), world.phase("leaf/deep")) == ("Orphaned", "Ready")
    expire(world)
    assert not world.exists("inner/i")
    assert not world.exists("leaf/deep")


def test_what_depended_on_an_orphan_runs_without_it(world):
    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.on("leaf", lambda claim: Outcome(status={"id": claim.resource.name}))
    flows = [["/from", "/id"]]
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a", flows]])
    world.work()
    assert world.get("leaf/b").spec.value() == {"from": "a"}
    world.group("g", ["leaf/b"])
    world.work()
    assert (world.phase("leaf/a"), world.phase("leaf/b")) == ("Orphaned", "Ready")
    assert world.get("leaf/b").spec.value() == {}
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a", flows]])
    world.work()
    assert (world.phase("leaf/a"), world.phase("leaf/b")) == ("Ready", "Ready")
    assert world.get("leaf/b").spec.value() == {"from": "a"}


def test_orphans_expire_a_bounded_piece_at_a_time(world, monkeypatch):
    monkeypatch.setattr("stdworker.engine.reconcile.orphans.PIECE_ORPHANS", 2)
    world.leaf(orphan_grace_secs=GRACE)
    world.composite()
    world.group("g", *([f"leaf/n{i}"] for i in range(5)), ["leaf/b"])
    world.work()
    world.group("g", ["leaf/b"])
    world.work()
    left = []
    for seconds in (GRACE, 0, 0):
        expire(world, seconds)
        left.append(len(world.find(phases=["Orphaned"])))
    assert left == [3, 1, 0]


def test_without_a_grace_a_dropped_child_goes_at_once(world):
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.work()
    world.group("g", ["leaf/b"])
    world.work()
    assert not world.exists("leaf/a")
