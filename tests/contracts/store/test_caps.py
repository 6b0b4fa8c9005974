"""max_inflight is exact while several engines, or several brokers of one, claim and settle at the same time."""

import asyncio

from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.records import ResourceFilter
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

VM = KindVersion("vm")
CAP = 5
RESOURCES = 30
BROKERS = 6
REACTIONS = [
    {"name": "make", "trigger": "specChange", "emits": ["status"]},
    {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "f"},
    {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]},
]


class Gauge:
    """How many tasks are leased as the brokers know it: counted before a claim returns, until after its settle."""

    def __init__(self) -> None:
        self.held = self.most = self.done = 0

    def take(self, count: int) -> None:
        self.held += count
        self.most = max(self.most, self.held)

    def give_back(self, count: int) -> None:
        self.held -= count
        self.done += count


async def broker(engine: Engine, name: str, gauge: Gauge, idle_rounds: int = 3) -> None:
    idle = 0
    while idle < idle_rounds:
        await engine.follow_up()
        claims = await engine.claim([Want(VM, 4, name)], name)
        gauge.take(len(claims))
        await asyncio.sleep(0)
        gauge.give_back(len(claims))
        landed = await engine.settle([Settlement(claim.lease, claim.stage) for claim in claims])
        assert all(landed)
        idle = 0 if claims or gauge.held else idle + 1


async def leased(engine: Engine) -> int:
    counted = "SELECT count(*) FROM queue WHERE kind = 'vm' AND claimed_by IS NOT NULL"
    return (await engine.read(lambda db: db.fetch(counted)))[0][0]


async def sample(engine: Engine, seen: list[int]) -> None:
    while True:
        seen.append(await leased(engine))


def test_a_cap_holds_for_all_task_types_and_all_brokers_together(database_url):
    async def scenario() -> None:
        engines = [await Engine.open(database_url) for _ in range(3 if database_url.startswith("postgres") else 1)]
        first = engines[0]
        manifest = {"kind": "vm", "kind_version": 1, "reactions": REACTIONS, "max_inflight": CAP}
        await first.publish_kind(manifest, "t")
        names = [f"n{i}" for i in range(RESOURCES)]
        await first.apply([ApplyDocument("vm", 1, name, RawJson(b"{}")) for name in names], "t")
        for name in names[::3]:
            await first.operate(Ref("vm", name), "poke", None, "t")
        for name in names[1::3]:
            await first.delete(Ref("vm", name), "t")
        seen: list[int] = []
        sampling = asyncio.create_task(sample(first, seen))
        gauge = Gauge()
        brokers = [broker(engines[i % len(engines)], f"b{i}", gauge) for i in range(BROKERS)]
        await asyncio.gather(*brokers)
        sampling.cancel()
        assert max(seen) <= CAP
        assert 0 < gauge.most <= CAP
        assert await leased(first) == 0
        left = (await first.find(ResourceFilter(), limit=100)).items
        assert {(record.name, str(record.phase)) for record in left} == {
            (name, "Ready") for name in names if name not in names[1::3]
        }
        for engine in engines:
            await engine.close()

    asyncio.run(scenario())
