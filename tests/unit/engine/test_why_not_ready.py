"""Why a resource is not Ready: each thing that can stand in the way is told, with what to do about it."""

import pytest

from stdworker.cli.explain_layers import explain_layers
from stdworker.engine.store.declarations import ConfigDeclaration
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.errors import NotFound, Retry, Terminal
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.layers import DEFAULT, OVERRIDE
from stdworker.model.outcome import Condition, Outcome
from tests.unit.engine.conftest import BROKER, COMPOSE, reaction

STORES = "both"

LEAF = KindVersion("leaf")
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}


@pytest.fixture
def world(world):
    world.leaf()
    world.composite()
    return world


def explained(world, ref):
    return world.do(world.engine.explain(world.ref(ref)))


def why(world, ref):
    return [(reason.code, reason.message) for reason in explained(world, ref).reasons]


def only(world, ref):
    [reason] = explained(world, ref).reasons
    return reason


def workers(world, *served, draining=False, unlisted=0, silent=False):
    """A broker reports one worker that serves these: (pair, ready, reason, how many at a time)."""
    kinds = [ServedRecord(pair, ready, reason, most) for pair, ready, reason, most in served]
    worker = WorkerRecord("worker", "1", "host", 1, 0, 0, silent, 100, kinds)
    report = MemberRecord(BROKER, "1", "host", 1, draining, world.clock.ms, [worker] if served else [], unlisted)
    world.do(world.engine.report_member(report))


# ---- nothing, frozen ----


def test_of_what_is_ready_nothing_is_told(world):
    world.apply("leaf", "a")
    world.work()
    assert why(world, "leaf/a") == []


def test_what_is_not_there_is_not_found(world):
    with pytest.raises(NotFound):
        explained(world, "leaf/none")


def test_a_quarantine_is_told_with_who_began_it_and_when(world):
    world.apply("leaf", "a")
    world.work()
    begun = world.clock.ms
    world.do(world.engine.quarantine(world.ref("leaf/a"), "ada"))
    world.clock.advance(60)
    reason = only(world, "leaf/a")
    assert reason.message == "it is quarantined by ada: nothing of it runs until someone releases it"
    assert (reason.code, reason.hint, reason.since_ms) == ("quarantined", "conctl unquarantine leaf/a", begun)
    world.apply("leaf", "a", {"n": 2})
    assert only(world, "leaf/a").message.endswith("and generation 2 waits for that")


def test_an_orphan_is_told_with_its_last_instant(world):
    world.group("g", ["leaf/a"])
    world.work()
    end = world.clock.ms + 60_000
    world.write("UPDATE resources SET frozen_until = :end, wanted = false WHERE kind = 'leaf'", end=end)
    reason = only(world, "leaf/a")
    assert (reason.code, reason.about, reason.until_ms) == ("orphaned", world.ref("group/g"), end)


# ---- failures ----


def test_a_failure_that_is_tried_again_says_when(world):
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="no route", retry_after_ms=30_000)
    reason = only(world, "leaf/a")
    assert (reason.code, reason.message) == ("retrying", "attempt 1 failed: no route")
    assert reason.until_ms == world.clock.ms + 30_000
    assert "conctl reconcile leaf/a" in reason.hint


def test_a_failure_whose_time_has_come_says_what_else_it_waits_for(world):
    world.apply("leaf", "a")
    world.settle(world.claim_one(), error="no route", retry_after_ms=30_000)
    world.clock.advance(60)
    first, second = explained(world, "leaf/a").reasons
    assert (first.code, first.until_ms, second.code) == ("retrying", None, "no_worker")


def test_a_failure_for_good_says_so_and_after_how_many_attempts(world):
    world.leaf("frail", max_transient_attempts=2)
    world.apply("frail", "a")
    for _ in range(2):
        world.clock.advance(600)
        world.settle(world.claim_one(), error="no route")
    reason = only(world, "frail/a")
    assert (reason.code, reason.message) == ("failed", "it failed and is not tried again (after 2 attempts): no route")
    assert "change its spec" in reason.hint


def test_a_composer_that_wants_a_kind_that_is_not_published_waits_for_it(world):
    world.group("g", ["disk/a"])
    world.work()
    assert why(world, "group/g")[1] == ("waits_for_kind", "it runs again once disk@1 is published")


