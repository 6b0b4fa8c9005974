"""Who may ask, how, and how long."""

import asyncio
import contextlib
import gzip

import httpx
import pytest
from fastapi import FastAPI, Request

from stdworker.engine.api import bodies, build_app, guard, problems, rate
from stdworker.engine.api.guard import Access, Guard
from stdworker.engine.api.rate import RateLimit
from stdworker.engine.tls import Identity, identity
from stdworker.model.json_text import check

pytestmark = pytest.mark.anyio

WORK = {"name": "work", "trigger": "specChange", "emits": ["status"]}
MANIFEST = {"kind": "leaf", "kind_version": 1, "reactions": [WORK]}


@pytest.fixture
async def caller():
    app = FastAPI()
    problems.install(app)

    @app.api_route("/echo", methods=["GET", "POST"])
    async def echo(request: Request) -> int:
        return len(await bodies.read(request, 1_000))

    @app.get("/slow")
    @app.get("/thing/wait")
    async def slow() -> str:
        await asyncio.sleep(0.05)
        return "done"

    app.add_middleware(Guard, access=Access(hosts=["converge.example", ""]))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8080") as client:
        yield client


def send(caller, headers, content=b'{"a":1}'):
    return caller.post("/echo", content=content, headers={"content-type": "application/json", **headers})


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8080", "app.localhost", "127.0.0.1:8080", "[::1]:8080", "10.2.3.4", "CONVERGE.example"],
)
async def test_a_host_that_no_foreign_name_can_stand_for_is_served(caller, host):
    assert (await send(caller, {"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example", "[::1", "a:b:c"]
)
async def test_any_other_host_is_misdirected(caller, host):
    answer = await send(caller, {"host": host})
    assert (answer.status_code, answer.json()["type"]) == (421, "urn:converge:problem:foreign_host")


async def test_a_write_from_a_foreign_page_is_refused(caller):
    answer = await send(caller, {"origin": "http://evil.example"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:converge:problem:foreign_origin")


async def test_a_write_from_a_sandboxed_page_is_refused(caller):
    assert (await send(caller, {"origin": "null"})).status_code == 403


async def test_a_write_from_our_own_page_is_served(caller):
    assert (await send(caller, {"origin": "http://localhost:8080"})).status_code == 200


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; a=b", ""]
)
async def test_a_body_that_a_plain_form_could_send_is_refused(caller, media_type):
    answer = await send(caller, {"content-type": media_type})
    assert (answer.status_code, answer.json()["type"]) == (415, "urn:converge:problem:not_json")


async def test_a_parameter_of_the_content_type_does_not_matter(caller):
    assert (await send(caller, {"content-type": "application/json; charset=utf-8"})).status_code == 200


async def test_every_answer_carries_the_safe_headers_also_refusals(caller):
    for answer in (await send(caller, {}), await send(caller, {"host": "evil.example"})):
        assert {name: answer.headers[name] for name in guard.HEADERS} == guard.HEADERS


async def test_a_route_that_takes_too_long_is_given_up(caller, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.01)
    answer = await caller.get("/slow")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:converge:problem:too_slow")


async def test_a_wait_may_take_its_time(caller, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.01)
    assert (await caller.get("/thing/wait")).json() == "done"


async def test_a_body_over_its_limit_is_too_large(caller):
    answer = await send(caller, {}, b'"' + b"x" * 1_000 + b'"')
    assert (answer.status_code, answer.json()["detail"]) == (413, "the body is larger than 1,000 bytes")


async def test_a_gzip_body_is_unzipped(caller):
    body = b'{"a": 1}'
    assert (await send(caller, {"content-encoding": "gzip"}, gzip.compress(body))).json() == len(body)


async def test_a_gzip_body_of_several_members_is_their_texts_one_after_another(caller):
    body = gzip.compress(b'{"a":') + gzip.compress(b"") + gzip.compress(b" 1}")
    assert (await send(caller, {"content-encoding": "gzip"}, body)).json() == len(b'{"a": 1}')


async def test_what_is_no_gzip_after_a_gzip_body_is_a_bad_request(caller):
    answer = await send(caller, {"content-encoding": "gzip"}, gzip.compress(b'{"a": 1}') + b"more")
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:converge:problem:bad_gzip")


async def test_a_body_that_stops_coming_is_given_up(caller, monkeypatch):
    monkeypatch.setattr(bodies, "STALL_SECONDS", 0.01)

    async def stalled():
        yield b'{"a":'
        await asyncio.sleep(60)

    answer = await send(caller, {}, stalled())
    assert (answer.status_code, answer.json()["type"]) == (408, "urn:converge:problem:body_stalled")


async def test_the_limit_counts_unzipped_bytes(caller):
    bomb = gzip.compress(b'"' + b"x" * 1_000_000 + b'"')
    assert len(bomb) < 2_000
    assert (await send(caller, {"content-encoding": "gzip"}, bomb)).status_code == 413


@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(b'{"a": 1}', mtime=0)[:-4]], ids=["no gzip", "cut short"])
async def test_a_broken_gzip_body_is_a_bad_request(caller, body):
    answer = await send(caller, {"content-encoding": "gzip"}, body)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:converge:problem:bad_gzip")


