"""`converge serve` as it is installed: a real process, a real store, a worker over a real connection."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import grpc
import httpx
import pytest

import stdworker
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop"), pytest.mark.slow]

HANG_SECONDS = 30
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "spec_schema": {"type": "object"},
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


def api(engine):
    return httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)


async def apply(engine, *names):
    async with api(engine) as http:
        (await http.put("/kinds/leaf/manifest", json=MANIFEST)).raise_for_status()
        for name in names:
            body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {"n": 1}}
            (await http.post("/resources", json=body)).raise_for_status()


async def get(engine, name):
    async with api(engine) as http:
        return (await http.get(f"/resources/leaf/{name}")).raise_for_status().json()


async def wait_ready(engine, name):
    async with api(engine) as http:
        query = {"for": "ready", "timeout": f"{HANG_SECONDS}s"}
        (await http.get(f"/resources/leaf/{name}/wait", params=query)).raise_for_status()


def target(engine):
    return engine.broker.removeprefix("http://")


@pytest.fixture
async def dial(scripted_worker):
    workers = []

    def dialled(engine, *extensions):
        workers.append(scripted_worker(target(engine), extensions) if extensions else scripted_worker(target(engine)))
        return workers[-1]

    yield dialled
    for worker in workers:
        await worker.close()


def lease_of(task):
    return Lease(task.lease_token, task.claim_epoch)


# ---- work ----


async def test_what_is_applied_over_rest_becomes_a_task_and_its_result_a_status(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")

    task = await worker.task()
    await worker.complete(task, status=b'{"answer": 42}')
    await worker.next("settled")

    resource = await get(engine, "a")
    assert (resource["phase"], resource["status"]) == ("Ready", {"answer": 42})


async def test_a_config_edit_reaches_the_worker_before_tasks_applied_after_it(serve, dial):
    engine = serve()
    await apply(engine)
    worker = await dial(engine).subscribe()

    async with api(engine) as http:
        config = {"name": "d", "kind": "leaf", "kind_version": 1, "is_default": True, "spec": {"tone": 1.0}}
        (await http.post("/providerconfigs", json=config)).raise_for_status()
    await apply(engine, "a")

    first, second = await worker.frame(), await worker.frame()
    assert first.config.config == b'{"tone":1.0}'
    assert second.WhichOneof("body") in ("task", "tasks")


async def test_a_newer_spec_cancels_the_running_task_and_runs_after_its_result(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    old = await worker.task()

    async with api(engine) as http:
        body = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"n": 2}}
        (await http.post("/resources", json=body)).raise_for_status()
    cancel = await worker.next("cancel")
    assert cancel.lease_token == old.lease_token

    await worker.complete(old, released=True, error_message="cancelled")
    new = await worker.task()
    assert (new.generation, new.work_req.resource.spec) == (2, b'{"n":2}')


async def test_two_brokers_workers_share_the_work_of_a_kind(serve, dial):
    engine = serve()
    one, two = await dial(engine).subscribe(most=1), await dial(engine).subscribe(most=1)
    await apply(engine, "a", "b")

    names = {(await worker.task()).work_req.resource.name for worker in (one, two)}

    assert names == {"a", "b"}


# ---- the end of the engine ----


async def test_sigterm_lets_the_running_task_land_its_result_and_exits_zero(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    task = await worker.task()

    engine.signal(signal.SIGTERM)
    await worker.next("drain")
    await worker.complete(task, status=b'{"landed":true}')
    await worker.next("settled")

    assert await asyncio.to_thread(engine.ended) == 0
    again = serve()
    assert (await get(again, "a"))["status"] == {"landed": True}


@pytest.mark.parametrize("settings", [{}, {"HEALTH_ADDR": "127.0.0.1:0"}])
async def test_a_draining_engine_still_answers_and_says_that_it_is_not_ready(serve, dial, settings):
    engine = serve(**settings)
    probes = engine.said(r", probes on (\S+),")[1] if settings else engine.rest
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    task = await worker.task()
    async with httpx.AsyncClient(base_url=probes, timeout=HANG_SECONDS) as http:
        assert (await http.get("/readyz")).status_code == 200

        engine.signal(signal.SIGTERM)
        await worker.next("drain")

        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/livez")).status_code == 200
    await worker.complete(task)
    assert await asyncio.to_thread(engine.ended) == 0


async def test_what_is_unfinished_when_the_drain_ends_is_a_task_again_at_once_after_a_restart(serve, dial):
    engine = serve(SHUTDOWN_DRAIN="100ms")
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    await worker.task()

    engine.signal(signal.SIGTERM)
    assert await asyncio.to_thread(engine.ended) == 0
    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE

    again = serve(LEASE_LIVENESS_WINDOW="1h")  # so it isn't the reaper that frees it
    await (await dial(again).subscribe()).task()


async def test_a_second_signal_ends_the_drain_at_once(serve, dial):
    engine = serve(SHUTDOWN_DRAIN="1h")
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    await worker.task()

    engine.signal(signal.SIGTERM)
    await worker.next("drain")
    engine.signal(signal.SIGINT)

    assert await asyncio.to_thread(engine.ended) == 128 + signal.SIGINT


async def test_an_idle_engine_ends_at_once_without_a_word_on_any_traceback(serve):
    engine = serve(SHUTDOWN_DRAIN="1h")

    assert await asyncio.to_thread(engine.stop) == 0
    assert "Traceback" not in engine.output


async def test_after_kill_9_the_worker_resumes_its_task_and_the_result_lands(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    task = await worker.task()

    engine.kill()
    again = serve()
    returned = await dial(again).subscribe(resumed=[lease_of(task)])
    await returned.complete(task, status=b'{"survived":true}')
    await returned.next("settled")

    resource = await get(again, "a")
    assert (resource["phase"], resource["status"]) == ("Ready", {"survived": True})


async def test_after_kill_9_a_task_whose_worker_never_returns_is_run_again(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    first = await worker.task()

    engine.kill()
    again = serve(LEASE_LIVENESS_WINDOW="1s", RETRY_BASE="1ms")
    second = await (await dial(again).subscribe()).task()

    assert second.resource_id == first.resource_id
    assert second.claim_epoch > first.claim_epoch


async def test_a_result_that_comes_twice_is_applied_once(serve, dial):
    engine = serve()
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    task = await worker.task()
    await worker.complete(task, status=b'{"n":1}')
    await worker.next("settled")

    await worker.complete(task, status=b'{"n":2}')
    await worker.next("settled")

    assert (await get(engine, "a"))["status"] == {"n": 1}


async def test_a_worker_lost_without_a_goodbye_is_replaced_after_the_reconnect_window(serve, dial):
    engine = serve(LEASE_RECONNECT_WINDOW="100ms", RETRY_BASE="1ms")
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    first = await worker.task()

    await worker.cut()
    second = await (await dial(engine).subscribe()).task()

    assert second.claim_epoch > first.claim_epoch
    assert (await get(engine, "a"))["failure"]["attempts"] == 1


async def test_a_heartbeat_keeps_a_task_from_being_run_again(serve, dial):
    engine = serve(LEASE_LIVENESS_WINDOW="1s")
    worker = await dial(engine).subscribe()
    await apply(engine, "a")
    task = await worker.task()
    beat = pb.WorkHeartbeat(lease_token=[task.lease_token], claim_epoch=[task.claim_epoch])

    for _ in range(10):  # more than twice the window
        await worker.send(heartbeat=beat)
        await asyncio.sleep(0.25)
    await worker.complete(task, status=b"{}")
    await worker.next("settled")

    assert (await get(engine, "a"))["phase"] == "Ready"


# ---- addresses and settings ----


async def test_workers_may_come_over_a_unix_socket(serve, scripted_worker, tmp_path):
    engine = serve(BROKER_ADDR_LISTEN=f"unix://{tmp_path}/b.sock")
    await apply(engine, "a")
    worker = await scripted_worker(engine.broker).subscribe()

    assert (await worker.task()).work_req.resource.name == "a"
    await worker.close()


def converge(*arguments, **variables):
    command = [str(Path(sys.executable).parent / "converge"), *arguments]
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, env=environment)


@pytest.mark.parametrize("variable", ["LISTEN_ADDR", "BROKER_ADDR_LISTEN", "HEALTH_ADDR"])
async def test_an_address_in_use_is_one_clear_line(variable, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        free = {"LISTEN_ADDR": "127.0.0.1:0", "BROKER_ADDR_LISTEN": "127.0.0.1:0", variable: address}
        done = converge("serve", DATABASE_URL=f"sqlite:///{tmp_path}/c.db", **free)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"{variable} is '{address}'; expected an address that is free" in done.stderr


async def test_a_malformed_setting_is_one_clear_line():
    done = converge("serve", SHUTDOWN_DRAIN="45")

    assert done.returncode == 2
    assert done.stderr == "Error: SHUTDOWN_DRAIN is '45'; expected a duration such as 500ms, 30s or 1m30s\n"


async def test_a_store_that_can_not_be_written_is_one_clear_line(tmp_path):
    done = converge("serve", DATABASE_URL=f"sqlite:///{tmp_path}/no/such/folder/c.db", LISTEN_ADDR="127.0.0.1:0")

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "no/such/folder" in done.stderr


async def test_an_option_wins_over_its_variable():
    done = converge("serve", "--listen-addr", "nonsense", LISTEN_ADDR="127.0.0.1:0")

    assert "LISTEN_ADDR is 'nonsense'" in done.stderr


async def test_the_version_is_printed():
    assert converge("version").stdout.strip() == stdworker.__version__
