"""Operations on every store: their rows, their order, and that nothing else of the resource runs beside them."""

from __future__ import annotations

import asyncio

from stdworker.engine.reconcile import Engine
from stdworker.engine.store import operations, tasks
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.rows import DELETE, RECONCILE, SUCCEEDED, OperationRow, TaskRow, task_id
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

VM = KindVersion("vm")
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
KICK = {"name": "kick", "trigger": "operation", "verb": "restart", "emits": ["operationOutput"]}
MANIFEST = {"kind": "vm", "kind_version": 1, "reactions": [MAKE, KICK]}
ROUNDS = 40
HANG_SECONDS = 60


def operation(number, **members):
    made = OperationRow(f"uid-{number}", 7, number, "restart", '{"n":1.0}', "me", 5)
    for name, value in members.items():
        setattr(made, name, value)
    return made


def test_operations_come_back_as_they_were_stored_those_that_wait_in_their_order(db):
    ended = operation(1, state=SUCCEEDED, output="{}", finished_at=9, attempts=1)
    operations.save(db, [operation(3), ended, operation(2, state="running", started_at=8)])
    opened = operations.opened(db, [7, 8])
    assert [(row.number, row.state, row.input) for row in opened[7]] == [
        (2, "running", '{"n":1.0}'),
        (3, "pending", '{"n":1.0}'),
    ]
    assert operations.last_number(db, 7) == 3
    assert operations.last_number(db, 8) == 0
    operations.prune(db, 7, 2)
    assert [row.number for row in operations.opened(db, [7])[7]] == [2, 3]
    assert db.fetch("SELECT count(*) FROM operations") == [(2,)]


def test_rows_that_are_leased_are_told_from_those_that_wait(db):
    waiting = TaskRow(task_id(7, RECONCILE), 7, "vm", 1, 1)
    leased = TaskRow(task_id(8, DELETE), 8, "vm", 1, 1, claimed_by="broker")
    tasks.save(db, [waiting, leased])
    ids = [task_id(resource, task) for resource in (7, 8) for task in (RECONCILE, DELETE)]
    assert tasks.free(db, ids) == ([waiting.id], [leased.id])
    tasks.hold(db, [waiting.id])
    tasks.put_at(db, [waiting.id], 50)
    [row] = tasks.lock(db, [waiting.id])
    assert (row.held, row.position) == (True, 50)


def test_no_two_tasks_of_a_resource_are_leased_at_once_by_claims_that_race(database_url):
    async def scenario() -> None:
        engines = [await Engine.open(database_url) for _ in range(2)]
        one, two = engines
        await one.publish_kind(MANIFEST, "test")
        await one.apply([ApplyDocument("vm", 1, "v", RawJson(b"{}"))], "test")
        asked, live, ran = [], [], []
        for n in range(ROUNDS):
            _, operation, *found = await asyncio.gather(
                one.apply([ApplyDocument("vm", 1, "v", RawJson(b'{"n":%d}' % n))], "test"),
                two.operate(Ref("vm", "v"), "restart", None, "test"),
                *(engine.claim([Want(VM, 5, "worker")], "broker") for engine in engines),
            )
            asked.append(operation.uid)
            live += [claim for claims in found for claim in claims]
            assert len(live) <= 1
            if n % 2:
                ran += await settle(one, live)
        while {(await one.operation(Ref("vm", "v"), uid)).state for uid in asked} != {SUCCEEDED}:
            live += await two.claim([Want(VM, 5, "worker")], "broker")
            assert len(live) <= 1
            ran += await settle(one, live) or [await asyncio.sleep(0.01)]
        assert {stage for stage in ran if stage} == {Stage.WORK, Stage.OPERATE}
        for engine in engines:
            await engine.close()

    async def settle(engine, live):
        stages = [claim.stage for claim in live]
        assert all(await engine.settle([Settlement(claim.lease, claim.stage, Outcome()) for claim in live]))
        live.clear()
        return stages

    async def bounded() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await scenario()

    asyncio.run(bounded())
