"""Why a reactor wasn't told: what waits for a binding, and what stands in the way of the first of it."""

import pytest

from stdworker.engine.store.declarations import BindingDeclaration
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.errors import Retry
from stdworker.model.kind import KindVersion, Stage
from tests.unit.engine.conftest import BROKER, reaction

STORES = "both"

PAGER = KindVersion("pager")


@pytest.fixture
def world(world):
    """`page` is told of every leaf that is made, and so is `other`, which watches nothing that happens."""
    world.leaf()
    world.kind("pager", reaction("tell", "reactor", ["sideEffect"]))
    for name, transition in (("page", "created"), ("other", "failed")):
        document = BindingDeclaration(name, "leaf", transition, "pager")
        world.do(world.engine.put_binding(document, "someone"))
    return world


def waiting(world):
    return world.do(world.engine.waiting(["page", "other"]))


def why(world):
    return waiting(world)["page"].reason


def worker(world, *, ready):
    kinds = [ServedRecord(PAGER, ready, "" if ready else "no token", 10)]
    report = WorkerRecord("worker", "1", "host", 1, 0, 0, False, 100, kinds)
    world.do(world.engine.report_member(MemberRecord(BROKER, "1", "host", 1, False, world.clock.ms, [report])))


def test_what_waits_is_counted_with_the_reason_why_nobody_takes_the_first(world):
    assert waiting(world) == {}
    for name in ("a", "b"):
        world.apply("leaf", name)
        world.clock.advance(1)
    begun = world.clock.ms - 2_000

    found = waiting(world)

    assert (found.keys(), found["page"].deliveries) == ({"page"}, 2)
    reason = found["page"].reason
    assert (reason.code, reason.message) == ("no_worker", "no worker that is connected serves pager@1")
    assert (str(reason.about), reason.since_ms) == ("leaf/a", begun)
    assert world.do(world.engine.waiting(["other"])) == {}


def test_a_worker_that_is_not_ready_says_why(world):
    world.apply("leaf", "a")
    worker(world, ready=False)
    assert why(world).message == "no worker is ready for pager@1: no token"
    worker(world, ready=True)
    assert why(world).code == "queued"


def test_the_cap_of_a_kind_that_works_too_holds_up_no_delivery(world):
    tell, make = reaction("tell", "reactor", ["sideEffect"]), reaction("make", "specChange", ["status"])
    world.kind("pager", tell, make, max_inflight=1)
    world.apply("pager", "a")
    world.claim(pairs=[PAGER])
    world.apply("leaf", "a")
    worker(world, ready=True)
    assert why(world).code == "queued"


def test_one_that_runs_is_told_with_its_worker_and_one_that_was_taken_is_not(world):
    world.apply("leaf", "a")
    [claim] = world.claim(pairs=[PAGER])
    assert (why(world).code, why(world).message) == ("running", "the reactor runs on worker")
    world.settle(claim)
    assert waiting(world) == {}


def test_one_that_failed_is_told_with_the_instant_of_the_next_attempt(world):
    def fail(claim):
        raise Retry("busy", after=60)

    world.on("pager", fail, Stage.REACT)
    world.apply("leaf", "a")
    world.work()
    reason = why(world)
    assert (reason.code, reason.hint) == ("retrying", "conctl events leaf/a")
    assert reason.message == "attempt 1 failed; it is tried again by itself"
    assert reason.until_ms == world.clock.ms + 60_000
