"""An engine whose disk fills up, and has room again: a real file system, which is small."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from stdworker.engine.store.backup import back_up
from stdworker.engine.store.sqlite import SqliteDatabase
from stdworker.errors import StoreError

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop"), pytest.mark.slow]

HANG_SECONDS = 30
DISK_MIB = 8
PADDING = "x" * 200_000
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "spec_schema": {"type": "object"},
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


@pytest.fixture
def disk(make_disk):
    return make_disk(DISK_MIB)


def api(engine):
    return httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)


async def apply(http, name):
    body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {"padding": PADDING}}
    return await http.post("/resources", json=body)


async def apply_until_full(http):
    """Names of the resources that were stored, and the answer to the first that was not, by its name."""
    stored = []
    while (answer := await apply(http, f"r{len(stored)}")).status_code == 201:
        stored.append(f"r{len(stored)}")
    return stored, answer


async def test_a_full_disk_refuses_what_it_can_not_store_and_with_room_again_all_goes_on(serve, scripted_worker, disk):
    engine = serve(DATABASE_URL=f"sqlite:///{disk.folder}/converge.db")
    worker = scripted_worker(engine.broker.removeprefix("http://"))
    async with api(engine) as http:
        (await http.put("/kinds/leaf/manifest", json=MANIFEST)).raise_for_status()
        assert (await apply(http, "running")).status_code == 201
        await worker.subscribe(most=1)
        task = await worker.task()

        disk.fill()
        stored, refused = await apply_until_full(http)

        # It says what, where and what to do, to everyone who asks.
        assert refused.status_code == 503
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["type"] == "urn:converge:problem:store_full"
        assert f"the disk that holds the database {disk.folder}/converge.db is full" in refused.json()["detail"]
        ready = await http.get(f"{engine.rest}/readyz")
        assert (ready.status_code, ready.json()["type"]) == (503, "urn:converge:problem:store_full")
        assert (await http.get(f"{engine.rest}/livez")).status_code == 200

        # What was refused is not there; what was stored can be read.
        assert (await http.get(f"/resources/leaf/r{len(stored)}")).status_code == 404
        for name in stored:
            assert (await http.get(f"/resources/leaf/{name}")).status_code == 200

        # A result that arrives now waits.
        await worker.complete(task, status=b'{"padding": "%s"}' % PADDING.encode())
        engine.said("storing results fails, and is tried until it works: the disk")
        assert (await http.get("/resources/leaf/running")).json()["phase"] == "Reconciling"

        disk.free()
        await worker.next("settled")
        assert (await http.get("/resources/leaf/running")).json()["phase"] == "Ready"
        engine.said("the store works again")
        assert (await http.get(f"{engine.rest}/readyz")).status_code == 200
        assert (await apply(http, f"r{len(stored)}")).status_code == 201

        for _ in range(len(stored) + 1):
            await worker.complete(await worker.task())
        for name in [*stored, f"r{len(stored)}"]:
            query = {"for": "ready", "timeout": f"{HANG_SECONDS}s"}
            (await http.get(f"/resources/leaf/{name}/wait", params=query)).raise_for_status()
    await worker.close()
    assert engine.stop() == 0
    assert "Traceback" not in engine.output


def test_a_copy_that_finds_no_room_leaves_nothing(disk, tmp_path):
    source = tmp_path / "store.db"
    SqliteDatabase(source).migrate()
    disk.fill()
    with pytest.raises(StoreError, match=f"the disk has no room for {disk.folder}/copy.db"):
        back_up(source, disk.folder / "copy.db")
    assert [path.name for path in disk.folder.iterdir()] == ["ballast"]


def test_a_file_system_that_is_mounted_read_only_is_told(disk):
    path = disk.folder / "store.db"
    SqliteDatabase(path).migrate()
    subprocess.run(["mount", "-o", "remount,ro", str(disk.folder)], check=True)
    with pytest.raises(StoreError, match=f"the file system of the database {path} is mounted read-only"):
        SqliteDatabase(path).migrate()


def test_an_engine_does_not_start_on_a_full_disk_and_says_why(disk, tmp_path):
    disk.fill()
    command = Path(sys.executable).with_name("converge")
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{disk.folder}/converge.db"}
    addresses = {"LISTEN_ADDR": "127.0.0.1:0", "BROKER_ADDR_LISTEN": "127.0.0.1:0"}

    done = subprocess.run(
        [command, "serve"], env=environment | addresses, cwd=tmp_path, capture_output=True, text=True,
        timeout=HANG_SECONDS, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert (
        done.stderr == f"Error: the disk that holds the database {disk.folder}/converge.db is full (make room on it)\n"
    )
