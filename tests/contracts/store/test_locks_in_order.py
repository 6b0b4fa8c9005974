"""Transactions on Postgres that meet: each takes its locks in one order, so that nobody waits in a circle.

Where one waits, what it would lock later must be free; what was decided before the wait is decided again after it.
"""

from __future__ import annotations

import threading

import pytest

from stdworker.engine.reconcile import schedule, verbs
from stdworker.engine.reconcile.batcher import Verb
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.positions import Positions
from stdworker.engine.reconcile.unit import Named, UnitOfWork
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import catalog, events, nodes, tasks
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import KindDeclaration
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.rows import RECONCILE, ConfigRow, Node, TaskRow, task_id
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref
from stdworker.model.task import Lease

pytestmark = pytest.mark.postgres

HANG_SECONDS = 30
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
OWNER, CHILD, ALONE, LATER = 1, 2, 3, 4


def lease(resource):
    return Lease(f"{task_id(resource, RECONCILE):x}-token", 1)


def row(resource, stage):
    leased = {"token": lease(resource).token, "epoch": 1, "stage": stage, "claimed_by": "broker", "generation": 1}
    return TaskRow(task_id(resource, RECONCILE), resource, "leaf", 1, 0, **leased)


def write(database, verb, *calls):
    """Do something in a transaction of its own."""
    connection = database.connect()
    connection.begin()
    uow = UnitOfWork(connection, Kinds.read(connection, Kinds()), 0, Positions(), EngineOptions())
    answers = verb.run(uow, calls)
    flush(uow)
    uow.closing.write(connection)
    connection.commit()
    connection.close()
    return answers


@pytest.fixture
def database(postgres):
    """An owner with a child, and one alone; the owner is composed, the others work."""
    opened = PostgresDatabase(postgres.create_database())
    opened.migrate()
    connection = opened.connect()
    connection.begin()
    child = Node(CHILD, "b", "leaf", "b", OWNER, OWNER, 0, 1, None)
    owner, alone = (Node(n, name, "leaf", name, None, None, 0, 1, None) for n, name in ((OWNER, "a"), (ALONE, "c")))
    nodes.add(connection, [owner, child, alone])
    tasks.save(connection, [row(OWNER, Stage.COMPOSE), row(CHILD, Stage.WORK), row(ALONE, Stage.WORK)])
    connection.commit()
    connection.close()
    return opened


@pytest.fixture
def other(database):
    """Somebody else's transaction."""
    connection = database.connect()
    connection.begin()
    yield connection
    connection.close()


@pytest.fixture
def beside(database, eventually):
    """Runs a verb in a transaction of its own until it waits for somebody; it is to end with the test."""
    watcher = database.connect(read_only=True)
    threads = []

    def start(verb, *calls):
        threads.append(threading.Thread(target=write, args=[database, verb, *calls], daemon=True))
        threads[-1].start()
        eventually(lambda: watcher.fetch(WAITS) == [(1,)])
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
    watcher.close()


def is_free(connection, resource):
    return nodes.lock_free(connection, resource) is not None


def test_results_wait_for_a_composites_children_before_they_hold_what_comes_after_them(other, beside):
    nodes.lock(other, [CHILD])
    results = [Settlement(lease(OWNER), Stage.COMPOSE, Outcome()), Settlement(lease(ALONE), Stage.WORK, Outcome())]
    beside(verbs.SETTLE, results)
    assert is_free(other, ALONE)
    other.commit()


def test_leases_that_several_calls_give_back_are_locked_as_one(other, beside):
    nodes.lock(other, [CHILD])
    beside(verbs.RELEASE, ("broker", [lease(ALONE)], False), ("broker", [lease(CHILD)], False))
    assert is_free(other, ALONE)
    other.commit()


def test_what_is_made_below_while_a_deletion_waits_is_deleted_with_it(other, beside):
    nodes.lock(other, [CHILD])
    deletion = beside(verbs.DELETE, ("ada", Ref("leaf", "a"), False, None))
    nodes.add(other, [Node(LATER, "d", "leaf", "d", CHILD, OWNER, 0, 1, None)])
    other.commit()
    deletion.join(HANG_SECONDS)
    asked = "SELECT id FROM resources WHERE deletion_requested_at IS NOT NULL ORDER BY id"
    assert other.fetch(asked) == [(OWNER,), (CHILD,), (LATER,)]


def test_of_two_that_take_the_last_references_to_a_config_away_the_second_one_removes_it(database, other, beside):
    catalog.save_config(other, ConfigRow("c", "leaf", 1, False, None, None, OWNER, 1, 0, 0, wanted=False))
    other.run("UPDATE resources SET provider_config = 'c' WHERE id <> :owner", owner=OWNER)
    other.run("DELETE FROM queue")
    other.commit()
    write(database, verbs.DELETE, ("ada", Ref("leaf", "c"), True, None))
    other.begin()
    nodes.remove(other, [CHILD])
    catalog.drop_configs(other, ["c"])
    second = beside(verbs.FOLLOW_UP, None)
    other.commit()
    second.join(HANG_SECONDS)
    assert other.fetch("SELECT name FROM provider_configs") == []


def test_events_have_their_places_in_the_order_in_which_they_are_seen(other, beside):
    """Who has seen one will see none that is earlier."""
    events.add(other, [events.EventRow("leaf", None, None, "First", "", "", "ada", "{}", 0)] * 2)
    later = beside(Verb("tell", lambda uow, calls: [uow.audit(Named("leaf", None), "Second") for _ in calls]), None)
    other.commit()
    later.join(HANG_SECONDS)
    assert other.fetch("SELECT type FROM events ORDER BY seq") == [("First",), ("First",), ("Second",)]


@pytest.mark.parametrize("decided", ["frozen_until = NULL, wanted = true", "frozen_until = 9"])
def test_an_orphan_on_whom_was_decided_anew_while_its_expiry_waited_stays(other, beside, decided):
    """It was emitted again, or emitted again and dropped again."""
    other.run("UPDATE resources SET frozen_until = 0, wanted = false WHERE id = :id", id=CHILD)
    other.commit()
    other.begin()
    other.run(f"UPDATE resources SET {decided} WHERE id = :id", id=CHILD)
    expiry = beside(verbs.EXPIRE, None)
    other.commit()
    expiry.join(HANG_SECONDS)
    assert other.fetch("SELECT deletion_requested_at FROM resources WHERE id = :id", id=CHILD) == [(None,)]


def test_a_claim_that_finds_nothing_to_run_waits_for_nobody_and_ends_it_the_next_time(database, other):
    leaf = {"kind": "leaf", "kind_version": 1, "reactions": []}
    write(database, verbs.PUBLISH_KIND, ("ada", KindDeclaration(leaf), None, True))
    tasks.save(other, [TaskRow(task_id(ALONE, RECONCILE), ALONE, "leaf", 1, 0, reasons=schedule.CONFIG)])
    other.commit()
    other.begin()
    nodes.lock(other, [ALONE])
    left = "SELECT count(*) FROM queue WHERE claimed_by IS NULL"
    for is_held, waiting in ((True, 1), (False, 0)):
        if not is_held:
            other.commit()
        assert write(database, verbs.CLAIM, ("broker", [Want(KindVersion("leaf"), 9, "worker")])) == [[]]
        assert other.fetch(left) == [(waiting,)]
