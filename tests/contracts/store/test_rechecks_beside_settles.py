"""Two transactions on Postgres: one changes a resource and asks for a recheck, the other is about to look at it."""

from __future__ import annotations

import threading

import pytest

from stdworker.engine.reconcile import recheck
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.positions import Positions
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import edges, nodes
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.rows import Node

pytestmark = pytest.mark.postgres

HANG_SECONDS = 30
PAIR = (edges.SOURCE, 2)
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def database(postgres_url):
    return PostgresDatabase(postgres_url)


def look(database):
    """What the engine does with rechecks, in one transaction."""
    connection = database.connect()
    connection.begin()
    uow = UnitOfWork(connection, Kinds.read(connection, Kinds()), 0, Positions(), EngineOptions())
    recheck.consume(uow)
    flush(uow)
    uow.closing.write(uow.db)
    connection.commit()
    connection.close()


def test_who_asks_for_a_recheck_of_what_it_holds_does_not_wait_for_who_looks_at_it(database, eventually):
    connection, watcher = database.connect(), database.connect(read_only=True)
    connection.begin()
    nodes.add(
        connection, [Node(1, "a", "leaf", "a", None, None, 0, 1, None), Node(2, "b", "leaf", "b", 1, 1, 0, 1, None)]
    )
    edges.recheck(connection, [PAIR])
    connection.commit()
    connection.begin()
    nodes.lock(connection, [2])
    looking = threading.Thread(target=look, args=[database])
    looking.start()
    eventually(lambda: watcher.fetch(WAITS) == [(1,)])

    edges.recheck(connection, [PAIR])
    connection.commit()
    looking.join(HANG_SECONDS)

    assert watcher.fetch("SELECT what, resource_id FROM rechecks") == []
    assert watcher.fetch("SELECT unsettled FROM resources WHERE id = 1") == [(1,)]
    for opened in (connection, watcher):
        opened.close()
