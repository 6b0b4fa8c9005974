"""Frames made of tasks and of results that are already serialized.

Either is kept as bytes until it is sent, a result until the broker has settled it, and travels alone or in a
batch. An embedded message is its length and its bytes after a tag, so that none is encoded twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from stdworker.wire.generated import worker_pb2 as pb


def complete_frame(result: bytes) -> bytes:
    """A WorkStreamClientMsg with one serialized StageComplete."""
    return _embedded(_COMPLETE, result)


def completes_frame(results: Iterable[bytes]) -> bytes:
    """A WorkStreamClientMsg with a batch of serialized StageCompletes (extension "batch")."""
    return _embedded(_COMPLETES, _repeated(_COMPLETES_ITEM, results))


def task_frame(task: bytes) -> bytes:
    """A WorkStreamServerMsg with one serialized StageTask."""
    return _embedded(_TASK, task)


def tasks_frame(tasks: Iterable[bytes]) -> bytes:
    """A WorkStreamServerMsg with a batch of serialized StageTasks (extension "batch")."""
    return _embedded(_TASKS, _repeated(_TASKS_ITEM, tasks))


def _embedded(tag: bytes, message: bytes) -> bytes:
    return tag + _varint(len(message)) + message


def _repeated(tag: bytes, messages: Iterable[bytes]) -> bytes:
    pieces: list[bytes] = []
    for message in messages:
        pieces += (tag, _varint(len(message)), message)
    return b"".join(pieces)


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
_COMPLETES_ITEM = _tag(pb.CompleteBatch.COMPLETES_FIELD_NUMBER)
_TASK = _tag(pb.WorkStreamServerMsg.TASK_FIELD_NUMBER)
_TASKS = _tag(pb.WorkStreamServerMsg.TASKS_FIELD_NUMBER)
_TASKS_ITEM = _tag(pb.TaskBatch.TASKS_FIELD_NUMBER)
