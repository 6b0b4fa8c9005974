"""The log of a program is bounded, and a flood of lines costs next to nothing once a second has all it may have."""

import logging

import pytest

from stdworker.bridge.programlog import LINES_A_SECOND_MAX, ProgramLog
from stdworker.framing.messages import Log


@pytest.fixture
def clock():
    class Clock:
        now = 0.0

    return Clock()


@pytest.fixture
def told(caplog, clock):
    caplog.set_level(logging.INFO, "stdworker.program")
    redacted = []

    def redact(text):
        redacted.append(text)
        return text

    return ProgramLog("greeter", "ada", redact, lambda: clock.now), caplog, redacted


def test_lines_beyond_the_limit_are_counted_not_read(told):
    log, caplog, redacted = told

    log.stderr(b"y\n" * 100_000)
    log.stray(b"z", 1)
    log.end()

    assert len(redacted) == LINES_A_SECOND_MAX
    assert "99801 more lines in one second" in caplog.messages[-1]


def test_the_next_second_has_room_again(told, clock):
    log, caplog, _ = told

    log.stderr(b"y\n" * 1_000)
    clock.now = 1.0
    log.stderr(b"again\n")

    assert caplog.messages[-1] == "greeter/ada: again"
    assert "800 more lines" in caplog.messages[-2]


def test_a_line_that_is_json_keeps_its_level_and_one_that_only_looks_so_is_text(told):
    log, caplog, _ = told

    log.stderr(b'{"level":"warn","m":1}\n{"level":\n{\n')

    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.INFO, logging.INFO]


def test_an_endless_message_is_cut_and_says_how_long_it_was(told):
    log, caplog, _ = told

    log.notice(Log("info", "x" * 1_000_000))

    assert len(caplog.messages[0]) < 20_000
    assert caplog.messages[0].endswith("… (1000000 characters)")
