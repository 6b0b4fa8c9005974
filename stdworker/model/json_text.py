"""JSON kept as text: specs, statuses and configs travel verbatim.

Python's numbers can't hold every JSON number, and re-encoding loses key order, `1.0` against `1` and
escapes. So a document is a `RawJson`: its bytes, checked once where it enters, decoded only for those who
look inside. Two documents are *equal* when they are the same after sorting keys and dropping white space,
with numbers compared as they are written (decision 33 of the design).
"""

from __future__ import annotations

import gc
import json
import re
from json.encoder import encode_basestring_ascii
from typing import Any

import msgspec
import orjson

from stdworker.errors import JsonError
from stdworker.model.json_faults import (
    DEPTH_MAX,
    NUMBER_CHARACTERS_MAX,
    Walker,
    escape_token,
    locate_unencodable,
    plain,
)

__all__ = [
    "DEPTH_MAX",
    "NUMBER_CHARACTERS_MAX",
    "RawJson",
    "ascii_line",
    "check",
    "dumps",
    "elements",
    "equal",
    "escape_token",
    "join_elements",
    "join_members",
    "loads",
    "members",
]

GC_PAUSED_BYTES = 262_144  # decoding more makes so many objects that the collector would run again and again

_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_BEYOND_64_BITS = b"0" * 19  # an integer of so many digits may be; orjson would turn it into a float
_BEYOND_A_THIRD = b"0" * (NUMBER_CHARACTERS_MAX // 3 - 2)  # some part of a number that is too long has so many digits


class RawJson(bytes):
    """One JSON document, verbatim. Compare with `==` for the same bytes, `equal` for the same document."""

    __slots__ = ()

    def value(self) -> Any:
        """Decode it into a fresh Python value, integers exact at any size."""
        return loads(self)

    def __repr__(self) -> str:
        return f"RawJson({bytes(self)!r})"


def loads(document: bytes) -> Any:
    """Decode checked JSON; integers of any size stay exact."""
    if _has_digits(document, _BEYOND_64_BITS):
        return json.loads(document)
    return _quick_loads(document)


def _has_digits(document: bytes, zeros: bytes) -> bool:
    """Are there so many digits in a row? Ten times as fast as a regular expression."""
    return len(document) >= len(zeros) and zeros in document.translate(_AS_ZEROS)


def _quick_loads(document: bytes) -> Any:
    view = memoryview(document)  # orjson refuses subclasses of bytes
    if len(document) < GC_PAUSED_BYTES or not gc.isenabled():
        return orjson.loads(view)
    gc.disable()
    try:
        return orjson.loads(view)
    finally:
        gc.enable()


def dumps(value: Any) -> RawJson:
    """Encode a Python value, compact, ASCII only; a `RawJson` is returned as it is.

    A member of an Enum is its value, a UUID its text. Raises JsonError, with the path, for what JSON can't say:
    NaN, infinities, numbers of more than 1,000 characters, lone surrogates, keys that are not strings, objects of
    other types.
    """
    if isinstance(value, RawJson):
        return value
    try:
        quick = orjson.dumps(value, option=_PLAIN)
    except (TypeError, RecursionError):  # more than 64 bits, or not JSON at all
        return _dumps_slowly(value)
    if b"null" in quick and _not_finite(value):  # orjson writes NaN as null
        return _dumps_slowly(value)
    if quick.count(b"[") + quick.count(b"{") > DEPTH_MAX and _deeper(value, DEPTH_MAX):
        return _dumps_slowly(value)
    return RawJson(quick if quick.isascii() else _escape(quick))


def _dumps_slowly(value: Any) -> RawJson:
    path, problem = locate_unencodable(value, "", 0)
    if problem:
        raise JsonError(f"can't be written as JSON: {problem}", path=path, code="not_json")
    return RawJson(json.dumps(value, separators=(",", ":"), default=plain).encode("ascii"))


def _not_finite(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, default=plain)
    except ValueError:
        return True
    return False


def check(document: bytes, *, depth_max: int = DEPTH_MAX) -> RawJson:
    """Accept a document that every JSON peer can carry unchanged, else raise a JsonError naming the path.

    Refused: what is not JSON (RFC 8259), invalid UTF-8, NaN and infinities, numbers that overflow a double
    or are longer than 1,000 characters, lone surrogates, duplicate keys at any depth, nesting below
    `depth_max`. Cost: some microseconds a kilobyte; a document with suspicious traits is walked slowly.
    """
    try:
        value = _quick_loads(document)
    except orjson.JSONDecodeError:
        return _check_slowly(document, depth_max)
    if document.count(b"[") + document.count(b"{") > depth_max and _deeper(value, depth_max):
        return _check_slowly(document, depth_max)
    if _may_repeat_keys(document, value) or _has_digits(document, _BEYOND_A_THIRD):
        return _check_hooked(document, depth_max)
    return RawJson(document)


def ascii_line(document: bytes) -> bytes:
    """The same document on one line of ASCII: other characters escaped, line breaks between tokens blank."""
    if not document.isascii():
        document = _escape(document)
    if b"\n" in document or b"\r" in document:
        document = document.translate(_LINE_BREAKS)  # checked JSON has raw ones only between tokens
    return document


def equal(a: bytes | None, b: bytes | None) -> bool:
    """Is it the same document? Key order and white space don't count, the spelling of numbers does."""
    if a is None or b is None:
        return a is b
    return a == b or _comparable(a) == _comparable(b)


def members(document: bytes) -> dict[str, RawJson] | None:
    """The members of an object with their values verbatim, or None when it is no object."""
    try:
        return {key: RawJson(raw) for key, raw in _MEMBERS.decode(document).items()}
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return None


def elements(document: bytes) -> list[RawJson] | None:
    """The elements of an array verbatim, or None when it is no array."""
    try:
        return [RawJson(raw) for raw in _ELEMENTS.decode(document)]
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return None


def join_members(parts: dict[str, RawJson]) -> RawJson:
    """The inverse of `members`: an object of verbatim values."""
    inner = b",".join(encode_basestring_ascii(key).encode("ascii") + b":" + raw for key, raw in parts.items())
    return RawJson(b"{" + inner + b"}")


def join_elements(parts: list[RawJson]) -> RawJson:
    """The inverse of `elements`: an array of verbatim values."""
    return RawJson(b"[" + b",".join(parts) + b"]")


_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_COLON_ESCAPED = b"\\u003"
_CONTAINERS = (dict, list, tuple)
_LINE_BREAKS = bytes.maketrans(b"\r\n", b"  ")


class _Number(str):
    """A number as written: equal only to the same spelling, never to a string."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and str.__eq__(self, other)

    __hash__ = str.__hash__


def _comparable(document: bytes) -> Any:
    return json.loads(document, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _escape(document: bytes) -> bytes:
    pieces = re.split(r"([^\x00-\x7f]+)", document.decode("utf-8"))
    return "".join(p if p.isascii() else encode_basestring_ascii(p)[1:-1] for p in pieces).encode("ascii")


def _may_repeat_keys(document: bytes, value: Any) -> bool:
    """Of keys that repeat only one is decoded: written again, the value has fewer colons than the document."""
    colons = document.count(b":")
    if type(value) is dict and len(value) == colons:
        return False
    if _COLON_ESCAPED in document:  # decoded it is one more
        return True
    try:
        return orjson.dumps(value).count(b":") != colons
    except TypeError:  # nested deeper than orjson writes
        return True


def _deeper(value: Any, depth_max: int) -> bool:
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(depth_max):
        items = (item.values() if type(item) is dict else item for item in level)
        level = [v for inner in items for v in inner if type(v) in _CONTAINERS]
        if not level:
            return False
    return True


class _Doubtful(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _Doubtful


def _short(number: str) -> None:
    if len(number) > NUMBER_CHARACTERS_MAX:
        raise _Doubtful


def _check_hooked(document: bytes, depth_max: int) -> RawJson:
    """Duplicate keys and long numbers by the C scanner's hooks; the walker then names the place."""
    try:
        json.loads(document, object_pairs_hook=_unique, parse_int=_short, parse_float=_short)
    except (_Doubtful, ValueError, RecursionError):
        return _check_slowly(document, depth_max)
    return RawJson(document)


def _check_slowly(document: bytes, depth_max: int) -> RawJson:
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not UTF-8", code="not_utf8") from None
    Walker(text, depth_max).document()
    return RawJson(document)