def test_a_composer_that_wants_what_is_someone_elses_waits_until_it_is_gone(world):
    world.apply("leaf", "a")
    world.group("g", ["leaf/a"])
    world.work()
    failed, waits = explained(world, "group/g").reasons
    assert (failed.code, waits.code, waits.about) == ("failed", "waits_for_name", world.ref("leaf/a"))


def test_a_run_that_says_it_is_not_ready_is_quoted(world):
    world.on("leaf", lambda _: Outcome(conditions=[Condition("Ready", "False", "DiskFull", "93 % used")]))
    world.apply("leaf", "a")
    world.work()
    told = "its last run succeeded and says that it is not Ready: DiskFull: 93 % used"
    assert why(world, "leaf/a") == [("unhealthy", told)]


# ---- dependencies ----


def chain(world, **flow):
    """leaf/b takes /url of leaf/a's status to /from."""
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a", [["/from", "/url"]]]])
    world.answer(world.claim_one())


def test_what_waits_for_a_dependency_names_it_and_how_it_stands(world):
    chain(world)
    reason = only(world, "leaf/b")
    assert (reason.code, reason.message) == ("waits_for_dependency", "it waits for leaf/a, which is reconciling")
    assert (reason.about, reason.hint) == (world.ref("leaf/a"), "conctl explain leaf/a")


@pytest.mark.parametrize(
    ("failure", "told"), [(Terminal("no"), "has failed"), (Retry("no"), "has failed"), (None, "is frozen")]
)
def test_what_waits_for_a_dependency_that_is_stuck_says_why(world, failure, told):
    def fail(claim):
        raise failure

    chain(world)
    if failure is None:
        world.do(world.engine.quarantine(world.ref("leaf/a"), "ada"))
        world.rest()
    else:
        world.on("leaf", fail)
        world.answer(world.claim_one())
    assert only(world, "leaf/b").message == f"it waits for leaf/a, which {told}"


def test_what_waits_for_a_dependency_that_is_gone_names_who_makes_it_again(world):
    world.kind("leaf", reaction("make", "specChange", ["status"]), DROP)
    world.group("g", ["leaf/a"])
    world.work()
    world.delete("leaf/a")
    teardown = world.claim_one()
    chain(world)
    world.settle(teardown)
    reason = only(world, "leaf/b")
    told = "it waits for a dependency that is gone, which group/g has to make again or want no more"
    assert (reason.code, reason.message, reason.about) == ("waits_for_dependency", told, world.ref("group/g"))


@pytest.mark.parametrize(("status", "how"), [({"other": 1}, "isn't there"), ({"url": None}, "is null")])
def test_what_waits_for_a_value_names_it_and_where_it_flows(world, status, how):
    chain(world)
    world.settle(world.claim_one(), Outcome(status=status))
    told = f"it waits for the value at /url of the status of leaf/a, which {how}; it flows to /from"
    assert why(world, "leaf/b") == [("waits_for_value", told)]


# ---- workers ----


def test_without_a_worker_for_its_kind_it_says_which_other_versions_are_served(world):
    world.apply("leaf", "a")
    assert only(world, "leaf/a").message == "no worker that is connected serves leaf@1"
    workers(world, (KindVersion("leaf", 2), True, "", 5))
    reason = only(world, "leaf/a")
    assert (reason.code, reason.message) == ("no_worker", "no worker that is connected serves leaf@1, only leaf@2")


def test_a_worker_that_is_not_ready_says_why(world):
    world.apply("leaf", "a")
    workers(world, (LEAF, False, "no such program: geo", 5))
    assert why(world, "leaf/a") == [("worker_not_ready", "no worker is ready for leaf@1: no such program: geo")]
    workers(world, (LEAF, True, "", 5), silent=True)
    assert why(world, "leaf/a") == [("worker_not_ready", "no worker is ready for leaf@1: worker is not heard")]


def test_workers_that_have_no_credit_are_told_with_what_they_run(world):
    for name in "abc":
        world.apply("leaf", name)
    workers(world, (LEAF, True, "", 2))
    assert len(world.claim(2)) == 2
    told = "all workers for leaf@1 are busy with 2 tasks, as many as they take"
    assert why(world, "leaf/c") == [("workers_busy", told)]


