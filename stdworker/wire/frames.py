"""Frames made of results that are already serialized.

A result is kept as bytes until the broker has settled it, may be sent more than once and travels alone or in
a batch. An embedded message is its length and its bytes after a tag, so that no result is encoded twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from stdworker.wire.generated import worker_pb2 as pb


def complete_frame(result: bytes) -> bytes:
    """A WorkStreamClientMsg with one serialized StageComplete."""
    return _COMPLETE + _varint(len(result)) + result


def completes_frame(results: Iterable[bytes]) -> bytes:
    """A WorkStreamClientMsg with a batch of serialized StageCompletes (extension "batch")."""
    pieces: list[bytes] = []
    for result in results:
        pieces += (_ITEM, _varint(len(result)), result)
    batch = b"".join(pieces)
    return _COMPLETES + _varint(len(batch)) + batch


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _SMALL[number]
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


_SMALL = [bytes((number,)) for number in range(0x80)]
_LENGTH_DELIMITED = 2


def _tag(field_number: int) -> bytes:
    return _varint(field_number << 3 | _LENGTH_DELIMITED)


_COMPLETE = _tag(pb.WorkStreamClientMsg.COMPLETE_FIELD_NUMBER)
_COMPLETES = _tag(pb.WorkStreamClientMsg.COMPLETES_FIELD_NUMBER)
_ITEM = _tag(pb.CompleteBatch.COMPLETES_FIELD_NUMBER)
