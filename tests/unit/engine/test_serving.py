"""Connections of the REST API that say nothing, or take nothing."""

import asyncio
import errno
import resource
import socket

import pytest
from fastapi import FastAPI

from stdworker.engine import server
from stdworker.engine.listening import TAKE_MS, Crowded, allow_connections, listen
from stdworker.engine.server import Site, http_config

pytestmark = pytest.mark.anyio


@pytest.fixture
async def port(monkeypatch):
    """Of a site that waits shortly for the head of a request."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
    with listen("LISTEN_ADDR", "127.0.0.1", 0) as listener:
        site = Site("REST", FastAPI(), "127.0.0.1", listener)
        serving = asyncio.create_task(site.serve([listener]))
        yield listener.getsockname()[1]
        site.should_exit = True
        await serving


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
async def test_who_sends_no_whole_head_is_hung_up_on(port, said):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


async def test_who_begins_a_second_head_and_stops_is_hung_up_on(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
    writer.write(head)
    answer = await asyncio.wait_for(reader.readuntil(b"}"), 10)
    writer.write(head[:9])
    assert (answer.split()[1], await asyncio.wait_for(reader.read(), 10)) == (b"404", b"")
    writer.close()


def test_an_idle_connection_is_kept_for_longer_than_proxies_keep_theirs():
    assert http_config(FastAPI(), None).timeout_keep_alive > 60


async def test_that_no_file_is_left_for_connections_is_told_once(caplog):
    loop = asyncio.get_running_loop()
    tell = Crowded()
    for _ in range(3):
        tell(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")})
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        "connections wait: Too many open files"
    ]
    tell(loop, {"message": "of another kind"})
    assert "of another kind" in caplog.text


def test_a_process_takes_as_many_open_files_as_it_may(monkeypatch):
    limits = {"soft": 256}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limits["soft"], 1_000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.update(soft=both[0]))
    allow_connections()
    assert limits == {"soft": 1_000}


def test_an_answer_that_nobody_takes_is_not_kept_for_ever():
    with listen("LISTEN_ADDR", "127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == TAKE_MS
