"""Every process of an engine lists all of them, with what their workers hold."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from stdworker.engine.reconcile import Engine
from stdworker.engine.reconcile.verbs import MEMBER_KEPT_MS
from stdworker.engine.store import members
from stdworker.engine.store.claims import Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.model.kind import KindVersion

LEAF, OTHER = KindVersion("leaf"), KindVersion("other", 2)
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}


def member(name, *workers, draining=False):
    kinds = [ServedRecord(LEAF, True, "", 5), ServedRecord(OTHER, False, "db is down", 1)]
    held = [WorkerRecord(worker, "1.0", "there", 7, 60_000, 2_000, False, 6, kinds) for worker in workers]
    return MemberRecord(name, "1.0", "here", 42, draining, 1_700_000_000_000, held)


def test_a_report_is_read_as_it_was_written_and_replaces_the_one_before(db):
    members.save(db, member("b", "w1"), now_ms=1_000)
    members.save(db, member("a"), now_ms=2_000)
    members.save(db, member("b", "w1", "w2", draining=True), now_ms=3_000)

    first, second = members.read(db)

    assert (first.id, first.workers, first.reported_at_ms) == ("a", [], 2_000)
    assert (second.draining, second.reported_at_ms, second.started_at_ms) == (True, 3_000, 1_700_000_000_000)
    assert [worker.name for worker in second.workers] == ["w1", "w2"]
    assert second.workers[0].kinds == member("b", "w").workers[0].kinds


def test_the_report_of_a_version_without_roles_has_none_and_one_of_a_newer_version_is_read(db):
    members.save(db, replace(member("a"), role="control"), now_ms=1_000)
    assert [found.role for found in members.read(db)] == ["control"]

    [(report,)] = db.fetch("SELECT report FROM members")
    told = json.loads(report)
    del told["role"]
    db.run("UPDATE members SET report = :report", report=json.dumps(told | {"of_the_future": 1}))

    assert [found.role for found in members.read(db)] == [""]


def test_who_left_and_who_was_silent_for_long_is_listed_no_more(db):
    for at, name in enumerate("abc"):
        members.save(db, member(name), now_ms=at * 1_000)

    members.remove(db, "c")
    members.prune(db, oldest_ms=1_000)

    assert [found.id for found in members.read(db)] == ["b"]


def test_what_a_worker_holds_is_counted_from_the_leases_of_its_broker(database_url):
    async def scenario():
        engine = await Engine.open(database_url)
        await engine.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
        await engine.apply([ApplyDocument("leaf", 1, f"x{i}") for i in range(5)], "test")
        for broker, worker, credit in (("one", "w", 2), ("two", "w", 1), ("two", "v", 1)):
            await engine.claim([Want(LEAF, credit, worker)], broker)
        await engine.report_member(member("one", "w"))
        await engine.report_member(member("two", "v", "w"))
        seen = await engine.members()
        await engine.close()
        return {
            (m.id, w.name): (w.in_flight, w.kinds[0].in_flight, w.kinds[1].in_flight) for m in seen for w in m.workers
        }

    assert asyncio.run(scenario()) == {("one", "w"): (2, 2, 0), ("two", "v"): (1, 1, 0), ("two", "w"): (1, 1, 0)}


def test_a_report_drops_those_who_have_been_silent_for_a_minute(database_url):
    class Clock:
        ms = 1_700_000_000_000

        def now_ms(self):
            return self.ms

        def monotonic(self):
            return self.ms / 1_000

    async def scenario():
        clock, listed = Clock(), []
        engine = await Engine.open(database_url, clock=clock)
        await engine.report_member(member("killed"))
        for passed in (MEMBER_KEPT_MS, 1):
            clock.ms += passed
            await engine.report_member(member("alive"))
            listed.append([found.id for found in await engine.members()])
        await engine.close()
        return listed

    assert asyncio.run(scenario()) == [["alive", "killed"], ["alive"]]
