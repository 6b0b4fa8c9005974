"""At 100,000 resources no statement reads a table from end to end: what it touches follows from what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from stdworker.engine.store import edges, events, lists, nodes, postgres_connection, reactors, revisions, tasks
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.postgres_connection import PostgresConnection
from stdworker.engine.store.postgres_sql import spelled
from stdworker.engine.store.records import AuditFilter, ResourceFilter
from stdworker.engine.store.sql import bound
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.resource import Ref

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("plans")]

RESOURCES = 100_000
PAGE = 100
TOUCHED_MAX = 5_000
LARGE = {"resources", "queue", "edges", "events", "resource_labels", "rechecks"}
LEAF = KindVersion("kind3")
NOW = 1 << 60

# Ten thousand trees of ten; a tenth is queued, and a tenth of that leased; one in fifty isn't synced.
FILL = f"""
INSERT INTO resources (id, uid, kind, name, kind_version, owner_id, root_id, generation, worked_gen, synced_gen,
    composed_gen, failure_gen, failure_terminal, failure_attempts, failure_reason, failure_message, health_ok, due,
    unsettled, unready, counted_unsettled, counted_unready, gate, gate_message, wanted, synced_changed_at,
    ready_changed_at, created_at, updated_at, finalizers, labels, conditions, spec, provider_config)
  SELECT i, 'uid-' || i, 'kind' || i % 20, 'name-' || i, 1, CASE WHEN i % 10 > 0 THEN i - i % 10 END, NULL, 1, 1,
    CASE WHEN i % 50 = 0 THEN 0 ELSE 1 END, 1, 0, false, 0, '', '', true, 0, 0, 0, false, false, 0, '', true, 0, 0,
    0, 0, '[]', '{{}}', '[]', '{{}}', CASE WHEN i % 1000 = 1 THEN 'config' END
  FROM generate_series(10, {RESOURCES + 9}) i;
INSERT INTO queue (id, resource_id, kind, kind_version, position, held, reasons, again, seq, claimed_seq, done,
    emitted, generation, epoch, void_told, attempts, progress_message, claimed_by, token)
  SELECT id * 4, id, kind, 1, id, false, 1, 0, 0, 0, 0, '[]', 0, 0, false, 0, '',
    CASE WHEN id % 107 = 0 THEN 'b' END, CASE WHEN id % 107 = 0 THEN 't' END
  FROM resources WHERE id % 11 = 0;
INSERT INTO kinds SELECT 'kind' || i, 1, '{{}}', 1, '{{}}', 1 FROM generate_series(0, 19) i;
INSERT INTO edges SELECT id, id + 1, owner_id, '[]' FROM resources WHERE id % 10 BETWEEN 1 AND 8;
INSERT INTO events SELECT i, 'kind' || i % 20, 'name-' || i, 'uid-' || i, 'Created', '', '', 'me', '{{}}', i, i % 10 = 0
  FROM generate_series(1, {RESOURCES}) i;
