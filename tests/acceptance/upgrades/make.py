"""Makes a dump of a database as an older version of the engine leaves it, with what it says of its resources.

Run with the older version's checkout as the working directory and this folder's file as the script:

    cd CHECKOUT && PYTHONPATH=. python .../make.py URL DUMP_STEM

The store at URL is new and empty. DUMP_STEM gets `.json`, what the engine says at the end, and for SQLite `.sql`;
Postgres is dumped by `pg_dump --inserts --no-owner --no-privileges --rows-per-insert=1000`, comments left out.

The dumps here are of the commits 69b14a4 (schema 0001), d4626ee (0003) and a2a7cc0 (0010); the calls below are the
engine's as they were until then. A later version needs its own, in the same words.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from stdworker.engine.reconcile import Engine
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Condition, Outcome
from tests.unit.engine.conftest import FakeClock, World, compose_from_spec

DECADE_SECONDS = 10 * 365 * 86_400
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
DROP = {"name": "drop", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "drop"}
SUM = {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]}
POKE = {"name": "poke", "trigger": "operation", "verb": "poke", "emits": ["operationOutput"]}
HEAR = {"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}
FLOW = [["/from", "/id"]]
OBJECT = {"type": "object", "properties": {"n": {"type": "number"}, "x": {"type": "number"}}}


def fill(world: World) -> None:
    """Something of all that the version knows."""
    knows = dir(world.engine)
    world.leaf(spec_schema=OBJECT, config_schema=OBJECT)
    world.kind("vm", MAKE, DROP, *([POKE] if "operate" in knows else []))
    world.composite()
    world.composite("tree", SUM)
    world.on("group", compose, Stage.COMPOSE)
    world.on("leaf", work)
    put_config(world, "d", is_default=True, spec='{"x":1.10}')
    put_config(world, "o", is_default=False, spec='{"x":12345678901234567890}')
    settled(world)
    failing(world)
    if "operate" in knows:
        operations(world)
    if "quarantine" in knows:
        frozen(world)
    if "put_binding" in knows:
        told(world)
    underway(world)


def put_config(world: World, name: str, *, is_default: bool, spec: str) -> None:
    put = world.engine.put_config
    given = {"is_default": is_default, "spec": RawJson(spec.encode()), "bundle": b"\x00\xff", "actor": "ada"}
    world.do(put(name, KindVersion("leaf"), **given))


def compose(claim: Any) -> Outcome:
    outcome = compose_from_spec(claim)
    if claim.resource.name == "g":
        outcome.configs = [ProviderConfigSpec("emitted", "leaf", 1, {"x": 2})]
        outcome.children[0].provider_config_ref = "emitted"
    return outcome


def work(claim: Any) -> Outcome:
    sick = [Condition("Ready", "False", "Sick", "the disk is slow")] if claim.resource.name == "sick" else []
    return Outcome(status=RawJson(b'{"id":"%s","size":1.50}' % claim.resource.name.encode()), conditions=sick)


def settled(world: World) -> None:
    world.apply("leaf", "ready", {"n": 1}, labels={"team": "a"})
    world.apply("leaf", "configured", provider_config_ref="o")
    world.apply("leaf", "sick")
    world.group("g", ["leaf/a"], ["leaf/b"], ["vm/c"], edges=[["leaf/b", "leaf/a", FLOW]])
    world.group("t", ["group/inner", {"children": [["leaf/deep"]]}], kind="tree")
    world.work()
    world.apply("leaf", "ready", {"n": 2.50})
    world.work()


def failing(world: World) -> None:
    world.apply("leaf", "failed")
    world.settle(world.claim_one(), error="there is no such zone", reason="NoZone", terminal=True)
    world.group("stuck", ["leaf/ready"])
    world.work()
    world.apply("vm", "going")
    world.work()
    world.delete("vm/going")
    world.settle(world.claim_one(), error="it is in use")


def operations(world: World) -> None:
    world.apply("vm", "poked")
    world.work()
    world.operate("vm/poked", "poke")
    world.settle(world.claim_one(), Outcome(output=RawJson(b'{"n":1.0}')))
    for _ in range(2):
        world.operate("vm/poked", "poke")


def frozen(world: World) -> None:
    world.leaf("kept", orphan_grace_secs=DECADE_SECONDS)
    world.apply("leaf", "frozen")
    world.group("drops", ["kept/o"], ["leaf/stays"])
    world.work()
    world.do(world.engine.quarantine(world.ref("leaf/frozen"), "ada"))
    world.group("drops", ["leaf/stays"])
    world.answer(next(claim for claim in world.claim() if claim.resource.name == "drops"))


def told(world: World) -> None:
    from stdworker.engine.store.declarations import BindingDeclaration

    world.kind("ear", HEAR)
    world.do(world.engine.put_binding(BindingDeclaration("b", "leaf", "created", "ear"), "ada"))
    for name in ("dead", "told"):
        world.apply("leaf", name)
    ear = [KindVersion("ear")]
    world.settle(world.claim(pairs=ear)[0], error="nobody listens", terminal=True)
    for claim in world.claim(pairs=[KindVersion("leaf")]):
        world.answer(claim)


def underway(world: World) -> None:
    """What is queued, leased or to be tried again."""
    for name in ("retrying", "leased"):
        world.apply("leaf", name)
    retrying, world.leased = world.claim(2, pairs=[KindVersion("leaf")])
    world.settle(retrying, error="the zone is full")
    world.group("half", ["leaf/h"])
    world.answer(world.claim(1, pairs=[KindVersion("group")])[0])
    world.apply("leaf", "new")


def said(world: World) -> dict[str, Any]:
    """What today's engine must still say of it."""
    return {
        "lease": [*world.leased.lease],
        "resources": {
            str(record.ref): {
                "uid": record.uid,
                "owner": str(record.owner) if record.owner else None,
                "phase": str(record.phase),
                "generation": record.generation,
                "spec": text(record.spec),
                "status": text(record.status),
                "labels": record.labels,
                "provider_config_ref": record.provider_config,
                "failure": record.failure_message,
            }
            for record in world.find()
        },
    }


def text(document: RawJson | None) -> str | None:
    return document.decode() if document is not None else None


def main(url: str, stem: str) -> None:
    with asyncio.Runner() as runner:
        clock = FakeClock()
        makes_engine = "engine" in inspect.signature(World.__init__).parameters
        engine = runner.run(Engine.open(url, clock=clock)) if makes_engine else url
        world = World(runner, engine, clock)  # type: ignore[arg-type]
        fill(world)
        Path(f"{stem}.json").write_text(json.dumps(said(world), indent=1, sort_keys=True) + "\n")
        runner.run(world.engine.close())
    if url.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            Path(f"{stem}.sql").write_text("\n".join(db.iterdump()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
