"""Finding the response in what a one-shot program printed stays cheap whatever it printed."""

import pytest

from stdworker.errors import ResponseError
from stdworker.framing import document
from stdworker.framing.document import STRAY_LINES_KEPT_MAX, read_document

RESPONSE = b'{"status":1}'


def test_stray_lines_are_counted_and_only_the_first_are_kept():
    found = read_document(b"  noise\n\n \n" * 5_000 + RESPONSE + b"\nnoise\n" * 5_000)

    assert found.response == RESPONSE
    assert found.stray_lines == 10_000
    assert found.stray == (b"noise",) * STRAY_LINES_KEPT_MAX


def test_broken_objects_are_tried_only_until_too_much_was_read_in_vain(monkeypatch):
    broken = b'{"status":[' + b"1," * 500 + b"\n"
    assert read_document(broken * 3 + RESPONSE).response == RESPONSE

    monkeypatch.setattr(document, "SCANNED_CHARACTERS_MAX", 1_500)
    with pytest.raises(ResponseError):
        read_document(broken * 3 + RESPONSE)


def test_lines_that_are_no_text_are_stray_like_others():
    found = read_document(b"\xff\xfe\n\0\0\0\n\xf0\x9f\n" + RESPONSE + b"\n\xe2\x80\xa8")

    assert (found.response, found.stray_lines) == (RESPONSE, 3)
    assert found.stray == (b"\xff\xfe", b"\0\0\0", b"\xf0\x9f")
