"""What a kubelet and Prometheus see."""

import asyncio
import http.client
import re
import threading
import time
from dataclasses import dataclass

import pytest

from stdworker.errors import SettingsError
from stdworker.model.kind import KindVersion
from stdworker.testing import make_request
from stdworker.worker import watchdog
from stdworker.worker.metrics import Metrics
from stdworker.worker.probes import listen, probe_routes
from stdworker.worker.watchdog import Watchdog


def get(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_ready_says_what_is_missing_and_is_ready_once_connected(play, noop, port, logged):
    async def scenario(ground):
        await ground.broker.stop()
        provider = noop()
        ground.serve(provider, health_address=("127.0.0.1", port))
        await logged("no broker")
        without = await asyncio.to_thread(get, port, "/readyz")
        await ground.broker.start()
        stream = await ground.stream()
        await logged("connected")
        connected = await asyncio.to_thread(get, port, "/readyz")
        provider.is_ready = False
        provider.readiness_reason = "db is down"
        await stream.until(lambda: bool(stream.interests))
        return without, connected, await asyncio.to_thread(get, port, "/readyz")

    without, connected, unready = play(scenario)
    assert without[0] == 503
    assert "not connected" in without[1]
    assert "config" in without[1]
    assert connected == (200, "ok\n")
    assert unready[0] == 503
    assert "thing@1 (db is down)" in unready[1]


def test_ready_fails_while_draining(play, noop, port):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), health_address=("127.0.0.1", port), drain_seconds=60)
        stream = await ground.stream()
        lease = await stream.send_task(make_request(KindVersion("thing")))
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        ground.stop.set()
        await stream.until(lambda: bool(stream.interests))
        answer = await asyncio.to_thread(get, port, "/readyz"), await asyncio.to_thread(get, port, "/livez")
        release.set()
        return answer

    (status, body), live = play(scenario)
    assert status == 503
    assert "draining" in body
    assert live == (200, "ok\n")


def test_metrics_count_tasks_by_kind_and_outcome(play, noop, port):
    async def scenario(ground):
        def work(request):
            if request.resource.name == "bad":
                raise ValueError

        ground.serve(noop(work=work), health_address=("127.0.0.1", port))
        stream = await ground.stream()
        for name in ("good", "bad", "good"):
            await stream.run(make_request(KindVersion("thing"), name=name))
        return await asyncio.to_thread(get, port, "/metrics")

    status, text = play(scenario)
    assert status == 200
    assert 'stdworker_tasks_total{kind="thing",outcome="success",version="1"} 2.0' in text
    assert 'stdworker_tasks_total{kind="thing",outcome="transient",version="1"} 1.0' in text
    assert 'stdworker_tasks_in_flight{kind="thing",version="1"} 0.0' in text
    assert re.search(r'stdworker_task_seconds_count\{kind="thing",version="1"\} 3', text)
    for name in ("reconnects_total", "results_buffered", "results_dropped", "loop_lag_seconds", "queue_wait_seconds"):
        assert f"stdworker_{name}" in text


def test_metrics_of_providers_that_share_a_counter_count_once(play, noop, port):
    @dataclass
    class Counters:
        stray_lines: int = 3

    shared = Counters()

    async def scenario(ground):
        providers = [noop("a"), noop("b"), noop("c")]
        providers[0].counters = providers[1].counters = shared
        providers[2].counters = Counters(4)
        ground.serve(*providers, health_address=("127.0.0.1", port))
        await ground.stream()
        return await asyncio.to_thread(get, port, "/metrics")

    assert "stdworker_program_stray_lines_total 7.0" in play(scenario)[1]


def test_an_address_that_is_taken_is_a_settings_error(play, noop):
    async def scenario(ground):
        ground.serve(noop(), health_address=("127.0.0.1", ground.broker.port))
        await ground.worker

    with pytest.raises(SettingsError, match="HEALTH_ADDR"):
        play(scenario)


def test_live_fails_while_the_loop_stands_still_and_names_how_long():
    missing = []
    routes = probe_routes(live=lambda: missing, ready=list, metrics=Metrics().registry, status=bytes)
    probes = listen(("127.0.0.1", 0), routes)
    probes.start()
    try:
        assert get(probes.port, "/livez")[0] == 200
        missing.append("the event loop has not turned for 31 s")
        assert get(probes.port, "/livez") == (503, "the event loop has not turned for 31 s\n")
        assert get(probes.port, "/nothing")[0] == 404
        assert get(probes.port, "/livez", "HEAD") == (503, "")
    finally:
        probes.close()


def test_a_blocked_loop_is_reported_once_and_the_provider_is_named(play, noop, logged, monkeypatch):
    monkeypatch.setattr(watchdog, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "BLOCKED_SECONDS", 0.05)
    blocked = threading.Event()

    def hold_the_loop():
        blocked.wait(0.5)

    async def scenario(ground):
        async def bad_work(request):
            hold_the_loop()

        ground.serve(noop(work=bad_work))
        await (await ground.stream()).run(make_request(KindVersion("thing")))
        return await logged("stands still")

    line = play(scenario)
    assert "in bad_work" in line
    assert "test_probes.py" in line


def test_a_loop_that_turns_is_not_stuck():
    async def scenario():
        dog = Watchdog(Metrics())
        dog.start()
        await asyncio.sleep(0)
        dog.stop()
        return dog

    dog = asyncio.run(scenario())
    assert not dog.stuck
    dog._turned = time.monotonic() - 40
    assert dog.stuck
