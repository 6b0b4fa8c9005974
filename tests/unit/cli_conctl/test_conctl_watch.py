"""`conctl watch`: what it reads, when it goes on, when it gives up."""

import json
import socket

import httpx
import pytest

from stdworker.cli.conctl import watch
from stdworker.cli.conctl.client import Client, Connection, Failed
from stdworker.cli.conctl.watch import Watching, blocks, line_of

CHANGE = {
    "type": "MODIFIED",
    "event": {
        "seq": 7,
        "resource": {"kind": "leaf", "name": "a"},
        "type": "PhaseChanged",
        "reason": "Failed",
        "message": "no\x1b[31m\nway",
        "created_at": "2026-01-02T03:04:05.000Z",
    },
    "resource": {"phase": "Failed"},
}


class Stopped(Exception):
    """Ends a watch that would go on for ever."""


def test_an_engine_has_its_time_to_answer_and_a_stream_longer_to_say_something():
    limits = []

    def answer(request):
        def stream():
            limits.append(request.extensions["timeout"]["read"])
            yield b"id: 1\n\n"
            raise Stopped

        limits.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, content=stream())

    engine = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://engine")
    with pytest.raises(Stopped):
        next(Watching(Client(Connection(timeout_seconds=2.0), engine), "/watch", {}).events())
    assert limits == [2.0, watch.SILENCE_SECONDS]


def test_an_engine_that_takes_a_connection_and_never_answers_is_given_up_in_time(conctl):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = conctl("--server", server, "watch", "--timeout", "50ms")
    assert (done.exit_code, done.stderr) == (1, f"Error: no answer from {server} within 0.05 s\n")


@pytest.fixture
def watching(monkeypatch):
    """A watch of an engine that gives these answers, and the headers of each request."""
    asked = []
    pauses = []
    monkeypatch.setattr(watch.time, "sleep", pauses.append)

    def start(*answers):
        rest = iter(answers)

        def answer(request):
            asked.append(request.headers.get("last-event-id"))
            given = next(rest, None)
            if given is None:
                raise Stopped
            if isinstance(given, Exception):
                raise given
            return given

        client = Client(Connection(), httpx.Client(transport=httpx.MockTransport(answer), base_url="http://engine"))
        return Watching(client, "/watch", {}).events(), asked, pauses

    return start


def test_blocks_end_at_an_empty_line_however_the_bytes_come():
    text = 'retry: 1\nid: 1\n\n: heartbeat\nid: 2\n\nid: 3\ndata: {"a":"\u2028 x: y"}\n\n'.encode()
    told = [{b"retry": b"1", b"id": b"1"}, {b"id": b"2"}]
    told.append({b"id": b"3", b"data": '{"a":"\u2028 x: y"}'.encode()})
    assert list(blocks(iter([text]))) == told
    assert list(blocks(text[i : i + 1] for i in range(len(text)))) == told


def test_a_line_says_what_happened_without_what_a_terminal_obeys():
    line = line_of(json.dumps(CHANGE).encode(), "table")
    assert line.endswith("MODIFIED  leaf/a  Failed  PhaseChanged Failed no?[31m way")
    assert line_of(json.dumps(CHANGE).encode(), "name") == "leaf/a"


def test_it_goes_on_after_the_last_id_and_waits_longer_each_time_within_bounds(watching):
    one = httpx.Response(200, content=b"id: 5\n\nid: 6\ndata: {}\n\n")
    quiet = httpx.Response(200, content=b"id: 9\n\nevent: end\ndata: {}\n\n")
    broken = [httpx.ConnectError("refused") for _ in range(8)]
    events, asked, pauses = watching(one, quiet, httpx.Response(503, text="draining"), *broken)
    assert next(events) == b"{}"
    with pytest.raises(Stopped):
        next(events)
    assert asked == [None, "6", *["9"] * 10]
    assert pauses[0] <= 0.5 < pauses[-1] <= 10.0


def test_an_outage_is_told_once_and_the_next_one_anew(watching, capsys):
    one = httpx.Response(200, content=b"id: 5\n\n")
    away = [httpx.ConnectError("refused") for _ in range(3)]
    events, _, _ = watching(one, *away, httpx.Response(200, content=b"id: 6\n\n"), *away)
    with pytest.raises(Stopped):
        next(events)
    assert capsys.readouterr().err.splitlines() == [
        "(the stream ended; watching goes on after event 5)",
        "(no engine answers at http://localhost:8080: refused; watching goes on after event 5)",
        "(the stream ended; watching goes on after event 6)",
        "(no engine answers at http://localhost:8080: refused; watching goes on after event 6)",
    ]


def test_an_engine_that_is_not_there_at_first_is_an_error(watching):
    events, _, pauses = watching(httpx.ConnectError("refused"))
    with pytest.raises(Failed, match="no engine answers"):
        next(events)
    assert pauses == []


@pytest.mark.parametrize("status", [410, 404, 401])
def test_what_another_try_would_not_mend_ends_it(watching, status):
    events, _, _ = watching(httpx.Response(200, content=b"id: 5\n\n"), httpx.Response(status, text="no"))
    with pytest.raises(Failed) as raised:
        next(events)
    assert raised.value.status == status


def test_a_resource_and_filters_exclude_each_other(conctl):
    done = conctl("watch", "leaf/a", "-k", "leaf")
    assert (done.exit_code, "not both" in done.output) == (2, True)


def test_a_resource_that_is_not_there_is_an_error(conctl):
    done = conctl("watch", "leaf/none")
    assert (done.exit_code, "there is no resource leaf/none" in done.output) == (1, True)
