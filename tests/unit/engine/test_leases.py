"""Leases: who holds what, what a late result may still do, and what is given back."""

import pytest

from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Condition, Outcome
from stdworker.model.resource import Ref
from stdworker.model.task import Lease

STORES = "both"


@pytest.fixture
def leaf(world):
    world.leaf()
    world.apply("leaf", "a", {"n": 1})
    return world


def attest(world, *leases, broker="broker", worker="worker"):
    return world.do(world.engine.attest(list(leases), broker, worker))


def release(world, *leases, counted, broker="broker"):
    world.do(world.engine.release(list(leases), broker, counted=counted))
    world.rest()


def test_a_result_lands_once(leaf):
    claim = leaf.claim_one()
    assert leaf.settle(claim)
    assert not leaf.settle(claim)


@pytest.mark.parametrize(
    "forged",
    ["", "-", "zz-1", "4", "4-" + "0" * 32, "ffffffffffffffffff-1", "ffffffffffffffff-1", "fffffffffffffff-1", "é-1"],
)
def test_a_forged_lease_changes_nothing(leaf, forged):
    claim = leaf.claim_one()
    for lease in (Lease(forged, claim.lease.epoch), claim.lease._replace(epoch=2)):
        settlement = Settlement(lease, claim.stage)
        assert leaf.do(leaf.engine.settle([settlement])) == [False]
    assert leaf.phase("leaf/a") == "Reconciling"


def test_a_result_of_another_stage_is_stale(leaf):
    claim = leaf.claim_one()
    assert leaf.do(leaf.engine.settle([Settlement(claim.lease, Stage.COMPOSE)])) == [False]


def test_each_stage_has_a_lease_of_its_own(world):
    world.composite("both", {"name": "make", "trigger": "specChange", "emits": ["status"]})
    world.apply("both", "x")
    first = world.claim_one()
    world.answer(first)
    second = world.claim_one()
    assert (first.stage, second.stage) == (Stage.COMPOSE, Stage.WORK)
    assert second.lease.token != first.lease.token
    assert second.lease.epoch == first.lease.epoch + 1
    assert not world.settle(first)


def test_the_next_stage_comes_before_what_was_queued_since(world):
    world.composite("both", {"name": "make", "trigger": "specChange", "emits": ["status"]})
    world.apply("both", "x")
    claim = world.claim_one()
    world.apply("both", "y")
    world.answer(claim)
    assert [c.resource.name for c in world.claim(1)] == ["x"]


def test_tasks_of_a_pair_are_first_come_first_served(world):
    world.leaf()
    for name in "cab":
        world.apply("leaf", name)
    assert [claim.resource.name for claim in world.claim()] == ["c", "a", "b"]


def test_a_want_gets_at_most_its_credit(world):
    world.leaf()
    for name in "abc":
        world.apply("leaf", name)
    assert len(world.claim(2)) == 2
    assert len(world.claim(0)) == 0
    assert len(world.claim(2)) == 1


def test_max_inflight_is_exact_whoever_claims(world):
    world.leaf(max_inflight=3)
    for i in range(10):
        world.apply("leaf", f"r{i}")
    claims = world.claim(2, broker="one") + world.claim(100, broker="two")
    assert len(claims) == 3
    assert world.claim() == []
    world.settle(claims[0])
    assert len(world.claim()) == 1


def test_the_live_policy_and_not_the_manifest_counts(world):
    world.leaf(max_inflight=1)
    world.do(world.engine.set_policy(KindVersion("leaf"), KindPolicy(), "test"))
    world.leaf(max_inflight=1, description="again")
    for i in range(3):
        world.apply("leaf", f"r{i}")
    assert len(world.claim()) == 3


def test_one_task_of_a_resource_is_leased_at_a_time(leaf):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    assert leaf.claim() == []
    leaf.settle(claim)
    assert leaf.claim_one().resource.generation == 2


def test_a_newer_generation_voids_the_lease_and_says_so_once(leaf):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    [void] = leaf.do(leaf.engine.voided("broker"))
    assert void.lease == claim.lease
    assert leaf.do(leaf.engine.voided("broker")) == []


def test_a_superseded_success_still_stores_what_it_saw(leaf):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    leaf.settle(claim, Outcome(status={"made": 1}))
    record = leaf.get("leaf/a")
    assert (record.synced_gen, record.generation, record.status) == (1, 2, b'{"made":1}')
    assert record.phase == "Reconciling"


def test_a_superseded_failure_is_not_the_new_generations(leaf):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    leaf.settle(claim, Outcome(status={"left": 1}), error="boom", terminal=True)
    record = leaf.get("leaf/a")
    assert (record.phase, record.failure_attempts, record.status) == ("Reconciling", 0, b'{"left":1}')
    assert leaf.claim_one().resource.generation == 2


def test_a_status_that_comes_with_a_failure_is_stored(leaf):
    leaf.settle(leaf.claim_one(), Outcome(status={"half": 1}), error="boom")
    assert leaf.get("leaf/a").status == b'{"half":1}'


def test_what_is_given_back_is_not_an_attempt_and_can_be_claimed_at_once(leaf):
    leaf.settle(leaf.claim_one(), error="draining", released=True)
    assert leaf.phase("leaf/a") == "Reconciling"
    assert leaf.get("leaf/a").failure_attempts == 0
    assert leaf.claim_one().lease.epoch == 2


