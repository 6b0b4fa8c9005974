"""Reactors: told of every transition that their bindings watch, at least once, until they have taken it."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile.deliver import ATTEMPTS_MAX
from stdworker.engine.store.declarations import ApplyDocument, BindingDeclaration, ConfigDeclaration
from stdworker.engine.store.records import KindPolicy
from stdworker.errors import Conflict, Invalid, NotFound, Retry, Terminal
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import Condition, Outcome

STORES = "both"

TELL = {"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
PAGER = KindVersion("pager")


class Told(list):
    """What the reactor heard, as `transition kind/name`; it may be made to fail."""

    def __init__(self, world) -> None:
        super().__init__()
        self.claims = []
        self.failure = None
        world.on("pager", self.hear, Stage.REACT)

    def hear(self, claim):
        self.claims.append(claim)
        self.append(f"{claim.transition} {claim.resource.ref}")
        if self.failure:
            raise self.failure
        return Outcome()


@pytest.fixture
def watched(world):
    """The kinds leaf and group, and a reactor kind."""
    world.leaf()
    world.composite()
    world.kind("pager", TELL)
    return world


@pytest.fixture
def told(watched):
    return Told(watched)


def bind(world, watch="leaf", transition="synced", *, reactor="pager", name=None, **more):
    document = BindingDeclaration(name or f"{watch}-{transition}", watch, transition, reactor, **more)
    return world.do(world.engine.put_binding(document, "someone"))


def bind_all(world, *kinds):
    for kind in kinds:
        for transition in Transition:
            bind(world, kind, transition)


def dead(world):
    return world.do(world.engine.dead_letters()).items


def sick(world, *names):
    """From now on these leaves are unhealthy when they are made."""
    world.on("leaf", lambda claim: Outcome(conditions=[Condition("Ready", str(claim.resource.name not in names))]))


def fail(world, failure):
    def work(claim):
        if failure:
            raise failure
        return Outcome()

    world.on("leaf", work)


# ---- what is told ----


def test_a_root_that_is_made_and_synced_is_told_once_for_each(watched, told):
    bind_all(watched, "leaf")
    watched.apply("leaf", "a", {"n": 1})
    watched.work()
    assert sorted(told) == ["created leaf/a", "synced leaf/a"]
    watched.apply("leaf", "a", {"n": 1})
    watched.apply("leaf", "a", labels={"x": "y"})
    watched.work()
    assert len(told) == 2


def test_each_generation_that_is_synced_is_told_and_no_resync_at_the_same_one(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {"n": 1})
    watched.work()
    watched.apply("leaf", "a", {"n": 2})
    watched.work()
    put = watched.engine.put_config(ConfigDeclaration("d", KindVersion("leaf"), is_default=True, bundle=b"x"), "t")
    watched.do(put)
    assert "work leaf/a" in watched.work()
    assert [claim.resource.generation for claim in told.claims] == [1, 2]


def test_a_reactor_is_told_with_the_resource_as_it_was_at_the_crossing(watched, told):
    bind(watched)
    watched.on("leaf", lambda claim: Outcome(status={"made": claim.resource.spec["n"]}))
    first = watched.apply("leaf", "a", {"n": 1.50}, labels={"team": "web"})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    watched.apply("leaf", "a", {"n": 2}, labels={"team": "db"})
    [claim] = watched.claim(pairs=[PAGER])
    resource = claim.resource
    assert (claim.stage, claim.trigger, claim.reaction, claim.pair) == (Stage.REACT, Trigger.REACTOR, "tell", PAGER)
    assert (claim.transition, claim.dedup_token) == ("synced", f"{first.uid}:synced:1:2:leaf-synced")
    assert (resource.uid, resource.kind_version, resource.generation) == (first.uid, 1, 1)
    assert (resource.spec_json, resource.status, resource.labels) == (b'{"n":1.5}', {"made": 1.5}, {"team": "web"})
    assert (resource.phase, resource.is_ready, resource.owner_uid) == ("Ready", True, None)


def test_degraded_and_failed_are_told_of_roots_and_of_children_alike(watched, told):
    bind_all(watched, "leaf", "group")
    sick(watched, "a")
    watched.group("g", ["leaf/a"], ["leaf/b"])
    watched.apply("leaf", "lone", {})
    watched.work()
    assert sorted(t for t in told if t.startswith("degraded")) == ["degraded group/g", "degraded leaf/a"]
    fail(watched, Terminal("no"))
    watched.again("leaf/lone")
    watched.again("leaf/b")
    watched.work()
    assert sorted(t for t in told if t.startswith("failed")) == ["failed leaf/b", "failed leaf/lone"]


def test_a_child_knows_its_owner_and_its_root_at_the_crossing(watched, told):
    bind(watched, transition="created")
    owner = watched.group("g", ["leaf/a"])
    watched.work()
    [claim] = told.claims
    assert (claim.resource.owner_uid, claim.resource.root_uid) == (owner.uid, owner.uid)


def test_entering_a_phase_again_is_another_crossing_and_staying_in_it_is_none(watched, told):
    bind(watched, transition="failed")
    fail(watched, Retry("not yet"))
    watched.apply("leaf", "a", {})
    for _ in range(4):
        watched.work()
        watched.clock.advance(400)
    assert told == ["failed leaf/a"]
    fail(watched, None)
    watched.work()
    fail(watched, Retry("again"))
    watched.again("leaf/a")
    watched.work()
    assert told == ["failed leaf/a", "failed leaf/a"]
    tokens = [claim.dedup_token for claim in told.claims]
    assert len({*tokens}) == 2


def test_a_failure_that_follows_another_in_one_transaction_is_no_other_crossing(watched, told):
    """A value that never fitted becomes another one that doesn't fit: Failed was not left in between."""
    watched.leaf("vm", spec_schema={"properties": {"id": {"type": "string"}}})
    watched.on("leaf", lambda claim: Outcome(status={"id": claim.resource.generation}))
    bind(watched, "vm", "failed")
    watched.group("g", ["leaf/n"], ["vm/v"], edges=[["vm/v", "leaf/n", [["/id", "/id"]]]])
    watched.work()
    watched.again("leaf/n")
    watched.work()
    record = watched.get("vm/v")
    assert (record.phase, record.generation, record.spec) == ("Failed", 3, b'{"id":2}')
    assert told == ["failed vm/v"]


