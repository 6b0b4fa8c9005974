"""What `stdworker status` shows of a worker's document."""

import copy
import json
import os
import re
import socket
import threading

import pytest
from click.testing import CliRunner

from stdworker.cli import status, terminal
from stdworker.cli.status_output import duration, one_worker, several_workers

KIND = {
    "kind": "thing",
    "kind_version": 2,
    "origin": "plugin stdio (stdworker 1.0)",
    "ready": False,
    "reason": "the program keeps dying; exit status 3",
    "credit": 4,
    "in_flight": 1,
    "waiting": 7,
    "outcomes": {"success": 10, "transient": 2, "terminal": 1, "released": 3},
    "config": {"hash": "abcdef012345", "changes": 1},
    "provider": {
        "mode": "stream",
        "breaker_open": True,
        "pools": [
            {
                "default": True,
                "restarts": 5,
                "processes": [{"pid": 4711, "address": None, "uptime_seconds": 61.5, "in_flight": 1, "answered": 9}],
            },
            {"default": False, "restarts": 0, "processes": []},
        ],
    },
}
WORKER = {
    "version": "1.0",
    "pid": 42,
    "hostname": "here",
    "uptime_seconds": 3725.0,
    "loop": {"stuck_seconds": 0.0, "held_by": ""},
    "broker": {
        "address": "broker:9090",
        "connected": True,
        "since_seconds": 5.0,
        "extensions": ["alive", "batch"],
        "error": "unavailable: connection refused",
        "error_seconds_ago": 6.0,
    },
    "draining": False,
    "missing": ["no kind is ready"],
    "results": {"buffered": 2, "dropped": 1},
    "kinds": [KIND],
    "slowest_tasks": [
        {
            "kind": "thing",
            "kind_version": 2,
            "name": "a",
            "stage": "work",
            "seconds": 12.0,
            "progress": {"fraction": 0.5, "message": "copying"},
            "cancelled": "",
        }
    ],
}
SHOWN = """\
worker 42 on here, version 1.0, up 1h2m: not ready
broker broker:9090: connected for 5.0s (alive, batch)
  last trouble, 6.0s ago: unavailable: connection refused
missing: no kind is ready
results: 2 not settled by the broker yet, 1 given up

KIND     STATE         RUN  WAIT  CREDIT  OK  RETRY  FAILED  RELEASED  MODE    CONFIG
thing@2  breaker open  1    7     4       10  2      1       3         stream  abcdef012345
  thing@2: the program keeps dying; exit status 3

PROGRAM  CONFIG    PROCESS  UP    RUN  ANSWERED  RESTARTS
thing@2  default   4711     1m1s  1    9         5
thing@2  override  none     -     0    -         0

SLOWEST TASKS  STAGE  FOR  PROGRESS
thing@2/a      work   12s  50% copying
"""


def changed(**members):
    return copy.deepcopy(WORKER) | members


def text(worker):
    return "\n".join(one_worker(worker)) + "\n"


def test_everything_that_is_known_is_shown():
    assert text(WORKER) == SHOWN.replace("1m1s   ", "1m1s  ").replace("-      0", "-     0").replace(
        "UP     ", "UP    "
    )


def test_a_loop_that_stands_still_is_shown_with_what_holds_it():
    shown = text(changed(loop={"stuck_seconds": 33.0, "held_by": "plugin.py:7 in work"}))
    assert "its event loop stands still for 33s" in shown
    assert "plugin.py:7 in work" in shown


@pytest.mark.parametrize(
    ("state", "members"),
    [
        ("draining", {"draining": True}),
        ("not connected", {"broker": WORKER["broker"] | {"connected": False}}),
        ("ready", {"missing": []}),
    ],
)
def test_the_state_is_one_word_or_two(state, members):
    assert text(changed(**members)).splitlines()[0].endswith(f": {state}")


@pytest.mark.parametrize("provider", [None, {"error": "boom"}, "odd", 5, {"mine": 1}])
def test_what_another_provider_shows_of_itself_disturbs_nothing(provider):
    assert "PROGRAM" not in text(changed(kinds=[KIND | {"provider": provider}]))


