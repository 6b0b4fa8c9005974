"""What a line means, beyond the vectors."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker.errors import ResponseError
from stdworker.framing.document import BLOCKS_TRIED_MAX, read_document
from stdworker.framing.lines import Overlong
from stdworker.framing.messages import EXPLAINED_BYTES_MAX, Broken, Log, Progress, Stray, read_line, read_notice


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda rest: b"{" + rest))
def test_no_line_is_an_exception(line):
    read_line(line.replace(b"\n", b""))


@given(st.lists(st.sampled_from([b"{", b"}", b"\n", b'"a":', b'"status":', b"1", b"[", b"]", b" ", b"\xff", b"{}\n"])))
def test_no_output_of_a_one_shot_program_is_an_unforeseen_exception(pieces):
    with contextlib.suppress(ResponseError):
        read_document(b"".join(pieces))


def test_a_log_notice_keeps_its_fields():
    assert read_notice(b'{"log":{"level":"WARN","message":"m","disk":3}}') == Log("warn", "m", {"disk": 3})


def test_progress_may_be_empty():
    assert read_notice(b'{"progress":{}}') == Progress(None, None, None)


def test_an_overlong_answer_still_names_its_request():
    message = read_line(Overlong(b'{"id": "12", "status": "xxxx', 10_000), line_bytes_max=64)

    assert isinstance(message, Broken)
    assert message.id == "12"
    assert message.error.code == "line_too_long"
    assert "10000 bytes is over limits.line_bytes (64)" in message.error.message


def test_a_long_broken_line_still_names_its_request():
    message = read_line(b'{"id":"12","status":"' + b"x" * EXPLAINED_BYTES_MAX)

    assert isinstance(message, Broken)
    assert (message.id, message.error.code) == ("12", "bad_json")
    assert len(message.error.message) < 400


def test_overlong_text_is_stray():
    assert read_line(Overlong(b"xxx", 10_000)) == Stray(b"xxx", 10_000)


def test_an_answer_over_several_lines_is_explained():
    message = read_line(b"{")

    assert isinstance(message, Broken)
    assert "one line" in message.error.hint


def test_deep_nesting_is_a_value_too():
    message = read_line(b'{"id":"1","status":' + b"[" * 5_000)

    assert isinstance(message, Broken)
    assert message.id == "1"


def test_a_flood_of_opening_braces_is_given_up():
    with pytest.raises(ResponseError):
        read_document(b"{\n" * (BLOCKS_TRIED_MAX * 3) + b'{"status":1}\n')
