"""Watching an engine that is restarted meanwhile: every change once, by `conctl watch` as it is installed."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

HANG_SECONDS = 30
CHANGES = 1_000
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def api(engine):
    return httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS, verify=False)


def apply(http, i):
    body = {"kind": "leaf", "kind_version": 1, "name": f"r{i % 10}", "spec": {"n": i}}
    http.post("/resources", json=body).raise_for_status()


def all_events(http, names):
    """The events of these resources in their order."""
    found = []
    for name in names:
        cursor = None
        while True:
            query = {"limit": 500, **({"cursor": cursor} if cursor else {})}
            page = http.get(f"/resources/leaf/{name}/events", params=query).raise_for_status()
            found += page.json()["events"]
            cursor = page.headers.get("x-next-cursor")
            if cursor is None:
                break
    return sorted(event["seq"] for event in found)


def test_a_thousand_changes_are_watched_over_restarts_without_gap_or_repeat(serve, watch, port):
    settings = {"LISTEN_ADDR": f"127.0.0.1:{port}", "SHUTDOWN_DRAIN": "1s"}
    engine = serve(**settings)
    with api(engine) as http:
        http.put("/kinds/leaf/manifest", json=MANIFEST).raise_for_status()
        apply(http, 0)
    conctl = Path(sys.executable).parent / "conctl"
    watcher = watch(conctl, "--server", engine.rest, "watch", "-k", "leaf", "-o", "json")
    until_watching(engine, watcher)

    for first, last, end in ((1, 300, engine_stops), (301, 700, engine_is_killed), (701, CHANGES, None)):
        with api(engine) as http:
            for i in range(first, last + 1):
                apply(http, i)
        if end is not None:
            end(engine)
            engine = serve(**settings)
    with api(engine) as http:
        expected = all_events(http, [f"r{i}" for i in range(10)])
    watcher.said(rf'"seq":{expected[-1]},')
    assert watcher.stop(signal.SIGINT) == 128 + signal.SIGINT

    seen = [json.loads(line)["event"]["seq"] for line in watcher.output.splitlines() if line.startswith("{")]
    assert len(seen) > CHANGES
    assert seen == expected[expected.index(seen[0]) :]


@pytest.mark.parametrize("ends", [lambda engine: engine_stops(engine), lambda engine: engine_is_killed(engine)])
def test_a_wait_goes_on_over_a_restart(serve, watch, port, eventually, ends):
    settings = {"LISTEN_ADDR": f"127.0.0.1:{port}", "SHUTDOWN_DRAIN": "1s"}
    engine = serve(**settings)
    with api(engine) as http:
        http.put("/kinds/leaf/manifest", json=MANIFEST).raise_for_status()
        apply(http, 0)
    words = ("wait", "leaf/r0", "--for", "deleted", "--timeout", "60s")
    waiter = watch(Path(sys.executable).parent / "conctl", "--server", engine.rest, *words)
    eventually(lambda: 'status="408"' in httpx.get(f"{engine.rest}/metrics").text)
    ends(engine)
    waiter.said("waiting goes on")
    with api(serve(**settings)) as http:
        http.delete("/resources/leaf/r0").raise_for_status()
    waiter.said("leaf/r0 is deleted")
    assert waiter.ended() == 0


def engine_stops(engine):
    assert engine.stop() == 0


def engine_is_killed(engine):
    engine.kill()


def until_watching(engine, watcher):
    """It says nothing before the first change, so there is one again and again."""
    with api(engine) as http:
        for n in range(-1, -HANG_SECONDS * 100, -1):
            apply(http, n * 10)
            if watcher.output:
                return
    raise AssertionError("conctl never watched")
