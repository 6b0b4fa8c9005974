"""Reading request bodies: bounded, unzipped, checked as JSON every peer can carry, then decoded by shape."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec
from fastapi import Request

from stdworker.engine.api.problems import Refused
from stdworker.errors import ConfigKeyError, Invalid
from stdworker.model.json_text import RawJson, check

BODY_BYTES_MAX = 1 << 20
RESOURCE_BYTES_MAX = 100 << 20
CONFIG_BYTES_MAX = 50 << 20
STALL_SECONDS = 20.0
GZIP_BITS = 31  # a header and a checksum as gzip has them

_Shape = TypeVar("_Shape")


async def read(request: Request, limit_bytes: int = BODY_BYTES_MAX) -> RawJson:
    """The whole body as checked JSON. Raises Refused (413, 415) and JsonError."""
    body = b"".join([piece async for piece in pieces(request, limit_bytes)])
    request.state.body = body
    return check(body)


async def pieces(request: Request, limit_bytes: int, stall_seconds: float | None = None) -> AsyncIterator[bytes]:
    """The body as it arrives, unzipped. Raises Refused when it is longer than `limit_bytes`, and when nothing of it
    comes for `stall_seconds`, by default `STALL_SECONDS`."""
    size = 0
    async for piece in _unzipped(request, limit_bytes, stall_seconds or STALL_SECONDS):
        size += len(piece)
        if size > limit_bytes:
            raise Refused(413, "body_too_large", f"the body is larger than {limit_bytes:,} bytes")
        yield piece


async def _unzipped(request: Request, limit_bytes: int, stall_seconds: float) -> AsyncIterator[bytes]:
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        async for piece in _arriving(request, stall_seconds):
            yield piece
        return
    if encoding != "gzip":
        raise Refused(415, "unknown_encoding", f"content-encoding {encoding!r} is not known; send gzip or none")
    unzip = zlib.decompressobj(wbits=GZIP_BITS)
    try:
        async for piece in _arriving(request, stall_seconds):
            while piece:
                if unzip.eof:  # of a member: gzip texts one after another are one text
                    unzip = zlib.decompressobj(wbits=GZIP_BITS)
                yield unzip.decompress(piece, limit_bytes + 1)
                piece = unzip.unconsumed_tail or unzip.unused_data
    except zlib.error as error:
        raise Refused(400, "bad_gzip", f"the body is not gzip: {error}") from None
    if not unzip.eof:
        raise Refused(400, "bad_gzip", "the gzip body ends early")


async def _arriving(request: Request, stall_seconds: float) -> AsyncIterator[bytes]:
    stream = request.stream()
    try:
        while True:
            async with asyncio.timeout(stall_seconds):
                piece = await anext(stream)
            yield piece
    except StopAsyncIteration:
        return
    except TimeoutError:
        raise Refused(408, "body_stalled", f"nothing of the body came for {stall_seconds:.0f} s") from None


def decode(body: bytes, shape: type[_Shape]) -> _Shape:
    """A checked body as `shape`. Raises Invalid naming the member that doesn't fit."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise unfit(error, shape) from None


_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`$", re.DOTALL)
_TYPES = re.compile(r"`[^`]*`")  # as in: Expected `int | null`, got `str`
_JSON_NAMES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def _in_json(types: re.Match[str]) -> str:
    """Types by the names that a writer of JSON or YAML knows."""
    return re.sub(r"\w+", lambda name: _JSON_NAMES.get(name[0], name[0]), types[0])


def unfit(error: msgspec.ValidationError, shape: type[Any]) -> Invalid:
    """What msgspec found, as a violation with a JSON pointer."""
    text, _, place = str(error).partition(" - at `$")
    path = place.rstrip("`").replace("[...]", "").replace("[", ".").replace("]", "").replace(".", "/")
    hint = ""
    if unknown := _UNKNOWN.match(text):
        key = ConfigKeyError(unknown[1], (f.encode_name for f in msgspec.structs.fields(shape)))
        path, text, hint = f"{path}/{unknown[1]}", key.message, key.hint
    elif missing := _MISSING.match(text):
        path, text = f"{path}/{missing[1]}", "it is required"
    text = _TYPES.sub(_in_json, text).replace("`", "")
    text = text[:1].lower() + text[1:]
    return Invalid(f"{path or 'the body'}: {text}", [(path, text)], hint=hint, code="bad_body")