INSERT INTO resource_labels SELECT 'app', 'a' || id % 50, id FROM resources;
INSERT INTO rechecks SELECT 1, id FROM resources WHERE id % 3 = 0;
ANALYZE;
"""


@pytest.fixture(scope="module")
def database(postgres: Any, migrated_database: str) -> PostgresDatabase:
    database = PostgresDatabase(postgres.create_database(migrated_database))
    with psycopg.connect(database.url, autocommit=True) as db:
        db.execute(FILL)
    return database


class Explained:
    """Runs statements as they are, and adds up the rows of large tables that their plans say they touched."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.next_ids = connection.next_ids
        self.touched = 0
        self.read_whole: list[str] = []

    def fetch(self, statement: str, rows: Any = None, **parameters: Any) -> Any:
        self._note(spelled(statement), bound(rows, dict(parameters)))
        return self._connection.fetch(statement, rows, **parameters)

    def run(self, statement: str, rows: Any = None, **parameters: Any) -> Any:
        self._note(spelled(statement), bound(rows, dict(parameters)))
        return 0

    def _note(self, query: bytes, values: Any) -> None:
        explain = b"EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, FORMAT JSON) "
        [(answer,)] = self._connection._run(explain + query, values).fetchall()
        for node in _nodes(answer[0]["Plan"]):
            if node.get("Relation Name") in LARGE:
                removed = sum(count for name, count in node.items() if name.startswith("Rows Removed"))
                self.touched += int((node["Actual Rows"] + removed) * node["Actual Loops"])
                if node["Node Type"] == "Seq Scan":
                    self.read_whole.append(node["Relation Name"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


WRITES = {
    "pairs with work": lambda db: tasks.have_ready(db, [KindVersion(f"kind{i}") for i in range(20)], NOW),
    "claim": lambda db: tasks.ready(db, [(LEAF, PAGE), (KindVersion("kind4"), PAGE)], NOW),
    "leases of a pair": lambda db: tasks.inflight(db, LEAF),
    "queue rows": lambda db: tasks.lock(db, [44, 88, 132]),
    "void leases": lambda db: tasks.take_void(db, "b"),
    "heartbeat": lambda db: tasks.beat(db, [428, 856], broker="b", worker="w", now=1),
    "resources": lambda db: nodes.lock(db, [10, 20, 30]),
    "resources by name": lambda db: nodes.lock_named(db, [Ref("kind3", "name-43")]),
    "resources of names": lambda db: nodes.named(db, [Ref("kind3", "name-43")]),
    "children": lambda db: nodes.lock_owned(db, 20),
    "resources with their children": lambda db: nodes.hold(db, [10, 20], [20]),
    "observed": lambda db: lists.observed(db, 20, deep=True),
    "observed children": lambda db: lists.observed(db, 20, deep=False),
    "deletion": lambda db: nodes.deletion_set(db, 20),
    "what may be removed": lambda db: nodes.unblocked(db, [20, 30]),
    "removal": lambda db: nodes.remove(db, [20, 30]),
    "resources on a config": lambda db: nodes.on_config(db, "config", 0, PAGE),
    "resources of a pair": lambda db: nodes.of_pair(db, "kind3", 1, 50_000, PAGE),
    "what is due for resync": lambda db: nodes.resync_due(db, NOW, PAGE),
    "what reactors can take": lambda db: reactors.ready(db, LEAF, PAGE, NOW),
    "revisions beyond those kept": lambda db: revisions.prune(db, [20, 30], 20),
    "rechecks": lambda db: edges.take_rechecks(db, PAGE),
    "dependents": lambda db: edges.recheck(db, [(edges.SOURCE, 22), (edges.SOURCE, 33)], dependents_of=[22, 33]),
    "dependents asked for again": lambda db: edges.end_rechecks(db, [(edges.GATE, 24)], but_dependents_of=[22, 33]),
    "dependencies": lambda db: edges.of_dependents(db, [21, 31]),
    "edges of an owner": lambda db: edges.owned(db, 20),
    "pruning events": lambda db: events.prune(db, 1_000, 0, PAGE),
}
READINGS = {
    "pairs with work": WRITES["pairs with work"],
    "leases": lambda db: tasks.leases(db),
    "a resource": lambda db: lists.get(db, Ref("kind3", "name-43")),
    "resources by uid": lambda db: lists.get_uids(db, ["uid-43", "uid-44"]),
    "descendants": lambda db: lists.descendant_counts(db, ["uid-20", "uid-30"]),
    "observed": lambda db: lists.observed(db, 20, deep=True),
    "edges among": lambda db: lists.edges_among(db, ["uid-21", "uid-22", "uid-31"], 100),
    "children of a resource": lambda db: lists.children_of(db, 20, PAGE),
    "dependents that are deleted": lambda db: lists.deleting_dependents_of(db, 22, PAGE),
    "phases below": lambda db: lists.phases_below(db, 20),
    "what is above": lambda db: lists.above(db, [22, 33], PAGE),
    "what is owned": lambda db: lists.owned(db, [20, 30], PAGE),
    "what is below": lambda db: lists.below(db, [20, 30], PAGE),
    "revisions": lambda db: revisions.before(db, 20, NOW, PAGE),
    "audit": lambda db: events.audit(db, AuditFilter(), NOW, PAGE),
    "audit of a resource": lambda db: events.audit(db, AuditFilter(kind="kind3", name="name-43"), NOW, PAGE),
    "audit of an actor": lambda db: events.audit(db, AuditFilter(actor="me"), NOW, PAGE),
    "events": lambda db: events.read(db, None, 50_000, PAGE),
    "events of a type": lambda db: events.of_type(db, "Created", [Ref("kind3", "name-43")]),
    "events of a resource": lambda db: events.read(db, Ref("kind3", "name-43"), 0, PAGE),
}
ASKED = {"writer": WRITES, "reader": READINGS}
FILTERS = {
    "all": ResourceFilter(),
    "of a kind": ResourceFilter(kinds=["kind3"]),
    "of a version": ResourceFilter(pairs=[LEAF]),
    "of two kinds": ResourceFilter(kinds=["kind3", "kind4"]),
    "ready ones of a kind": ResourceFilter(kinds=["kind4"], phases=[Phase.READY]),
    "failed ones of a kind": ResourceFilter(kinds=["kind4"], phases=[Phase.FAILED]),
    "of a kind with a label": ResourceFilter(kinds=["kind4"], labels={"app": "a7"}),
    "failed ones, of which there are none": ResourceFilter(phases=[Phase.FAILED]),
    "reconciling ones": ResourceFilter(phases=[Phase.RECONCILING]),
    "failed and degraded ones": ResourceFilter(phases=[Phase.FAILED, Phase.DEGRADED]),
    "ready ones": ResourceFilter(phases=[Phase.READY]),
    "roots": ResourceFilter(roots_only=True),
    "of an owner": ResourceFilter(owners=[Ref("kind0", "name-20")]),
    "with a label": ResourceFilter(labels={"app": "a7"}),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_a_writer_does_touches_a_bounded_part(database, name):
    connection = database.connect()
    connection.begin()
    explained = Explained(connection)
    WRITES[name](explained)
    connection.rollback()
    connection.close()
    assert explained.read_whole == []
    assert explained.touched < TOUCHED_MAX


@pytest.mark.parametrize("name", READINGS)
def test_what_a_reader_asks_touches_a_bounded_part(database, name):
    connection = database.connect(read_only=True)
    explained = Explained(connection)
    READINGS[name](explained)
    connection.close()
    assert explained.read_whole == []
    assert explained.touched < TOUCHED_MAX


@pytest.mark.parametrize("before", [None, 50_000])
@pytest.mark.parametrize("name", FILTERS)
def test_a_page_of_a_list_touches_a_bounded_part(database, name, before):
    connection = database.connect(read_only=True)
    explained = Explained(connection)
    lists.find(explained, FILTERS[name], PAGE, before)
    connection.close()
    assert explained.read_whole == []
    assert explained.touched < TOUCHED_MAX


ANALYSED = {"leases", "audit of an actor"}  # only statistics can say how few rows are leased, or are of an actor
ASKED_TIMES = 8  # a few more than after which a plan is kept
READ = "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"


@pytest.fixture(scope="module")
def grown(postgres: Any, migrated_database: str) -> Iterator[dict[str, PostgresConnection]]:
    """Connections that had prepared all their statements before the tables grew; nobody has analysed these since."""
    database = PostgresDatabase(postgres.create_database(migrated_database))
    connections = {"writer": database.connect(), "reader": database.connect(read_only=True)}
    with psycopg.connect(database.url, autocommit=True) as db:
        for table in LARGE:
            db.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)".encode())
        for who, connection in connections.items():
            for ask in [*ASKED[who].values()] * ASKED_TIMES:
                connection.begin()
                ask(connection)
                connection.rollback()
        db.execute(FILL.replace("ANALYZE;", "").encode())
    yield connections
    for connection in connections.values():
        connection.close()


GROWN = [(who, name) for who in ASKED for name in ASKED[who] if name not in ANALYSED]


@pytest.mark.parametrize(("who", "name"), GROWN)
def test_a_plan_made_when_tables_were_nearly_empty_is_not_kept_for_long(grown, who, name, monkeypatch):
    monkeypatch.setattr(postgres_connection, "PLANS_SECONDS", 0)
    connection = grown[who]
    connection.begin()
    [(before,)] = connection.fetch(READ)
    ASKED[who][name](connection)
    [(after,)] = connection.fetch(READ)
    connection.rollback()
    assert after - before < TOUCHED_MAX
