"""Batches of several engines on one Postgres: none holds what all want while it still locks what another may hold."""

import threading
from collections import Counter

import pytest

from stdworker.engine.reconcile import verbs
from stdworker.engine.reconcile.batcher import Call
from stdworker.engine.reconcile.closing import Closing
from stdworker.engine.store import edges, nodes
from stdworker.engine.store.claims import Settlement
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.events import EventRow
from stdworker.model.json_text import RawJson
from stdworker.model.kind import Phase, Stage
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("store", ["postgres"], indirect=True)]

HANG_SECONDS = 30
EVENT = EventRow("leaf", "edited", None, "Told", "", "", "other", "{}", 0)
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def test_a_batch_takes_what_all_want_after_all_that_its_verbs_lock(world, eventually):
    """Else a later verb waits for a resource whose holder waits for that: a circle, which Postgres breaks."""
    world.leaf()
    world.composite()
    world.group("g", ["leaf/a"], ["leaf/b"], edges=[["leaf/b", "leaf/a"]])
    world.answer(world.claim_one())
    source = world.claim_one()
    world.apply("leaf", "edited")
    database = world.engine._database
    ours, other, watcher = database.connect(), database.connect(), database.connect(read_only=True)
    other.begin()
    nodes.lock_named(other, [Ref("leaf", "edited")])
    settled = [Settlement(source.lease, Stage.WORK, Outcome(status={"id": 1}))]
    batch = [
        Call(verbs.SETTLE, settled, 1, None),
        Call(verbs.DECLARE, ("me", [ApplyDocument("leaf", 1, "edited", RawJson(b'{"n": 2}'))]), 1, None),
    ]
    running = threading.Thread(target=world.engine._batcher._transact, args=[ours, batch])
    running.start()
    eventually(lambda: watcher.fetch(WAITS) == [(1,)])

    [(dependent,)] = watcher.fetch("SELECT id FROM resources WHERE name = 'b'")
    wanted = Closing(Counter({("leaf", Phase.READY): 1}), {(edges.GATE, dependent)}, events=[EVENT])
    wanted.write(other)
    other.rollback()
    running.join(HANG_SECONDS)
    for connection in (ours, other, watcher):
        connection.close()

    assert (world.phase("leaf/a"), world.get("leaf/edited").generation) == ("Ready", 2)
