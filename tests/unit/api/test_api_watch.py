"""Watching: every change once, in its order, for as many as watch, over every interruption."""

import asyncio
import contextlib
import json
import socket

import httpx
import pytest
import uvicorn

from stdworker.engine.api import feed, follower
from stdworker.engine.reconcile import EngineOptions
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import RequestError
from stdworker.model.resource import Ref

pytestmark = pytest.mark.anyio

HANG_SECONDS = 30


@pytest.fixture
async def api(app):
    """Over a real socket: a stream must be read while it is written."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
    serving = asyncio.create_task(server.serve([listener]))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1"
    async with httpx.AsyncClient(base_url=address, timeout=HANG_SECONDS) as client:
        yield client
    app.state.feed.close()
    server.should_exit = True
    await serving


class Stream:
    """The blocks of a stream, one after the other; `id` is where to resume."""

    def __init__(self, response):
        self.response = response
        self.id = None
        self._lines = self._read_lines()

    async def _read_lines(self):
        """httpx would also end lines at what Unicode calls a line's end."""
        rest = b""
        async for piece in self.response.aiter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line.decode()

    async def block(self):
        """The fields of the next block; comments are under `:`."""
        fields = {}
        async with asyncio.timeout(HANG_SECONDS):
            async for line in self._lines:
                if not line:
                    self.id = int(fields["id"]) if "id" in fields else self.id
                    return fields
                name, _, value = line.partition(": ") if line[0] != ":" else (":", "", line[2:])
                fields[name] = value
        raise EOFError

    async def event(self):
        while "data" not in (block := await self.block()):
            pass
        return json.loads(block["data"])

    async def events(self, count):
        return [await self.event() for _ in range(count)]


@pytest.fixture
async def watch(api):
    async with contextlib.AsyncExitStack() as stack:

        async def begin(path="/watch", last=None, **query):
            headers = {"last-event-id": str(last)} if last is not None else {}
            stream = Stream(await stack.enter_async_context(api.stream("GET", path, params=query, headers=headers)))
            assert stream.response.status_code == 200, await stream.response.aread()
            await stream.block()
            return stream

        yield begin


async def apply(api, name, **members):
    body = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {}, **members}
    return (await api.post("/resources", json=body)).raise_for_status()


def told(events):
    return [(e["type"], e["event"]["type"]) for e in events]


async def test_a_watcher_is_told_of_a_resource_s_whole_life(api, engine, leaf, work, watch):
    stream = await watch()
    await apply(api, "a")
    await work()
    await apply(api, "a", labels={"team": "x"})
    await api.delete("/resources/leaf/a")
    events = await stream.events(6)
    assert told(events) == [
        ("ADDED", "Created"),
        ("MODIFIED", "PhaseChanged"),
        ("MODIFIED", "LabelsChanged"),
        ("MODIFIED", "DeleteRequested"),
        ("MODIFIED", "PhaseChanged"),
        ("DELETED", "Deleted"),
    ]
    assert events[-1]["resource"] is None
    assert [e["event"]["seq"] for e in events] == [e.seq for e in await engine.events(Ref("leaf", "a"))]
    assert {e["uid"] for e in events} == {events[0]["uid"]}


async def test_an_event_shows_the_resource_as_the_api_does(api, leaf, watch):
    stream = await watch()
    await apply(api, "a", spec={"size": 1.50}, labels={"line": "\u2028"})
    event = await stream.event()
    assert event["resource"] == (await api.get("/resources/leaf/a")).json()


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"label": "team:x"}, {"one"}),
        ({"name": "ON"}, {"one"}),
        ({"kv": "leaf/v1"}, {"one", "two"}),
        ({"kind": "other"}, set()),
        ({"phase": "Ready"}, set()),
        ({"phase": ["Ready", "Reconciling", "Deleting"], "kind": "leaf"}, {"one", "two"}),
        ({"owner": "leaf/none"}, set()),
    ],
)
async def test_filters_are_those_of_the_list_and_hold_for_what_is_gone(api, app, engine, leaf, watch, query, shown):
    stream = await watch(**query)
    await apply(api, "one", labels={"team": "x"})
    await apply(api, "two", labels={"team": "y"})
    for name in ("one", "two"):
        await api.delete(f"/resources/leaf/{name}")
    await engine.follow_up()
    again = await watch(last=stream.id, **query)
    expected = [e for e in await engine.events(after=stream.id) if e.ref and e.ref.name in shown]
    assert [e["event"]["seq"] for e in await again.events(len(expected))] == [e.seq for e in expected]
    app.state.feed.close()
    assert (await again.event())["reason"] == "draining"