def test_the_workers_of_a_broker_that_drains_or_is_lost_do_not_count(world):
    world.apply("leaf", "a")
    workers(world, (LEAF, True, "", 2), draining=True)
    assert only(world, "leaf/a").code == "no_worker"
    workers(world, (LEAF, True, "", 2))
    assert only(world, "leaf/a").code == "queued"
    world.clock.advance(60)
    assert only(world, "leaf/a").code == "no_worker"


def test_what_nobody_can_know_is_not_told(world):
    world.apply("leaf", "a")
    workers(world, unlisted=1)
    assert only(world, "leaf/a").code == "queued"


def test_what_is_queued_says_how_many_come_first(world):
    for name in "abc":
        world.apply("leaf", name)
    workers(world, (LEAF, True, "", 5))
    assert only(world, "leaf/a").message == "it is queued; a worker is about to take it"
    assert only(world, "leaf/c").message == "it is queued behind 2 tasks of leaf@1"


def test_a_kind_at_its_cap_is_told(world):
    world.leaf("rare", max_inflight=2)
    for name in "abc":
        world.apply("rare", name)
    workers(world, (KindVersion("rare"), True, "", 5))
    assert len(world.claim()) == 2
    told = "2 tasks of rare@1 run, as many as its max_inflight allows"
    assert why(world, "rare/c") == [("at_max_inflight", told)]


def test_what_runs_is_told_with_its_worker_since_when_and_how_far(world):
    world.apply("leaf", "a")
    begun = world.clock.ms
    claim = world.claim_one()
    world.clock.advance(30)
    world.do(world.engine.attest([claim.lease], BROKER, "worker"))
    assert only(world, "leaf/a").message == "its work runs on worker"
    world.do(world.engine.progress(claim.lease, 0.5, "copying"))
    reason = only(world, "leaf/a")
    assert (reason.code, reason.message) == ("running", "its work runs on worker (50% copying)")
    assert reason.since_ms == begun


def test_a_task_that_is_told_to_stop_is_told_with_why(world):
    world.apply("leaf", "a")
    world.claim_one()
    world.apply("leaf", "a", {"n": 2})
    told = "its work on worker is told to stop, because generation 2 replaced generation 1"
    assert why(world, "leaf/a") == [("stopping", told)]


def test_a_resource_waits_for_its_operation(world):
    world.leaf()
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("snap", "operation", ["operationOutput"], verb="snap"),
    )
    world.apply("leaf", "a")
    world.work()
    world.operate("leaf/a", "snap")
    world.claim_one()
    world.apply("leaf", "a", {"n": 2})
    assert why(world, "leaf/a") == [("running", "the operation snap runs on worker")]


# ---- children ----


def test_a_composite_names_the_children_that_stand_in_its_way(world):
    world.group("g", ["leaf/a"], ["leaf/b"])
    world.answer(world.claim_one())
    first, second = world.claim()
    world.settle(first, error="db is down", terminal=True)
    reasons = explained(world, "group/g").reasons
    assert [(r.code, r.message, r.about, r.hint) for r in reasons] == [
        ("child_not_ready", "leaf/a: db is down", world.ref("leaf/a"), "conctl explain leaf/a"),
        ("child_not_ready", "leaf/b: Reconciling", world.ref("leaf/b"), "conctl explain leaf/b"),
    ]
    assert second.resource.name == "b"


def test_of_many_children_some_are_named_and_all_are_counted(world):
    world.group("g", *([f"leaf/{i}"] for i in range(9)))
    world.answer(world.claim_one())
    codes = [code for code, _ in why(world, "group/g")]
    assert codes == ["child_not_ready"] * 5 + ["children_not_ready"]
    assert why(world, "group/g")[-1][1] == "9 of its children are not Ready"


def test_a_descendant_deep_below_is_named_rather_than_the_composites_between(world):
    world.group("top", ["group/mid", {"children": [["leaf/a"]]}])
    world.on("leaf", lambda _: Outcome(conditions=[Condition("Ready", "False", "Sick", "db is down")]))
    world.work()
    assert why(world, "group/top")[0] == ("child_not_ready", "leaf/a: db is down")


# ---- deletion ----


