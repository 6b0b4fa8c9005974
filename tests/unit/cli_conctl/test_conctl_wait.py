"""`conctl wait` when the engine is away for a while."""

import socket
from types import SimpleNamespace

import httpx
import pytest

from stdworker.cli.conctl import reconnecting, wait
from stdworker.cli.conctl.client import Client, Connection, Failed
from stdworker.cli.conctl.run import await_end
from stdworker.cli.conctl.wait import wait_for

NOT_YET = httpx.Response(408, json={"detail": "leaf/a is Reconciling, not ready", "errors": []})
READY = httpx.Response(200, json={})
GONE = httpx.ConnectError("refused")
CUT = httpx.ReadError("reset")
ENDING = httpx.Response(503, json={"detail": "the engine is shutting down", "errors": []})


@pytest.fixture
def client(monkeypatch):
    """A client of an engine that gives these answers, the last one for ever; a pause is over at once."""
    slept = []
    time = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    for module in (wait, reconnecting):
        monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr("stdworker.cli.conctl.run.time", time)

    def answering(*answers):
        rest = list(answers)

        def answer(request):
            given = rest.pop(0) if len(rest) > 1 else rest[0]
            if isinstance(given, Exception):
                raise given
            return given

        return Client(Connection(), httpx.Client(transport=httpx.MockTransport(answer), base_url="http://engine"))

    return answering


@pytest.mark.parametrize("away", [GONE, CUT, ENDING, httpx.Response(502)])
def test_an_engine_that_is_away_for_a_while_is_waited_for_and_told_once(client, away, capsys):
    assert wait_for(client(NOT_YET, away, away, away, READY), ["leaf/a"], "ready", 60) == []
    told = capsys.readouterr()
    assert told.out == "leaf/a is ready\n"
    assert told.err.count("waiting goes on") == 1


def test_what_a_library_says_of_a_lost_connection_is_part_of_our_sentence(client, capsys):
    dropped = httpx.RemoteProtocolError("Server disconnected without sending a response.")
    wait_for(client(NOT_YET, dropped, READY), ["leaf/a"], "ready", 60)
    assert ": Server disconnected without sending a response; waiting goes on)\n" in capsys.readouterr().err


def test_a_wait_is_longer_than_the_engine_waits_for_one_request(client, monkeypatch):
    monkeypatch.setattr(wait, "ASKED_SECONDS_MAX", 1.0)
    assert wait_for(client(NOT_YET, NOT_YET, NOT_YET, READY), ["leaf/a"], "ready", 7200) == []


def test_an_engine_that_never_answered_is_not_waited_for(client):
    with pytest.raises(Failed, match="no engine answers"):
        wait_for(client(GONE, READY), ["leaf/a"], "ready", 60)


def test_an_engine_that_stays_away_is_told_when_the_time_is_over(client):
    with pytest.raises(Failed, match="no engine answers"):
        wait_for(client(NOT_YET, GONE), ["leaf/a"], "ready", 60)


def test_what_no_patience_mends_ends_a_wait_at_once(client):
    refused = httpx.Response(409, json={"detail": "leaf/a failed", "errors": []})
    assert wait_for(client(NOT_YET, refused, READY), ["leaf/a"], "ready", 60) == ["leaf/a failed"]


def test_the_end_of_an_operation_is_awaited_over_interruptions_and_each_is_told(client, capsys):
    running, done = (httpx.Response(200, json={"uid": "1", "state": state}) for state in ("running", "succeeded"))
    asked = client(running, GONE, GONE, running, CUT, done)
    operation = asked.call("POST", "/resources/leaf/a/ops", body=b"{}").content
    assert b"succeeded" in await_end(asked, "/resources/leaf/a", operation)
    assert capsys.readouterr().err.count("waiting goes on") == 2


def test_of_more_than_a_graph_shows_only_the_first_are_counted():
    top = {"ref": "stack/a", "phase": "Reconciling", "is_ready": False, "message": ""}
    below = [{"ref": f"leaf/{number}", "phase": "Ready", "is_ready": True, "message": ""} for number in range(2)]
    assert wait.summary([top, *below]) == "stack/a Reconciling, 2 of 2 Ready"
    assert wait.summary([top, *below], is_cut=True) == "stack/a Reconciling, 2 of the first 2 Ready"


def test_an_engine_that_never_answers_is_waited_for_no_longer_than_asked(conctl):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = conctl("--server", server, "wait", "leaf/a", "--timeout", "200ms")
    assert done.exit_code == 1
    assert f"no answer from {server} within 0." in done.stderr