def test_the_removal_of_a_whole_composite_is_told_for_each_of_it_with_what_it_was(watched, told):
    watched.kind("leaf", MAKE, DROP)
    bind(watched, "leaf", "deleted")
    bind(watched, "group", "deleted")
    watched.on("leaf", lambda claim: Outcome(status={"ip": 7}))
    watched.group("g", ["leaf/a", {"n": 1}], ["leaf/b"])
    watched.work()
    watched.delete("group/g")
    watched.work()
    assert sorted(told) == ["deleted group/g", "deleted leaf/a", "deleted leaf/b"]
    last = next(claim.resource for claim in told.claims if claim.resource.name == "a")
    assert (last.spec, last.status, last.phase) == ({"n": 1}, {"ip": 7}, "Deleting")
    assert not watched.exists("leaf/a")


def test_a_composite_is_told_as_synced_when_its_last_child_has_settled(watched, told):
    bind(watched, "group")
    watched.group("g", ["leaf/a"], ["leaf/b"])
    watched.answer(watched.claim_one())
    first, second = watched.claim()
    watched.answer(first)
    assert watched.claim(pairs=[PAGER]) == []
    watched.answer(second)
    assert watched.work() == ["react group/g"]


def test_a_generation_that_was_replaced_while_it_ran_is_not_told_as_synced(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {"n": 1})
    claim = watched.claim_one()
    watched.apply("leaf", "a", {"n": 2})
    watched.settle(claim)
    watched.work()
    assert [claim.resource.generation for claim in told.claims] == [2]


