"""Databases that older versions of the engine wrote: everything is there as it was, and goes on.

`upgrades/make.py` dumped them, each is named by its schema. What the version knew is in it in each state: settled,
failing, leased, queued, frozen, told.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path

import httpx
import psycopg
import pytest

from stdworker.engine.store.opening import open_database
from stdworker.model.task import Lease
from stdworker.testing import invariants
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop"), pytest.mark.slow]

HANG_SECONDS = 30
POLL_SECONDS = 0.05
DECADES = "900000h"  # the dumps' clock stood still in 2023
DUMPS = Path(__file__).parent / "upgrades"
VERSIONS = ("0001", "0003", "0010")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request):
    return request.param


@pytest.fixture
def database_url(version, store, tmp_path, request):
    """The older version's database."""
    dump = (DUMPS / f"{version}-{store}.sql").read_text()
    if store == "sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / "old.db")) as db:
            db.executescript(dump)
        return f"sqlite:///{tmp_path}/old.db"
    url = request.getfixturevalue("postgres").create_database()
    with psycopg.connect(url) as db:
        db.execute(dump)
    return url


def wrong(url):
    """What is wrong with the store."""
    with contextlib.closing(open_database(url).connect(read_only=True)) as connection:
        return invariants.violations(invariants.snapshot(connection, is_postgres=url.startswith("postgres")))


class Client:
    """Asks REST. Numbers are compared as they were written."""

    def __init__(self, engine):
        self._http = httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)
        self.close = self._http.aclose

    async def ask(self, method, path, **body):
        return exact((await self._http.request(method, path, **body)).raise_for_status().text)

    async def resources(self):
        found = (await self.ask("GET", "/resources"))["resources"]
        return {f"{each['kind']}/{each['name']}": each for each in found}

    async def until(self, true):
        """Wait for what the resources are to be like."""
        async with asyncio.timeout(HANG_SECONDS):
            while not true(found := await self.resources()):
                await asyncio.sleep(POLL_SECONDS)
            return found


@pytest.fixture
async def client(serve, database_url):
    """The engine of today, on the older version's database."""
    client = Client(engine := serve(DATABASE_URL=database_url, EVENTS_KEEP_FOR=DECADES))
    client.engine = engine
    yield client
    await client.close()


def exact(text):
    return json.loads(text, parse_float=str, parse_int=str) if text else None


def shown(resource):
    """What the dump's version said of it too."""
    owner, config = resource["owner"], resource["provider_config"]
    return {
        "uid": resource["uid"],
        "owner": f"{owner['kind']}/{owner['name']}" if owner else None,
        "phase": resource["phase"],
        "generation": resource["generation"],
        "spec": resource["spec"],
        "status": resource["status"],
        "labels": resource["labels"],
        "provider_config_ref": config["name"] if config else None,
        "failure": (resource["failure"] or {"message": ""})["message"],
    }


async def answer(worker):
    """Do whatever is asked, well."""
    while True:
        for task in await worker.tasks(1):
            await worker.complete(task, **result(task))


def result(task):
    match task.stage:
        case pb.STAGE_COMPOSE:
            return {"compose": composed(task.compose_req.root)}
        case pb.STAGE_WORK:
            return {"status": json.dumps({"id": task.work_req.resource.name}).encode()}
        case pb.STAGE_OPERATE:
            return {"output": b"{}"}
    return {}


def composed(root):
    plan = json.loads(root.spec)
    is_configured = root.name == "g"
    children = [child(*each) for each in plan["children"]]
    if is_configured:
        children[0].provider_config_ref = "emitted"
    return pb.ComposeResult(
        desired=children,
        edges=[edge(*each) for each in plan.get("edges", ())],
        configs=[pb.ProviderConfigSpec(name="emitted", kind="leaf", kind_version=1, spec=b'{"x":2}')] * is_configured,
    )


def child(ref, spec=None):
    kind, name = ref.split("/")
    return pb.ChildSpec(kind=kind, kind_version=1, name=name, spec=json.dumps(spec or {}).encode())


def edge(dependent, dependency, flows):
    ends = {"from": named(dependent), "to": named(dependency)}
    return pb.DepEdge(**ends, values=[pb.ValueFlow(dependent_field=f, source_field=s) for f, s in flows])


def named(ref):
    kind, name = ref.split("/")
    return pb.ResourceRef(kind=kind, name=name)


@pytest.fixture
def old(version, store):
    """What the older version said of its resources."""
    told = exact((DUMPS / f"{version}-{store}.json").read_text())
    for resource in told["resources"].values():
        resource["spec"], resource["status"] = exact(resource["spec"]), exact(resource["status"])
    return told


@pytest.fixture
async def worker(client, scripted_worker, old):
    """It holds the lease that the older version gave it."""
    token, epoch = old["lease"]
    kinds = [kind["kind"] for kind in (await client.ask("GET", "/kinds"))["kinds"]]
    worker = scripted_worker(client.engine.broker.removeprefix("http://"))
    await worker.subscribe(*kinds, resumed=[Lease(token, int(epoch))])
    worker.from_before = {"lease_token": token, "claim_epoch": int(epoch), "stage": pb.STAGE_WORK}
    yield worker
    await worker.close()


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_an_older_version_stored_is_as_it_was_and_goes_on_to_ready(client, worker, database_url, old):
    there = await client.resources()
    assert {ref: shown(each) for ref, each in there.items()} == old["resources"]
    configs = (await client.ask("GET", "/providerconfigs"))["providerconfigs"]
    assert {each["name"]: bool(each["owner"]) for each in configs} == {"d": False, "o": False, "emitted": True}
    letters = (await client.ask("GET", "/dead-letters"))["dead_letters"]
    assert len(letters) == ("leaf/dead" in there)
    assert wrong(database_url) == []

    await worker.send(complete=pb.StageComplete(**worker.from_before, status=b'{"of":"before"}'))
    answering = asyncio.create_task(answer(worker))
    await client.until(lambda found: found["leaf/leased"]["status"] == {"of": "before"} and "vm/going" not in found)
    await client.ask("DELETE", "/resources/leaf/ready")  # which group/stuck waits for
    await client.until(lambda found: found["group/stuck"]["phase"] == "Ready")
    if "leaf/frozen" in there:
        await client.ask("POST", "/resources/leaf/frozen/unquarantine")
        spec = {"children": [["kept/o"], ["leaf/stays"]]}
        await client.ask("POST", "/resources", json={"kind": "group", "kind_version": 1, "name": "drops", "spec": spec})
    for ref, resource in (await client.resources()).items():
        if resource["owner"] is None:
            await client.ask("POST", f"/resources/{ref}/reconcile")
    await client.until(lambda found: {each["phase"] for each in found.values()} == {"Ready"})
    if "vm/poked" in there:
        operations = (await client.ask("GET", "/resources/vm/poked/ops"))["operations"]
        assert [operation["state"] for operation in operations] == ["succeeded"] * 3
    answering.cancel()
    assert wrong(database_url) == []