async def test_a_stream_resumes_after_its_last_event_without_gap_or_repeat(api, engine, leaf, watch):
    first = await watch()
    for name in "abc":
        await apply(api, name)
    seen = await first.events(2)
    await first.response.aclose()
    await apply(api, "d")
    by_header, by_query = await watch(last=first.id, since=0), await watch(since=first.id)
    await apply(api, "e")
    for stream in (by_header, by_query):
        assert [e["resource"]["name"] for e in seen + await stream.events(3)] == list("abcde")


async def test_a_watch_of_one_resource_tells_of_no_other_and_goes_on_when_it_is_there_again(api, engine, leaf, watch):
    await apply(api, "a")
    stream = await watch("/resources/leaf/a/watch")
    await apply(api, "b")
    await api.delete("/resources/leaf/a")
    await engine.follow_up()
    await apply(api, "a")
    events = [await stream.event()]
    while events[-1]["type"] != "ADDED":
        events.append(await stream.event())
    assert {e["event"]["resource"]["name"] for e in events} == {"a"}
    assert [e["type"] for e in events][-2:] == ["DELETED", "ADDED"]
    assert events[-1]["uid"] != events[0]["uid"]


async def test_what_is_not_there_can_only_be_watched_by_who_saw_it(api, leaf, watch):
    assert (await api.get("/resources/leaf/none/watch")).status_code == 404
    await watch("/resources/leaf/none/watch", last=0)


async def test_resuming_before_the_oldest_kept_event_or_after_the_youngest_is_gone(api, engine, leaf):
    for name in "abc":
        await apply(api, name)
    youngest = (await engine.events())[-1].seq
    engine._batcher.options = EngineOptions(events_keep=1)
    await engine.ticks.prune()
    for last in (0, youngest - 2, youngest + 1, 2**63 - 1):
        answer = await api.get("/watch", headers={"last-event-id": str(last)})
        assert (answer.status_code, answer.json()["type"]) == (410, "urn:converge:problem:events_expired")


@pytest.mark.parametrize("last", ["9" * 5_000, "x", "-1", "1.0", "²", str(2**63)])
async def test_what_is_no_id_is_refused(api, last):
    answer = await api.get("/watch", headers={"last-event-id": last.encode()})
    assert (answer.status_code, "Last-Event-ID" in answer.json()["detail"]) == (400, True)


async def test_an_unknown_filter_is_refused(api):
    assert (await api.get("/watch", params={"knd": "leaf"})).status_code == 422


async def test_a_quiet_stream_says_that_it_lives_and_from_where_to_resume(api, leaf, watch, monkeypatch):
    monkeypatch.setattr(follower, "HEARTBEAT_SECONDS", 0.05)
    stream = await watch(kind="other")
    before = stream.id
    await apply(api, "a")
    while stream.id == before:
        assert (await stream.block())[":"] == "heartbeat"


async def test_many_watchers_cost_one_reading_for_each_batch(api, app, leaf, watch, monkeypatch):
    streams = [await watch() for _ in range(20)]
    while len(app.state.feed._joined) < len(streams):
        await asyncio.sleep(0.001)
    readings = []
    page = feed._page
    monkeypatch.setattr(feed, "_page", lambda *arguments: readings.append(page(*arguments)) or readings[-1])
    for i in range(10):
        await apply(api, f"r{i}")
    for stream in streams:
        assert len(await stream.events(10)) == 10
    assert len([reading for reading in readings if reading.items]) <= 10


