"""Who an engine is made of, over REST."""

import pytest

from stdworker.engine.api.shapes.members import MemberView
from stdworker.engine.store.claims import Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.model.kind import KindVersion

pytestmark = pytest.mark.anyio

LEAF = KindVersion("leaf")
WORKER = WorkerRecord("w", "1.0", "there", 7, 60_000, 2_000, False, 6, [ServedRecord(LEAF, False, "db is down", 5)])
MEMBER = MemberRecord("here:42", "1.0", "here", 42, False, 1_700_000_000_000, [WORKER])


async def test_members_are_listed_with_their_workers_kinds_and_what_they_hold(api, engine, leaf):
    await engine.report_member(MEMBER)
    await engine.apply([ApplyDocument("leaf", 1, "a")], "test")
    await engine.claim([Want(LEAF, 1, "w")], "here:42")

    [member] = (await api.get("/cluster-members")).json()["members"]
    [worker] = member["workers"]

    assert (member["member_id"], member["status"], member["in_flight"]) == ("here:42", "up", 1)
    assert member["started_at"] == "2023-11-14T22:13:20.000Z"
    assert (worker["name"], worker["version"], worker["hostname"], worker["pid"]) == ("w", "1.0", "there", 7)
    assert worker["heartbeat_age"] >= 2
    assert worker["connected_since"] < member["last_heartbeat"]
    [kind] = worker["kinds"]
    assert kind == {
        "kind": "leaf",
        "kind_version": 1,
        "ready": False,
        "reason": "db is down",
        "in_flight": 1,
        "max_inflight": 5,
    }


async def test_an_engine_without_members_lists_none(api):
    assert (await api.get("/cluster-members")).json() == {"members": []}


@pytest.mark.parametrize(
    ("age_ms", "draining", "status"),
    [(0, False, "up"), (14_999, False, "up"), (15_000, False, "lost"), (0, True, "draining"), (15_000, True, "lost")],
)
def test_a_member_is_up_draining_or_lost(age_ms, draining, status):
    record = MemberRecord("m", "1", "h", 1, draining, 0, [], reported_at_ms=100_000)
    assert MemberView.of(record, 100_000 + age_ms).status == status
