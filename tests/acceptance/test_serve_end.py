"""The last moments of `converge serve`, when others don't play along: frozen workers, frozen databases, impatience."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import grpc.aio
import httpx
import psycopg
import pytest

from stdworker.engine.store.postgres import MIGRATION_LOCK
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop"), pytest.mark.slow]

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}
ADDRESSES = {"LISTEN_ADDR": "127.0.0.1:0", "BROKER_ADDR_LISTEN": "127.0.0.1:0"}
FOR_EVER = "#!/bin/sh\necho running >&2\nexec sleep 600\n"


@pytest.fixture
def worker(watch, tmp_path):
    """Starts `stdworker run` with one program, which never ends."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "stdworker-kind-leaf").write_text(FOR_EVER)
    (programs / "stdworker-kind-leaf").chmod(0o755)

    def start(engine):
        environment = {"PATH": f"{programs}:/usr/bin:/bin", "BROKER_ADDR": engine.broker, "LOG_LEVEL": "debug"}
        return watch(BIN / "stdworker", "run", env=environment, cwd=tmp_path)

    return start


def apply(engine, name, **spec):
    body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": spec}
    with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as http:
        http.put("/kinds/leaf/manifest", json=MANIFEST).raise_for_status()
        http.post("/resources", json=body).raise_for_status()


def runs(engine, name):
    told = httpx.get(f"{engine.rest}/api/v1/resources/leaf/{name}/explain", timeout=HANG_SECONDS)
    return "running" in [reason["code"] for reason in told.raise_for_status().json()["reasons"]]


async def never_reads(engine):
    """A worker that answers pings and takes nothing in."""
    channel = grpc.aio.insecure_channel(engine.broker.removeprefix("http://"))
    call = WorkerClient(channel).work_stream()
    subscribe = pb.Subscribe(kinds=["leaf"], kind_versions=[1], max_inflight=10)
    await call.write(pb.WorkStreamClientMsg(subscribe=subscribe).SerializeToString())
    return channel


async def test_a_second_signal_ends_an_engine_at_once_whose_worker_reads_nothing(serve, until):
    engine = serve(SHUTDOWN_DRAIN="1h")
    channel = await never_reads(engine)
    apply(engine, "a", padding=random.randbytes(5_000_000).hex())  # more than a connection holds
    await until(lambda: runs(engine, "a"))

    engine.signal(signal.SIGTERM)
    engine.said("draining for at most")
    engine.signal(signal.SIGTERM)

    assert await asyncio.to_thread(engine.ended) == 128 + signal.SIGTERM
    await channel.close()


def test_a_second_signal_ends_an_engine_at_once_whose_worker_is_frozen(serve, worker, eventually):
    engine = serve(SHUTDOWN_DRAIN="1h")
    frozen = worker(engine)
    apply(engine, "a")
    eventually(lambda: runs(engine, "a"))

    frozen.signal(signal.SIGSTOP)
    engine.signal(signal.SIGTERM)
    engine.said("draining for at most")

    assert engine.stop() == 128 + signal.SIGTERM
    assert "was lost" not in engine.output


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_an_engine_whose_database_stands_still_ends_in_order_without_it(serve, postgres):
    engine = serve(DATABASE_URL=postgres.create_database(), SHUTDOWN_DRAIN="100ms")
    with postgres.frozen():
        assert engine.stop() == 0
    engine.said("this process is listed for a while longer: the store didn't answer")
    engine.said("the database doesn't answer: its connections end with this process")


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_second_signal_ends_an_engine_at_once_whose_database_stands_still(serve, postgres):
    engine = serve(DATABASE_URL=postgres.create_database(), SHUTDOWN_DRAIN="1h")
    with postgres.frozen():
        engine.signal(signal.SIGTERM)
        engine.said("draining for at most")
        assert engine.stop() == 128 + signal.SIGTERM
    assert "the database doesn't answer" not in engine.output


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_signal_ends_an_engine_at_once_that_waits_for_the_database_at_its_start(watch, postgres, eventually):
    url = postgres.create_database()
    with psycopg.connect(url) as migrating:
        migrating.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        engine = watch(BIN / "converge", "serve", env={"PATH": os.environ["PATH"], "DATABASE_URL": url, **ADDRESSES})
        eventually(lambda: migrating.execute("SELECT FROM pg_locks WHERE NOT granted").fetchall())

        assert engine.stop() == 128 + signal.SIGTERM
    assert engine.output == ""


def test_a_terminal_that_is_closed_drains_as_a_signal_does_however_often_it_says_so(serve, worker, eventually):
    engine = serve(SHUTDOWN_DRAIN="1h")
    worker(engine)
    apply(engine, "a")
    eventually(lambda: runs(engine, "a"))

    engine.signal(signal.SIGHUP)
    engine.said("draining for at most")
    engine.signal(signal.SIGHUP)
    engine.signal(signal.SIGINT)

    assert engine.ended() == 128 + signal.SIGINT
    assert engine.output.count("second signal") == 1


def test_below_nohup_an_engine_outlives_its_terminal(watch, tmp_path):
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{tmp_path}/converge.db", **ADDRESSES}
    engine = watch("nohup", BIN / "converge", "serve", env=environment, cwd=tmp_path)
    engine.said("ready: ")

    engine.signal(signal.SIGHUP)
    engine.signal(signal.SIGTERM)

    assert engine.ended() == 0
    assert "second signal" not in engine.output