async def test_who_has_read_less_than_the_feed_reads_on_by_itself(api, app, leaf, watch):
    stream = await watch()
    await apply(api, "a")
    await stream.event()
    with follower.Follower(app.state.feed, ResourceFilter()) as behind:
        assert not await app.state.feed.join(behind, feed.Page(0, [], whole=True))


async def test_a_page_that_is_full_leaves_the_rest_to_the_next_one(api, leaf, watch, monkeypatch):
    monkeypatch.setattr(feed, "PAGE_BYTES_MAX", 1)
    stream = await watch()
    for name in "abc":
        await apply(api, name)
    late = await watch(since=0)
    for told in (stream, late):
        assert [e["resource"]["name"] for e in await told.events(3)] == list("abc")


async def test_who_watches_is_told_when_what_comes_next_is_no_longer_kept(api, leaf, watch, monkeypatch):
    def expired(*arguments):
        raise RequestError("not kept", code="events_expired")

    stream = await watch()
    monkeypatch.setattr(feed, "_page", expired)
    while "data" not in (block := await stream.block()):
        await apply(api, "a")
    assert (block["event"], json.loads(block["data"])["reason"]) == ("end", "expired")


async def test_who_reads_too_slowly_is_told_so_and_can_resume(api, app, leaf, watch, monkeypatch):
    stream = await watch()
    while not app.state.feed._joined:
        await asyncio.sleep(0.001)
    monkeypatch.setattr(follower, "WAITING_ITEMS_MAX", 2)
    bodies = [{"kind": "leaf", "kind_version": 1, "name": f"r{i}"} for i in range(10)]
    lines = "\n".join(map(json.dumps, bodies))
    await api.post("/resources/batch", content=lines, headers={"content-type": "application/x-ndjson"})
    while "event" not in (block := await stream.block()):
        pass
    end = json.loads(block["data"])
    assert (block["event"], end["reason"], end["last"]) == ("end", "too_slow", stream.id)
    with pytest.raises(EOFError):
        await stream.block()
    monkeypatch.undo()
    again = await watch(last=stream.id)
    assert [e["resource"]["name"] for e in await again.events(10)] == [body["name"] for body in bodies]


async def test_a_drain_ends_the_streams_and_admits_no_more(api, app, leaf, watch):
    stream = await watch()
    app.state.feed.close()
    block = await stream.block()
    assert (block["event"], json.loads(block["data"])["reason"]) == ("end", "draining")
    with pytest.raises(EOFError):
        await stream.block()
    answer = await api.get("/watch")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:converge:problem:draining")


async def test_more_watchers_than_a_process_holds_are_sent_elsewhere(api, watch, monkeypatch):
    monkeypatch.setattr(feed, "FOLLOWERS_MAX", 1)
    stream = await watch()
    answer = await api.get("/watch")
    await stream.response.aclose()  # until then it is held, or it would leave when it is collected
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:converge:problem:too_many_watchers")


async def test_who_leaves_is_forgotten_and_nobody_reads_for_no_one(api, app, engine, watch):
    stream = await watch()
    await stream.response.aclose()
    async with asyncio.timeout(HANG_SECONDS):
        while app.state.feed._admitted or app.state.feed._reading or "event" in engine._watches.heard:
            await asyncio.sleep(0.001)


async def test_who_takes_nothing_any_more_is_hung_up_on(api, app, leaf, monkeypatch, until):
    monkeypatch.setattr("stdworker.engine.api.watch.STALL_SECONDS", 0.2)
    monkeypatch.setattr(follower, "HEARTBEAT_SECONDS", 0.2)
    _, writer = await asyncio.open_connection(api.base_url.host, api.base_url.port, limit=1)
    writer.write(b"GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await until(lambda: app.state.feed._joined)
    for i in range(20):
        await apply(api, f"r{i}", spec={"text": "x" * 1_000_000})
        if not app.state.feed._admitted:
            break
    await until(lambda: not app.state.feed._admitted)
    writer.transport.abort()
