"""Transactions on Postgres that meet: each takes its locks in one order, so that nobody waits in a circle.

Where one waits, what it would lock later must be free; what was decided before the wait is decided again after it.
"""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import schedule, verbs
from stdworker.engine.reconcile.batcher import Verb
from stdworker.engine.reconcile.unit import Named
from stdworker.engine.store import catalog, edges, events, members, nodes, tasks
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.contract import Contended
from stdworker.engine.store.declarations import KindDeclaration
from stdworker.engine.store.members import MemberRecord
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.rows import RECONCILE, ConfigRow, EdgeRow, Node, TaskRow, task_id
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref
from stdworker.model.task import Lease

pytestmark = pytest.mark.postgres

OWNER, CHILD, BELOW, ALONE, LATER = 1, 2, 3, 4, 5
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "status"]}
GROUP = {"kind": "leaf", "kind_version": 1, "reactions": [PLAN]}


def lease(resource):
    return Lease(f"{task_id(resource, RECONCILE):x}-token", 1)


def row(resource, stage):
    leased = {"token": lease(resource).token, "epoch": 1, "stage": stage, "claimed_by": "broker", "generation": 1}
    return TaskRow(task_id(resource, RECONCILE), resource, "leaf", 1, 0, **leased)


def node(number, name, owner=None):
    return Node(number, name, "leaf", name, owner, OWNER if owner else None, 0, 1, None)


@pytest.fixture
def database(postgres_url):
    """An owner with a child, which has one below it, and one alone; the owner is composed, the others work."""
    opened = PostgresDatabase(postgres_url)
    connection = opened.connect()
    connection.begin()
    made = [node(OWNER, "a"), node(CHILD, "b", OWNER), node(BELOW, "e", CHILD), node(ALONE, "c")]
    nodes.add(connection, made)
    tasks.save(connection, [row(OWNER, Stage.COMPOSE), row(CHILD, Stage.WORK), row(ALONE, Stage.WORK)])
    connection.commit()
    connection.close()
    return opened


def publish(transact, other, kind):
    other.commit()
    transact(verbs.PUBLISH_KIND, ("ada", KindDeclaration(kind), None, True))
    other.begin()


def is_free(connection, resource):
    return nodes.lock_free(connection, resource) is not None


def deleting(connection):
    asked = "SELECT id FROM resources WHERE deletion_requested_at IS NOT NULL ORDER BY id"
    return [row[0] for row in connection.fetch(asked)]


def test_results_wait_for_a_composites_children_before_they_hold_what_comes_after_them(other, beside, transact):
    nodes.lock(other, [CHILD])
    results = [Settlement(lease(OWNER), Stage.COMPOSE, Outcome()), Settlement(lease(ALONE), Stage.WORK, Outcome())]
    beside(lambda db: transact(verbs.SETTLE, results, on=db))
    assert is_free(other, ALONE)
    other.commit()


def test_what_goes_with_a_dropped_child_is_not_waited_for_by_who_holds_what_comes_after(other, beside, transact):
    publish(transact, other, GROUP)
    nodes.lock(other, [BELOW])
    composed = Settlement(lease(OWNER), Stage.COMPOSE, Outcome(allow_empty=True))
    settled = beside(lambda db: transact(verbs.SETTLE, [composed, Settlement(lease(ALONE), Stage.WORK)], on=db))
    assert is_free(other, ALONE)
    other.commit()
    assert settled.ended() == [[True, True]]
    assert deleting(other) == [CHILD, BELOW]


def test_a_release_from_quarantine_lets_the_child_go_while_it_waits_for_its_owner(other, beside, transact):
    other.run("UPDATE resources SET frozen_until = :forever WHERE name = 'b'", forever=FOREVER_MS)
    other.commit()
    other.begin()
    nodes.lock(other, [OWNER])
    released = beside(lambda db: transact(verbs.UNQUARANTINE, ("ada", Ref("leaf", "b")), on=db))
    assert is_free(other, CHILD)
    other.commit()
    assert released.ended() == [None]
    assert other.fetch("SELECT frozen_until FROM resources WHERE name = 'b'") == [(None,)]


def test_a_deletion_lets_its_target_go_while_it_waits_for_a_dependent_that_came_before(other, beside, transact):
    edges.save(other, [EdgeRow(CHILD, ALONE, OWNER)])
    other.commit()
    other.begin()
    nodes.lock(other, [CHILD])
    deletion = beside(lambda db: transact(verbs.DELETE, ("ada", Ref("leaf", "c"), False, None), on=db))
    assert is_free(other, ALONE)
    other.commit()
    assert [doomed.dependents for doomed in deletion.ended()] == [2]
    assert deleting(other) == [CHILD, BELOW, ALONE]