def test_a_resource_that_is_deleted_meanwhile_is_not_told_as_synced(watched, told):
    watched.kind("leaf", MAKE, DROP)
    bind_all(watched, "leaf")
    watched.apply("leaf", "a", {})
    [claim] = watched.claim(pairs=[KindVersion("leaf")])
    watched.delete("leaf/a")
    watched.answer(claim)
    watched.work()
    assert told == ["created leaf/a", "deleted leaf/a"]


def test_labels_and_versions_of_a_binding_choose_whom_it_watches(watched, told):
    watched.leaf(version=2)
    bind(watched, name="web", label_match={"team": "web"})
    bind(watched, name="two", watch_kind_version=2)
    watched.apply("leaf", "a", {}, labels={"team": "web", "tier": "1"})
    watched.apply("leaf", "b", {}, labels={"team": "db"})
    watched.apply("leaf", "c", {}, version=2)
    watched.work()
    assert sorted((c.dedup_token.rpartition(":")[2], c.resource.name) for c in told.claims) == [
        ("two", "c"),
        ("web", "a"),
    ]


def test_a_crossing_raises_the_number_of_the_resource_whether_it_is_watched_or_not(watched, told):
    watched.apply("leaf", "a", {"n": 1})
    watched.work()
    bind(watched)
    watched.apply("leaf", "a", {"n": 2})
    watched.work()
    assert [claim.dedup_token.split(":")[2:4] for claim in told.claims] == [["2", "3"]]


def test_a_dry_run_tells_nobody(watched, told):
    bind_all(watched, "leaf")
    watched.do(watched.engine.apply([ApplyDocument("leaf", 1, "a")], "test", dry_run=True))
    assert watched.work() == []


# ---- delivery ----


