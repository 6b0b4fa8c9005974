"""Everything that a one-shot program printed, notices removed: which part of it is the response?

The whole text is one JSON document, or exactly one block of it is a response: it begins at a line that starts
with `{`, ends at the end of a line, and parses to an object with a field that the protocol knows (or to `{}`).
All other text is stray.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from stdworker.errors import JsonError, ResponseError
from stdworker.framing.response import is_response, not_a_response, shown
from stdworker.model.json_text import check, members

BLOCKS_TRIED_MAX = 1_000  # lines that start with "{" are tried as a response at most this often
SCANNED_CHARACTERS_MAX = 32 << 20  # in tries that failed: a program must not keep the host busy with nonsense
STRAY_LINES_KEPT_MAX = 200

_BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
_WORDS_OF_A_LINE = re.compile(r"\S[^\n]*")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)


@dataclass(frozen=True, slots=True)
class Document:
    """`response` is the text of the response, None when there was nothing to report.

    `stray` are the first of the other lines, `stray_lines` how many there are.
    """

    response: bytes | None
    stray: tuple[bytes, ...] = ()
    stray_lines: int = 0


def is_whole(text: bytes) -> bool:
    """Is there already one response, and nothing else? Then a program that ended can say no more."""
    stripped = text.strip()
    return stripped[:1] == b"{" and stripped[-1:] == b"}" and members(stripped) is not None


def read_document(text: bytes) -> Document:
    """Find the response. Raises ResponseError when there is text but no response in it, or more than one."""
    text = text.removeprefix(_BOM).strip()
    if text in (b"", b"null"):
        return Document(None)
    names = members(text)
    if names is None:
        return _search(text)
    if not is_response(names.keys()):
        raise not_a_response(names.keys(), text)
    return Document(text)


def _search(text: bytes) -> Document:
    decoded = text.decode("utf-8", "surrogateescape")
    blocks = list(_blocks(decoded))
    responses = [(start, end) for start, end, known in blocks if known]
    if len(responses) > 1:
        raise ResponseError(f"there are {len(responses)} responses, expected one; {shown(text)}", code="two_responses")
    if not responses:
        raise _no_response(text, decoded, has_objects=bool(blocks))
    ((start, end),) = responses
    stray = chain(_WORDS_OF_A_LINE.finditer(decoded, 0, start), _WORDS_OF_A_LINE.finditer(decoded, end))
    kept = tuple(_encoded(line.group()) for line in islice(stray, STRAY_LINES_KEPT_MAX))
    return Document(_encoded(decoded[start:end]), kept, len(kept) + sum(1 for _ in stray))


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Every object that fills whole lines, and whether it is a response."""
    at = scanned = 0
    for _ in range(BLOCKS_TRIED_MAX):
        opening = _OPENING.search(text, at)
        if opening is None or scanned > SCANNED_CHARACTERS_MAX:
            return
        try:
            value, end = _SCANNER.raw_decode(text, opening.end())
        except (ValueError, RecursionError) as error:
            scanned += getattr(error, "pos", len(text)) - opening.end()
            at = _next_line(text, opening.end())
            continue
        closing = _REST_OF_LINE.match(text, end)
        if closing is None:
            at = _next_line(text, opening.end())
            continue
        yield opening.end(), end, is_response(value.keys())
        at = closing.end()


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _no_response(text: bytes, decoded: str, *, has_objects: bool) -> ResponseError:
    if has_objects:
        return ResponseError(f"no object has a field of a response; {shown(text)}", code="not_a_response")
    opening = _OPENING.search(decoded)
    try:
        check(text if opening is None else _encoded(decoded[opening.end() :]))
    except JsonError as error:
        if error.code == "cut_short" or opening is not None:
            return _unreadable(text, error)
        return ResponseError(f"expected a JSON object, got text; {shown(text)}", code="not_a_response")
    return ResponseError(f"expected a JSON object, got {_type_of(text)}; {shown(text)}", code="bad_response")


def _unreadable(text: bytes, error: JsonError) -> ResponseError:
    if error.code == "cut_short":
        reason = f"the response is cut short after {len(text)} bytes: no closing brace"
        return ResponseError(f"{reason}; {shown(text)}", code="cut_short")
    return ResponseError(f"the response can't be used: {error.message}; {shown(text)}", code=error.code)


def _type_of(text: bytes) -> str:
    return {b"[": "an array", b'"': "a string", b"t": "a boolean", b"f": "a boolean"}.get(text[:1], "a number")
