"""RFC 6901 pointers into verbatim documents: read one value, or set one and leave every other token alone."""

from __future__ import annotations

from stdworker.errors import JsonError
from stdworker.model.json_text import DEPTH_MAX, RawJson, elements, join_elements, join_members, members

__all__ = ["find", "parse", "replace"]

INDEX_DIGITS_MAX = 10  # no array is longer


def parse(pointer: str) -> list[str]:
    """Split a pointer into reference tokens.

    Raises JsonError unless it is "" or starts with a slash, and when it leads deeper than a document may be nested.
    """
    if pointer and not pointer.startswith("/"):
        raise JsonError(f"{pointer!r} is not an RFC 6901 pointer; it must start with '/'", code="bad_pointer")
    if pointer.count("/") > DEPTH_MAX:
        told = f"the pointer {pointer[:40]}… has {pointer.count('/')} tokens; documents are at most {DEPTH_MAX} deep"
        raise JsonError(told, code="bad_pointer")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def find(document: bytes, pointer: str) -> RawJson | None:
    """The value at `pointer`, verbatim, or None when there is none."""
    here = RawJson(document)
    for token in parse(pointer):
        fields = members(here)
        if fields is not None:
            if token not in fields:
                return None
            here = fields[token]
            continue
        items = elements(here)
        if items is None or not _is_index(token) or int(token) >= len(items):
            return None
        here = items[int(token)]
    return here


def replace(document: bytes, pointer: str, value: RawJson) -> RawJson:
    """The document with `value` at `pointer`; missing parents are created as objects.

    Raises JsonError (code `wrong_target`), with the path, when a parent is neither object nor array, or
    when an array has no such place (its end, or `-`, appends).
    """
    return _replace(RawJson(document), parse(pointer), 0, value, pointer)


def _replace(here: RawJson, tokens: list[str], depth: int, value: RawJson, pointer: str) -> RawJson:
    if depth == len(tokens):
        return value
    token = tokens[depth]
    fields = members(here)
    if fields is not None:
        fields[token] = _replace(fields.get(token, _EMPTY), tokens, depth + 1, value, pointer)
        return join_members(fields)
    items = elements(here)
    path = "/" + "/".join(pointer.split("/")[1 : depth + 1]) if depth else ""
    if items is None:
        raise JsonError(f"{pointer} can't be set inside a {_name(here)}", path=path, code="wrong_target")
    place = len(items) if token == "-" else int(token) if _is_index(token) else -1
    if not 0 <= place <= len(items):
        raise JsonError(f"the array has no place {token!r}", path=path, code="wrong_target")
    inner = _replace(items[place] if place < len(items) else _EMPTY, tokens, depth + 1, value, pointer)
    return join_elements([*items[:place], inner, *items[place + 1 :]])


_EMPTY = RawJson(b"{}")


def _is_index(token: str) -> bool:
    plain = len(token) <= INDEX_DIGITS_MAX and token.isascii() and token.isdigit()
    return plain and (token == "0" or token[0] != "0")


def _name(value: RawJson) -> str:
    first = value.lstrip()[:1]
    return {b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}.get(first, "number")