@pytest.fixture
def finalized(world):
    world.kind(
        "leaf",
        reaction("make", "specChange", ["status"]),
        reaction("unmake", "deleteRequested", ["finalizer"], finalizer="leaf"),
    )
    return world


def test_a_deletion_waits_for_what_it_owns_and_for_what_depends_on_it(finalized):
    world = finalized
    chain(world)
    world.settle(world.claim_one(), Outcome(status={"url": "x"}))
    world.work()
    world.delete("group/g")
    assert why(world, "group/g") == [
        ("deletion_waits", "its deletion waits until leaf/a, which it owns, is gone"),
        ("deletion_waits", "its deletion waits until leaf/b, which it owns, is gone"),
    ]
    assert why(world, "leaf/a") == [
        ("deletion_waits", "its deletion waits until leaf/b, which depends on it, is gone"),
    ]
    assert [code for code, _ in why(world, "leaf/b")] == ["no_worker"]


def test_a_teardown_that_failed_is_told_with_when_it_is_tried_again_and_the_way_out(finalized):
    world = finalized
    world.apply("leaf", "a")
    world.work()
    world.delete("leaf/a")
    claim = world.claim_one()
    assert claim.stage is Stage.DELETE
    assert why(world, "leaf/a") == [("running", "its teardown runs on worker")]
    world.settle(claim, error="still mounted", retry_after_ms=5_000)
    reason = only(world, "leaf/a")
    assert (reason.code, reason.message) == ("teardown_failed", "attempt 1 of its teardown failed: still mounted")
    assert (reason.until_ms, "--force" in reason.hint) == (world.clock.ms + 5_000, True)


def test_a_deletion_waits_for_the_task_that_still_runs(world):
    world.apply("leaf", "a")
    world.claim_one()
    world.delete("leaf/a")
    told = "its work on worker is told to stop, because the resource is being deleted"
    assert why(world, "leaf/a") == [("stopping", told)]


def test_what_the_engine_has_not_looked_at_yet_is_told_as_that(world):
    world.kind("group", reaction("plan", "specChange", COMPOSE), reaction("sum", "childrenSettled", ["status"]))
    world.apply("leaf", "a")
    world.write("DELETE FROM queue")
    assert [code for code, _ in why(world, "leaf/a")] == ["settling"]


# ---- the config ----


def config(world, name, spec, *, is_default=False):
    world.do(world.engine.put_config(ConfigDeclaration(name, LEAF, is_default, dumps(spec)), "ada"))


def test_the_config_is_told_leaf_by_leaf_with_its_layers_and_without_secrets(world):
    config(world, "base", {"timeout_seconds": 5, "env": {"API_TOKEN": "s3cret-s3cret", "A": "1"}}, is_default=True)
    config(world, "own", {"timeout_seconds": 9, "env": {"API_TOKEN": "another-secret"}})
    world.apply("leaf", "a", provider_config_ref="own")
    told = explained(world, "leaf/a").config
    assert told.names == {"default": "base", "override": "own"}
    assert [(leaf.path, leaf.value, leaf.layer, leaf.replaced) for leaf in told.leaves] == [
        ("/timeout_seconds", b"9", "override", (("default", b"5"),)),
        ("/env/API_TOKEN", b'"***"', "override", (("default", b'"***"'),)),
        ("/env/A", b'"1"', "default", ()),
    ]
    assert told.spec == b'{"timeout_seconds":9,"env":{"API_TOKEN":"***","A":"1"}}'


def test_without_any_config_there_is_none_to_tell(world):
    world.apply("leaf", "a")
    told = explained(world, "leaf/a").config
    assert (told.names, told.leaves, told.spec, told.bundle) == ({}, [], None, None)


def test_the_layers_are_those_that_the_worker_explains(world):
    default = {"timeout_seconds": 5, "settings": {"a": [1], "b": {"token": "s3cret"}}, "limits": {"depth": 9}}
    own = {"settings": {"a": [2], "b": {"c": 1}}, "limits": {}}
    config(world, "base", default, is_default=True)
    config(world, "own", own)
    world.apply("leaf", "a", provider_config_ref="own")
    of_worker = explain_layers(None, dumps(default), dumps(own), program="x", is_sealed=False).leaves
    assert explained(world, "leaf/a").config.leaves == [leaf for leaf in of_worker if leaf.layer in (DEFAULT, OVERRIDE)]
