"""A stream becomes the same lines however it is cut into chunks, in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from stdworker.framing.lines import SHOWN_BYTES_MAX, LineBuffer, Overlong

LIMIT = 300


def lines_of(chunks, limit=LIMIT):
    buffer = LineBuffer(limit)
    found = [line for chunk in chunks for line in buffer.feed(chunk)]
    return found + buffer.end()


def reference(content, limit=LIMIT):
    """The rule in its plainest form."""
    *lines, last = content.split(b"\n")
    lines += [last] if last else []
    found = []
    for number, line in enumerate(lines):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line
        if len(line) > limit:
            start = line[:SHOWN_BYTES_MAX]
            found.append(Overlong(start.removeprefix(b"\xef\xbb\xbf") if number == 0 else start, len(line)))
        else:
            found.append(text.removesuffix(b"\r"))
    return found


def cut(content, places):
    marks = sorted({min(place, len(content)) for place in places})
    return [content[a:b] for a, b in zip([0, *marks], [*marks, len(content)], strict=True)]


pieces = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b"a", b"{}", b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b"x" * 290, b"y" * 700]
)


@given(st.lists(pieces, max_size=30).map(b"".join), st.lists(st.integers(0, 4_000), max_size=12))
def test_lines_don_t_depend_on_how_the_stream_was_cut(content, places):
    assert lines_of(cut(content, places)) == reference(content)


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=12))
def test_any_bytes_are_read(content, places):
    assert lines_of(cut(content, places)) == reference(content)


def test_only_lf_ends_a_line():
    assert lines_of(["a\u2028b\u0085c\x0bd\x0ce\rf".encode()]) == ["a\u2028b\u0085c\x0bd\x0ce\rf".encode()]


def test_a_last_line_without_newline_counts():
    assert lines_of([b"a\nb"]) == [b"a", b"b"]


def test_a_line_at_the_limit_is_kept_and_the_next_byte_is_too_much():
    assert lines_of([b"x" * LIMIT + b"\n"]) == [b"x" * LIMIT]
    assert lines_of([b"x" * (LIMIT + 1) + b"\n"]) == [Overlong(b"x" * SHOWN_BYTES_MAX, LIMIT + 1)]


def test_after_an_overlong_line_the_next_one_is_right():
    assert lines_of([b"x" * 200, b"x" * 200, b"x\n{", b"}\n"])[1:] == [b"{}"]


def test_an_endless_line_takes_no_memory():
    buffer = LineBuffer(LIMIT)

    for _ in range(1_000):
        assert buffer.feed(b"x" * 1_000) == []
        assert len(buffer.unfinished) <= LIMIT

    assert buffer.feed(b"\n") == [Overlong(b"x" * SHOWN_BYTES_MAX, 1_000_000)]