def test_a_superseded_task_that_is_given_back_begins_its_run_anew(world):
    make = {"name": "make", "trigger": "specChange", "emits": ["status"]}
    world.composite("all", make)
    world.apply("all", "x", {"n": 1})
    world.answer(world.claim_one())
    work = world.claim_one()
    world.apply("all", "x", {"n": 2})
    world.settle(work, error="cancelled", released=True)
    assert world.work() == ["compose all/x", "work all/x"]


def test_a_spec_that_changes_between_two_stages_begins_its_run_anew(world):
    world.composite("all", {"name": "make", "trigger": "specChange", "emits": ["status"]})
    world.apply("all", "x", {"n": 1})
    world.settle(world.claim_one(), Outcome(conditions=[Condition("Planned", "True")]))
    world.apply("all", "x", {"n": 2})
    assert world.work() == ["compose all/x", "work all/x"]
    assert [condition.type for condition in world.get("all/x").conditions] == ["Synced", "Ready"]


def test_what_is_given_back_keeps_its_place(leaf):
    leaf.apply("leaf", "b")
    [claim] = leaf.claim(credit=1)
    leaf.settle(claim, error="draining", released=True)
    assert [claim.resource.name for claim in leaf.claim()] == ["a", "b"]


def test_a_lease_that_was_lost_is_a_counted_attempt(leaf):
    claim = leaf.claim_one()
    release(leaf, claim.lease, counted=True)
    record = leaf.get("leaf/a")
    assert (record.phase, record.failure_attempts, record.failure_reason) == ("Failed", 1, "WorkerLost")
    assert not leaf.settle(claim)


def test_a_broker_releases_only_leases_that_it_still_owns(leaf):
    claim = leaf.claim_one()
    assert attest(leaf, claim.lease, broker="other") == []
    release(leaf, claim.lease, counted=False)
    assert leaf.claim() == []
    assert leaf.settle(claim)


def test_attesting_answers_the_leases_that_are_void(leaf):
    claim = leaf.claim_one()
    forged = Lease("4-" + "0" * 32, 1)
    assert attest(leaf, claim.lease, forged) == [forged]


@pytest.mark.parametrize("stream", [{"broker": "other"}, {"worker": "worker again"}])
def test_that_a_lease_was_superseded_is_told_again_on_the_stream_that_it_moves_to(leaf, stream):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    leaf.do(leaf.engine.voided("broker"))  # told on a stream that broke: nobody heard
    assert attest(leaf, claim.lease, **stream) == []
    broker = stream.get("broker", "broker")
    assert [void.lease for void in leaf.do(leaf.engine.voided(broker))] == [claim.lease]
    assert attest(leaf, claim.lease, **{"worker": "worker", **stream}) == []
    assert leaf.do(leaf.engine.voided(broker)) == []
    assert leaf.settle(claim)


def test_who_looks_for_void_leases_is_told_when_one_moves_to_it(leaf):
    claim = leaf.claim_one()
    leaf.apply("leaf", "a", {"n": 2})
    leaf.do(leaf.engine.voided("broker"))

    async def move():
        async with leaf.engine.watch("voided") as watch:
            await leaf.engine.attest([claim.lease], "other", "worker")
            return await watch.next(10)

    assert {hint.topic for hint in leaf.do(move())} == {"voided"}


def test_who_looks_for_void_leases_is_told_when_one_is_superseded(leaf):
    leaf.claim_one()

    async def supersede():
        async with leaf.engine.watch("voided") as watch:
            await leaf.engine.quarantine(Ref("leaf", "a"), "ada")
            return await watch.next(10)

    assert {hint.topic for hint in leaf.do(supersede())} == {"voided"}


def test_progress_is_shown_and_ends_with_the_lease(leaf):
    claim = leaf.claim_one()
    leaf.do(leaf.engine.progress(claim.lease, 0.5, "halfway"))
    work = leaf.get("leaf/a").work
    assert (work.progress, work.progress_message, work.claimed_by, work.worker) == (0.5, "halfway", "broker", "worker")
    release(leaf, claim.lease, counted=False)
    assert leaf.get("leaf/a").work.progress is None


def test_wants_of_several_workers_share_what_there_is(world):
    from stdworker.engine.store.claims import Want

    world.leaf()
    for i in range(5):
        world.apply("leaf", f"r{i}")
    wants = [Want(KindVersion("leaf"), 2, "one"), Want(KindVersion("leaf"), 9, "two")]
    claims = world.do(world.engine.claim(wants, "broker"))
    assert [claim.worker for claim in claims] == ["one", "two", "one", "two", "two"]


def test_a_request_while_the_task_is_leased_runs_it_once_more(leaf):
    claim = leaf.claim_one()
    leaf.do(leaf.engine.put_config(ConfigDeclaration("d", KindVersion("leaf"), is_default=True, bundle=b"x"), "test"))
    leaf.rest()
    assert leaf.settle(claim)
    assert leaf.phase("leaf/a") == "Ready"
    assert leaf.work() == ["work leaf/a"]
    assert leaf.work() == []