async def test_an_unknown_encoding_is_refused(caller):
    assert (await send(caller, {"content-encoding": "br"})).status_code == 415


@pytest.mark.parametrize(
    ("body", "location"),
    [
        (b'{"a": [1, NaN]}', "body/a/1"),
        (b'{"a": {"b": 1, "b": 2}}', "body/a/b"),
        (b'{"a": 1e999}', "body/a"),
        (b'{"a": "\\ud800"}', "body/a"),
    ],
)
async def test_json_that_not_every_peer_can_carry_is_refused_at_its_place(caller, body, location):
    answer = await send(caller, {}, body)
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (400, location)
    check(answer.content)


async def test_a_bug_of_ours_tells_the_caller_nothing_of_our_inside():
    app = FastAPI()
    problems.install(app)

    @app.get("/bug")
    async def bug() -> None:
        raise RuntimeError("the password is sesame")

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/bug")
    assert answer.status_code == 500
    assert "sesame" not in answer.text


@pytest.fixture
async def guarded(engine):
    """`guarded(**access)` calls the whole application behind such a guard."""
    async with contextlib.AsyncExitStack() as opened:

        async def make(who=None, **access):
            app = build_app(engine, access=Access(**access))

            async def connection(scope, receive, send):
                state = {"identity": who} if who else {}
                await app(scope | {"state": state}, receive, send)

            client = httpx.AsyncClient(transport=httpx.ASGITransport(connection), base_url="http://localhost/api/v1")
            return await opened.enter_async_context(client)

        yield make


async def test_a_page_of_an_allowed_origin_reads_and_writes(guarded):
    client = await guarded(origins=["https://page.example"])
    headers = {"origin": "https://page.example"}
    asked = {"access-control-request-method": "PUT", "access-control-request-headers": "content-type,if-match"}
    preflight = await client.options("/kinds/leaf/manifest", headers=headers | asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://page.example"
    written = await client.put("/kinds/leaf/manifest", json=MANIFEST, headers=headers)
    assert (written.status_code, written.headers["access-control-allow-origin"]) == (200, "https://page.example")
    assert "X-Next-Cursor" in written.headers["access-control-expose-headers"]


async def test_a_page_of_another_origin_gets_no_leave(guarded):
    client = await guarded(origins=["https://page.example"])
    headers = {"origin": "https://other.example"}
    assert (await client.put("/kinds/leaf/manifest", json=MANIFEST, headers=headers)).status_code == 403
    assert "access-control-allow-origin" not in (await client.get("/version", headers=headers)).headers


async def test_without_configured_origins_no_page_gets_leave(guarded):
    client = await guarded()
    answer = await client.get("/version", headers={"origin": "https://page.example"})
    assert "access-control-allow-origin" not in answer.headers


async def test_who_asks_too_often_is_told_when_to_come_back_and_probes_are_not_counted(guarded):
    client = await guarded(requests_per_second_max=3)
    answers = [await client.get("/version") for _ in range(8)]
    refused = answers[-1]
    assert [a.status_code for a in answers[:3]] == [200, 200, 200]
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:converge:problem:too_many_requests")
    assert int(refused.headers["retry-after"]) >= 1
    assert (await client.get("http://localhost/livez")).status_code == 200


@pytest.mark.parametrize(
    ("who", "status"),
    [
        (None, 403),
        (Identity("CN=ada"), 403),
        (identity(["spiffe://example.org/ada"], "x"), 200),
        (identity(["spiffe://example.org/team/bob"], "x"), 200),
        (identity(["spiffe://example.org/team/bob", "spiffe://example.org/ada"], "x"), 403),
        (identity(["spiffe://example.org/ada/more"], "x"), 403),
        (identity(["spiffe://example.org/team"], "x"), 403),
    ],
)
async def test_only_listed_identities_are_served(guarded, who, status):
    client = await guarded(who, spiffe_ids=["spiffe://example.org/ada", "spiffe://example.org/team/*"])
    assert (await client.get("/version")).status_code == status
    assert (await client.get("http://localhost/readyz")).status_code == 200


def test_a_client_may_ask_evenly_and_a_second_s_worth_at_once():
    limit = RateLimit(2)
    assert [limit.wait_seconds("a", 10.0) for _ in range(3)] == [0, 0, 0.5]
    assert limit.wait_seconds("b", 10.0) == 0
    assert limit.wait_seconds("a", 10.5) == 0
    assert limit.wait_seconds("a", 10.5) == 0.5
    assert [limit.wait_seconds("a", 99.0) for _ in range(3)] == [0, 0, 0.5]


def test_clients_that_are_counted_are_bounded(monkeypatch):
    monkeypatch.setattr(rate, "CLIENTS_MAX", 2)
    limit = RateLimit(1)
    assert [limit.wait_seconds(client, 1.0) for client in "abca"] == [0, 0, 0, 0]
    assert limit.wait_seconds("c", 1.0) == 1
