"""Who may ask, how, and how long."""

import asyncio
import gzip

import httpx
import pytest
from fastapi import FastAPI, Request

from stdworker.engine.api import bodies, guard, problems
from stdworker.engine.api.guard import Guard

pytestmark = pytest.mark.anyio


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

    app.add_middleware(Guard, hosts=["converge.example", ""])
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