def test_leases_that_several_calls_give_back_are_locked_as_one(other, beside, transact):
    nodes.lock(other, [CHILD])
    calls = [("broker", [lease(ALONE)], False), ("broker", [lease(CHILD)], False)]
    beside(lambda db: transact(verbs.RELEASE, *calls, on=db))
    assert is_free(other, ALONE)
    other.commit()


def test_what_is_made_below_while_a_deletion_waits_is_deleted_with_it(other, beside, transact):
    nodes.lock(other, [CHILD])
    deletion = beside(lambda db: transact(verbs.DELETE, ("ada", Ref("leaf", "a"), False, None), on=db))
    nodes.add(other, [node(LATER, "d", CHILD)])
    other.commit()
    deletion.ended()
    assert deleting(other) == [OWNER, CHILD, BELOW, LATER]


def test_of_two_that_take_the_last_references_to_a_config_away_the_second_one_removes_it(other, beside, transact):
    catalog.save_config(other, ConfigRow("c", "leaf", 1, False, None, None, OWNER, 1, 0, 0, wanted=False))
    other.run("UPDATE resources SET provider_config = 'c' WHERE id IN (:child, :alone)", child=CHILD, alone=ALONE)
    other.run("DELETE FROM queue")
    other.commit()
    transact(verbs.DELETE, ("ada", Ref("leaf", "c"), True, None))
    other.begin()
    nodes.remove(other, [CHILD])
    catalog.drop_configs(other, ["c"])
    second = beside(lambda db: transact(verbs.FOLLOW_UP, None, on=db))
    other.commit()
    second.ended()
    assert other.fetch("SELECT name FROM provider_configs") == []


def test_events_have_their_places_in_the_order_in_which_they_are_seen(other, beside, transact):
    """Who has seen one will see none that is earlier."""
    events.add(other, [events.EventRow("leaf", None, None, "First", "", "", "ada", "{}", 0)] * 2)
    tell = Verb("tell", lambda uow, calls: [uow.audit(Named("leaf", None), "Second") for _ in calls])
    later = beside(lambda db: transact(tell, None, on=db))
    other.commit()
    later.ended()
    assert other.fetch("SELECT type FROM events ORDER BY seq") == [("First",), ("First",), ("Second",)]


@pytest.mark.parametrize("decided", ["frozen_until = NULL, wanted = true", "frozen_until = 9000000000000"])
def test_an_orphan_on_whom_was_decided_anew_while_its_expiry_waited_stays(other, beside, transact, decided):
    """It was emitted again, or emitted again and dropped again."""
    other.run("UPDATE resources SET frozen_until = 0, wanted = false WHERE id = :id", id=CHILD)
    other.commit()
    other.begin()
    other.run(f"UPDATE resources SET {decided} WHERE id = :id", id=CHILD)
    expiry = beside(lambda db: transact(verbs.EXPIRE, None, on=db))
    other.commit()
    expiry.ended()
    assert deleting(other) == []


def test_a_claim_that_finds_nothing_to_run_waits_for_nobody_and_ends_it_the_next_time(other, transact):
    publish(transact, other, {**GROUP, "reactions": []})
    tasks.save(other, [TaskRow(task_id(ALONE, RECONCILE), ALONE, "leaf", 1, 0, reasons=schedule.CONFIG)])
    other.commit()
    other.begin()
    nodes.lock(other, [ALONE])
    left = "SELECT count(*) FROM queue WHERE claimed_by IS NULL"
    for is_held, waiting in ((True, 1), (False, 0)):
        if not is_held:
            other.commit()
        assert transact(verbs.CLAIM, ("broker", [Want(KindVersion("leaf"), 9, "worker")])) == [[]]
        assert other.fetch(left) == [(waiting,)]


# ---- queue rows ----


def test_a_row_that_comes_before_one_that_is_held_is_not_waited_for(other, beside, transact, database):
    """Who attests leases holds rows without their resources, and waits for others in the order."""
    publish(transact, other, GROUP)
    tasks.held(other, [task_id(CHILD, RECONCILE)])
    composed = Settlement(lease(OWNER), Stage.COMPOSE, Outcome(allow_empty=True))
    settled = beside(lambda db: transact(verbs.SETTLE, [composed, Settlement(lease(ALONE), Stage.WORK)], on=db))
    assert tasks.held(other, [task_id(ALONE, RECONCILE)])
    other.commit()
    assert settled.ended() == [[True, True]]