@pytest.fixture
def answering():
    """An address where somebody answers one request with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(said):
            with server.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(said)

        def answer(said):
            threading.Thread(target=serve, args=(said,), daemon=True).start()
            return f"127.0.0.1:{server.getsockname()[1]}"

        yield answer


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"\x1b[31mhello\r\n\r\n", "?[31mhello"),
        (b"HTTP/1.1 404 Gone\r\n\r\n", "it answers 404 Gone to GET /status"),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "it answers something else than an object"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, "nested deeper"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"a":NaN}', "NaN is not a JSON number"),
        (b"", "closed connection"),
    ],
)
def test_somebody_who_is_no_worker_is_named_in_one_line(answering, said, told, form):
    done = CliRunner().invoke(status.status, ["--output", form, "--addr", answering(said)])

    assert done.exit_code == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: no worker answers at 127.0.0.1:")
    assert told in line


@pytest.mark.parametrize("document", [{}, {"version": "9"}, WORKER | {"kinds": [{}]}, WORKER | {"broker": "x"}])
def test_an_answer_of_another_version_is_one_clear_line(document, monkeypatch):
    monkeypatch.setattr(status, "_ask_local", lambda pid: [document])
    done = CliRunner().invoke(status.status)
    assert done.exit_code == 1
    assert "try --output json" in done.stderr
    assert json.loads(CliRunner().invoke(status.status, ["-o", "json"]).stdout) == document


def test_several_workers_are_a_line_each():
    heading, first, second, hint = several_workers([WORKER, changed(pid=43)])
    assert heading.split()[:3] == ["PID", "VERSION", "UP"]
    assert first.split() == ["42", "1.0", "1h2m", "broker:9090", "not", "ready", "0", "of", "1", "kinds", "1"]
    assert second.startswith("43")
    assert "--pid" in hint


SHOWN_OF_MANY = "PID  VERSION  UP  BROKER  STATE  READY  IN FLIGHT"


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_every_column_is_shown_with_its_heading_or_named_as_left_out(monkeypatch, columns):
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
    for shown in (text(WORKER), "\n".join(several_workers([WORKER, WORKER | {"pid": 43}]))):
        assert max(map(len, shown.splitlines())) <= columns
        notes = re.findall(r"\(too wide for this terminal: ([^;]*);", " ".join(shown.split()))
        missing = ", ".join(notes).split(", ")
        heads = [line for line in shown.splitlines() if re.match("PID|KIND|PROGRAM|SLOWEST", line)]
        told = [name for line in heads for name in re.split("  +", line)] + [name for name in missing if name]
        whole = [line for line in (SHOWN_OF_MANY if "(--pid" in shown else SHOWN).splitlines() if line.isupper()]
        assert sorted(told) == sorted(name for line in whole for name in re.split("  +", line))
        assert not {"PID", "BROKER", "KIND", "STATE", "FAILED", "PROGRESS", "PROCESS"} & set(missing)


def test_on_a_terminal_no_line_is_longer_than_it_is_wide(monkeypatch):
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    lines = text(WORKER).splitlines()
    assert max(map(len, lines)) == 40
    assert any(line.endswith("…") for line in lines)
    assert "keeps dying; exit status 3" in " ".join(" ".join(lines).split())


def test_what_a_program_says_gives_a_terminal_no_orders():
    task = WORKER["slowest_tasks"][0] | {"progress": {"fraction": None, "message": "\x1b[31mred\nnext"}}
    assert "?[31mred?next" in text(changed(slowest_tasks=[task]))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0s"),
        (4.25, "4.2s"),
        (59.9, "60s"),
        (60, "1m0s"),
        (3600, "1h0m"),
        (90_000, "1d1h"),
        (10 * 86_400, "10d0h"),
    ],
)
def test_a_duration_shows_its_two_largest_units(seconds, shown):
    assert duration(seconds) == shown