def test_what_is_told_waits_until_a_worker_of_the_reactor_is_there(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    watched.clock.advance(100_000)
    assert watched.claim(pairs=[KindVersion("leaf")]) == []
    assert watched.do(watched.engine.delivery_counts()) == {"waiting": 1, "dead": 0}
    assert watched.work() == ["react leaf/a"]
    assert watched.work() == []
    assert watched.do(watched.engine.delivery_counts()) == {"waiting": 0, "dead": 0}


def test_reactors_are_told_in_the_order_of_the_crossings(watched, told):
    bind(watched)
    for n in range(5):
        watched.apply("leaf", f"l{n}", {})
        watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    assert [claim.resource.name for claim in watched.claim(3, pairs=[PAGER])] == ["l0", "l1", "l2"]
    assert [claim.resource.name for claim in watched.claim(3, pairs=[PAGER])] == ["l3", "l4"]


def test_the_cap_of_a_kind_does_not_count_what_its_reactor_is_told(watched, told):
    watched.kind("both", MAKE, TELL, max_inflight=1)
    both = KindVersion("both")
    bind(watched, "leaf", "created", reactor="both")

    def stages():
        return [claim.stage for claim in watched.claim(10, pairs=[both])]

    watched.apply("leaf", "first", {})
    assert stages() == ["react"]
    for n in range(3):
        watched.apply("both", f"b{n}", {})
        watched.apply("leaf", f"l{n}", {})
    assert sorted(stages()) == ["react", "react", "react", "work"]
    assert stages() == []


def test_a_kind_that_makes_and_reacts_takes_both_in_the_order_in_which_they_came(watched, told):
    watched.kind("both", MAKE, TELL)
    both = KindVersion("both")
    bind(watched, "leaf", "created", reactor="both")
    watched.apply("both", "first", {})
    watched.apply("leaf", "second", {})
    watched.apply("both", "third", {})
    names = [watched.claim(1, pairs=[both])[0].resource.name for _ in range(3)]
    assert names == ["first", "second", "third"]


def test_a_failed_delivery_is_tried_again_on_the_curve_of_retries_with_the_same_token(watched, told):
    bind(watched)
    told.failure = Retry("no route")
    watched.apply("leaf", "a", {})
    watched.work()
    assert told == ["synced leaf/a"]
    watched.clock.advance(2)
    told.failure = Retry("wait", after=60)
    assert watched.work() == ["react leaf/a"]
    watched.clock.advance(59)
    assert watched.work() == []
    told.failure = None
    watched.clock.advance(2)
    assert watched.work() == ["react leaf/a"]
    assert len({claim.dedup_token for claim in told.claims}) == 1
    assert [(e.type, e.reason) for e in watched.events() if e.type.startswith("Delivery")] == [
        ("DeliveryFailed", "ReactorFailed"),
        ("DeliveryFailed", "ReactorFailed"),
    ]
    watched.clock.advance(100_000)
    assert (watched.work(), dead(watched)) == ([], [])


@pytest.mark.parametrize("limit", [0, 3])
def test_a_delivery_is_given_up_after_the_attempts_that_its_reactor_has(watched, told, limit):
    watched.do(watched.engine.set_policy(PAGER, KindPolicy(max_transient_attempts=limit), "test"))
    bind(watched)
    told.failure = Retry("no route", reason="Unreachable")
    watched.apply("leaf", "a", {"n": 1})
    for _ in range(ATTEMPTS_MAX + 5):
        watched.work()
        watched.clock.advance(400)
    assert len(told) == (limit or ATTEMPTS_MAX)
    [letter] = dead(watched)
    assert (letter.reason, letter.message, letter.attempts) == ("Unreachable", "no route", len(told))
    assert (letter.binding, letter.kind, letter.name, letter.spec) == ("leaf-synced", "leaf", "a", '{"n":1}')
    assert [e.type for e in watched.events()].count("DeliveryGivenUp") == 1


def test_a_terminal_failure_gives_a_delivery_up_at_once_and_the_resource_is_none_the_worse(watched, told):
    bind(watched)
    told.failure = Terminal("no such channel")
    watched.apply("leaf", "a", {})
    watched.work()
    assert [letter.attempts for letter in dead(watched)] == [1]
    assert watched.phase("leaf/a") == "Ready"


def test_a_dead_letter_that_is_retried_is_told_again_with_the_same_token(watched, told):
    bind(watched)
    told.failure = Terminal("no such channel")
    watched.apply("leaf", "a", {"n": 1})
    watched.work()
    watched.delete("leaf/a")
    [letter] = dead(watched)
    was = watched.do(watched.engine.retry_dead_letter(letter.id, "someone"))
    assert (was.message, dead(watched)) == ("no such channel", [])
    told.failure = None
    assert watched.work() == ["react leaf/a"]
    assert told.claims[0].dedup_token == told.claims[1].dedup_token
    assert told.claims[1].resource.spec == {"n": 1}
    assert dead(watched) == []
    with pytest.raises(NotFound, match="no dead letter"):
        watched.do(watched.engine.retry_dead_letter(letter.id, "someone"))
    [event] = [event for event in watched.events() if event.type == "DeliveryRetried"]
    assert event.actor == "someone"


def test_a_retried_dead_letter_has_all_its_attempts_again(watched, told):
    watched.do(watched.engine.set_policy(PAGER, KindPolicy(max_transient_attempts=2), "test"))
    bind(watched)
    told.failure = Retry("no")
    watched.apply("leaf", "a", {})
    for _ in range(2):
        for _ in range(3):
            watched.work()
            watched.clock.advance(400)
        [letter] = dead(watched)
        watched.do(watched.engine.retry_dead_letter(letter.id, "someone"))
    assert len(told) == 4


def test_a_lease_that_is_given_back_costs_no_attempt_and_one_whose_worker_is_lost_does(watched, told):
    watched.do(watched.engine.set_policy(PAGER, KindPolicy(max_transient_attempts=1), "test"))
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    claim = watched.claim_one()
    assert watched.settle(claim, error="drained", released=True)
    claim = watched.claim_one()
    watched.do(watched.engine.release([claim.lease], "broker", counted=False))
    claim = watched.claim_one()
    assert dead(watched) == []
    watched.do(watched.engine.release([claim.lease], "broker", counted=True))
    assert [letter.reason for letter in dead(watched)] == ["WorkerLost"]


def test_a_result_for_a_delivery_lands_once_and_through_any_broker(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    old = watched.claim(pairs=[PAGER], broker="one")[0]
    assert watched.do(watched.engine.attest([old.lease], "two", "worker")) == []
    watched.do(watched.engine.release([old.lease], "one", counted=False))  # no longer its own
    watched.do(watched.engine.release([old.lease], "two", counted=False))
    new = watched.claim_one()
    assert not watched.settle(old)
    assert watched.settle(new)
    assert not watched.settle(new)
    assert watched.work() == []


def test_what_a_reactor_hands_back_is_dropped_with_a_warning(watched, told):
    bind(watched)
    watched.on("pager", lambda claim: Outcome(status={"x": 1}), Stage.REACT)
    watched.apply("leaf", "a", {})
    watched.work()
    assert watched.get("leaf/a").status is None
    assert [(e.type, e.reason) for e in watched.events() if e.type == "Warning"] == [("Warning", "EmitDropped")]


# ---- bindings ----


def test_a_binding_that_is_switched_off_or_deleted_tells_what_waits_and_nothing_more(watched, told):
    bind(watched, name="off")
    bind(watched, name="gone")
    watched.apply("leaf", "a", {"n": 1})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    bind(watched, name="off", enabled=False)
    watched.do(watched.engine.delete_binding("gone", "someone"))
    watched.apply("leaf", "a", {"n": 2})
    watched.work()
    assert [claim.resource.generation for claim in told.claims] == [1, 1]
    bind(watched, name="off", enabled=True)
    watched.apply("leaf", "a", {"n": 3})
    watched.work()
    assert [claim.resource.generation for claim in told.claims] == [1, 1, 3]


def test_a_binding_is_created_changed_and_left_alone_and_who_did_it_is_kept(watched):
    assert bind(watched)[0] == "created"
    assert bind(watched)[0] == "unchanged"
    assert bind(watched, label_match={"b": "1", "a": "2"})[0] == "configured"
    assert bind(watched, label_match={"a": "2", "b": "1"})[0] == "unchanged"
    watched.do(watched.engine.delete_binding("leaf-synced", "other"))
    with pytest.raises(NotFound):
        watched.do(watched.engine.delete_binding("leaf-synced", "other"))
    told = [(e.type, e.actor) for e in watched.events() if e.type.startswith("Binding")]
    assert told == [("BindingCreated", "someone"), ("BindingChanged", "someone"), ("BindingDeleted", "other")]


@pytest.mark.parametrize(
    ("document", "place", "complaint"),
    [
        (BindingDeclaration("b", "leaf", "ready", "pager"), "/transition", "one of created, synced, degraded, failed"),
        (BindingDeclaration("b", "leef", "synced", "pager"), "/watch_kind", "leef is not published"),
        (BindingDeclaration("b", "pager", "synced", "pager"), "/watch_kind", "reactor kind"),
        (BindingDeclaration("b", "leaf", "synced", "pager", 7), "/watch_kind_version", "it has 1"),
        (BindingDeclaration("b", "leaf", "synced", "leaf"), "/reactor", "no reaction with the trigger reactor"),
        (BindingDeclaration("b", "leaf", "synced", "none"), "/reactor", "none is not published; publish it"),
        (BindingDeclaration("b", "leaf", "synced", "pager", None, 7), "/reactor_version", "it does at 1"),
        (BindingDeclaration("-", "leaf", "synced", "pager"), "/name", "is not a name"),
        (BindingDeclaration("b", "leaf", "synced", "pager", label_match={"a": "x" * 300}), "/label_match/a", "253"),
    ],
)
def test_a_binding_that_could_not_work_is_refused_with_what_to_do(watched, document, place, complaint):
    with pytest.raises(Invalid, match=complaint) as refused:
        watched.do(watched.engine.put_binding(document, "test"))
    assert [path for path, _ in refused.value.violations] == [place]


def test_a_reactor_kind_has_no_resources(watched):
    with pytest.raises(Invalid, match="reactor kind") as refused:
        watched.apply("pager", "p", {})
    assert refused.value.code == "reactor_kind"


# ---- versions ----


def test_the_newest_version_of_a_reactor_takes_what_waits_unless_the_binding_names_one(watched, told):
    bind(watched, name="newest")
    bind(watched, name="first", reactor_version=1)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    watched.kind("pager", TELL, version=2)
    watched.apply("leaf", "b", {})
    watched.work()
    heard = sorted((c.pair.version, c.resource.name, c.dedup_token.rpartition(":")[2]) for c in told.claims)
    assert heard == [(1, "a", "first"), (1, "b", "first"), (2, "a", "newest"), (2, "b", "newest")]


def test_a_delivery_that_ran_when_a_newer_version_came_is_tried_again_there(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    claim = watched.claim_one()
    watched.kind("pager", TELL, version=2)
    watched.settle(claim, error="no", retry_after_ms=1)
    watched.clock.advance(1)
    assert watched.claim_one().pair == KindVersion("pager", 2)


def test_a_version_that_a_binding_needs_is_neither_deleted_nor_published_without_its_reaction(watched):
    watched.leaf(version=2)
    bind(watched, name="b", watch_kind_version=2)
    for pair in (PAGER, KindVersion("leaf", 2)):
        with pytest.raises(Conflict, match="binding b") as refused:
            watched.do(watched.engine.delete_kind(pair, "test"))
        assert refused.value.code == "kind_in_use"
    with pytest.raises(Conflict, match="binding b"):
        watched.kind("pager", MAKE)
    watched.do(watched.engine.delete_binding("b", "test"))
    watched.do(watched.engine.delete_kind(PAGER, "test"))
    watched.do(watched.engine.delete_kind(KindVersion("leaf", 2), "test"))


def test_a_version_goes_when_another_one_can_take_what_waits_for_it(watched, told):
    watched.kind("pager", TELL, version=2)
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    watched.do(watched.engine.delete_kind(KindVersion("pager", 2), "test"))
    watched.pairs.remove(KindVersion("pager", 2))
    assert watched.work() == ["react leaf/a"]
    assert told.claims[0].pair == PAGER


def test_a_version_stays_while_deliveries_wait_for_it_or_run(watched, told):
    bind(watched)
    watched.apply("leaf", "a", {})
    watched.answer(watched.claim(pairs=[KindVersion("leaf")])[0])
    watched.do(watched.engine.delete_binding("leaf-synced", "test"))

    def delete():
        watched.do(watched.engine.delete_kind(PAGER, "test"))

    with pytest.raises(Conflict, match="has not taken yet"):
        delete()
    claim = watched.claim_one()
    with pytest.raises(Conflict, match="has not taken yet"):
        delete()
    watched.settle(claim)
    delete()


def test_a_dead_letter_whose_reactor_is_gone_can_not_be_retried_until_it_is_back(watched, told):
    bind(watched)
    told.failure = Terminal("no")
    watched.apply("leaf", "a", {})
    watched.work()
    watched.do(watched.engine.delete_binding("leaf-synced", "test"))
    watched.do(watched.engine.delete_kind(PAGER, "test"))
    [letter] = dead(watched)
    with pytest.raises(Conflict, match="pager is not published"):
        watched.do(watched.engine.retry_dead_letter(letter.id, "test"))
    watched.kind("pager", TELL)
    watched.do(watched.engine.retry_dead_letter(letter.id, "test"))
    assert watched.work() == ["react leaf/a"]


# ---- what is kept ----


def test_dead_letters_go_with_age_and_are_paged_the_newest_first(watched, told):
    bind(watched)
    told.failure = Terminal("no")
    for n in range(3):
        watched.apply("leaf", f"l{n}", {})
        watched.work()
        watched.clock.advance(3600)
    page = watched.do(watched.engine.dead_letters(limit=2))
    rest = watched.do(watched.engine.dead_letters(limit=2, cursor=page.cursor))
    assert [[row.name for row in found.items] for found in (page, rest)] == [["l2", "l1"], ["l0"]]
    assert rest.cursor is None
    watched.clock.advance(720 * 3600 - 2.5 * 3600)
    watched.do(watched.engine.ticks.prune())
    assert [row.name for row in dead(watched)] == ["l2", "l1"]