def test_leases_that_are_void_are_told_in_the_order_of_their_rows(other, beside, transact):
    rows = [row(ALONE, Stage.WORK), row(CHILD, Stage.WORK)]
    tasks.remove(other, [one.id for one in rows])
    for one in rows:
        one.superseded = "newer"
        tasks.save(other, [one])
    other.commit()
    other.begin()
    tasks.held(other, [rows[1].id])
    told = beside(lambda db: transact(verbs.VOIDED, "broker", on=db))
    assert tasks.held(other, [rows[0].id])
    other.commit()
    assert len(told.ended()[0]) == 2


def test_what_is_asked_for_without_waiting_is_refused_while_others_hold_it(database, other):
    nodes.lock(other, [CHILD])
    tasks.lock(other, [task_id(ALONE, RECONCILE)])
    connection = database.connect()
    for ask in (
        lambda: nodes.lock(connection, [OWNER, CHILD], wait=False),
        lambda: nodes.lock_owned(connection, OWNER),
        lambda: tasks.lock(connection, [task_id(ALONE, RECONCILE)], wait=False),
    ):
        connection.begin()
        with pytest.raises(Contended):
            ask()
        connection.rollback()
    connection.close()


# ---- what many write ----


def test_resources_are_made_in_the_order_of_their_names(other, beside):
    nodes.add(other, [node(10, "x")])

    def add(db):
        db.begin()
        nodes.add(db, [node(11, "y"), node(12, "x")])
        db.commit()

    beside(add)
    nodes.add(other, [node(13, "y")])
    other.rollback()


def test_what_depends_on_what_moved_is_asked_for_in_one_order_with_it(other, beside):
    edges.save(other, [EdgeRow(ALONE, CHILD, OWNER)])
    other.commit()
    other.begin()
    edges.recheck(other, [(edges.GATE, ALONE)])

    def ask(db):
        db.begin()
        edges.recheck(db, [(edges.SOURCE, CHILD)], dependents_of=[CHILD])
        db.commit()

    asked = beside(ask)
    edges.recheck(other, [(edges.SOURCE, CHILD)])
    other.commit()
    assert asked.ended() is None
    assert other.fetch("SELECT what, resource_id FROM rechecks ORDER BY what") == [(0, ALONE), (1, CHILD)]


def test_rechecks_that_are_done_are_forgotten_when_nothing_is_waited_for_any_more(other, beside, transact):
    """Looking at the child has its owner looked at, for which somebody else has just asked too."""
    other.run("UPDATE resources SET owner_id = 9 WHERE name = 'a'")
    edges.recheck(other, [(edges.SOURCE, CHILD)])
    other.commit()
    other.begin()
    edges.recheck(other, [(edges.SOURCE, OWNER)])
    looked = beside(lambda db: transact(verbs.FOLLOW_UP, 1, on=db))
    edges.recheck(other, [(edges.SOURCE, CHILD)])
    other.commit()
    assert looked.ended() == [True]
    assert other.fetch("SELECT what, resource_id FROM rechecks") == [(edges.SOURCE, OWNER)]


def test_a_sweep_that_waits_for_a_resource_can_be_asked_for_anew(other, beside, transact):
    catalog.start_sweep(other, "pair:leaf@1")
    catalog.move_sweep(other, "pair:leaf@1", 0, 1)
    other.commit()
    other.begin()
    nodes.lock(other, [CHILD])
    swept = beside(lambda db: transact(verbs.FOLLOW_UP, None, on=db))
    catalog.start_sweep(other, "pair:leaf@1")
    other.commit()
    assert swept.ended() == [True]
    assert catalog.next_sweep(other) == ("pair:leaf@1", 0)


def test_members_that_are_lost_are_forgotten_by_one_and_others_go_on(database, other):
    lost = MemberRecord("lost", "1", "host", 1, False, 0, [])
    members.save(other, lost, 0)
    other.commit()
    other.begin()
    members.save(other, lost, 1)
    connection = database.connect()
    connection.begin()
    members.prune(connection, 5)
    connection.commit()
    connection.close()
    other.commit()
    assert [member.id for member in members.read(other)] == ["lost"]
