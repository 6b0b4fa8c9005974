"""What a line of a program means: an answer, a notice, stray text, or something broken.

Nothing here raises: a bad line is a value, so that one bad line never ends a conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from stdworker.errors import JsonError, ResponseError
from stdworker.framing.lines import Overlong
from stdworker.framing.response import shown
from stdworker.model.json_text import RawJson, check, members

ID_BYTES_MAX = 200  # ids are the host's own and short; a longer one is nobody's
EXPLAINED_BYTES_MAX = 65_536  # a broken line above this isn't walked for the reason: that takes seconds

_NOTICES = frozenset(("log", "progress", "ready", "hello"))


class Answer(NamedTuple):
    """A response, not yet validated. `id` is None when the line has none."""

    id: str | None
    document: bytes


@dataclass(frozen=True, slots=True)
class Log:
    level: str
    message: str
    fields: dict[str, Any] = field(default_factory=dict)


class Progress(msgspec.Struct, frozen=True):
    """How far a request is; without `id` the only one in flight is meant."""

    id: str | None = None
    fraction: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    message: str | None = None


class Ready(NamedTuple):
    ready: bool
    reason: str = ""


class Hello(msgspec.Struct, frozen=True):
    """Which control lines the program wants."""

    protocol: int = 1
    cancel: bool = False
    config: bool = False
    shutdown: bool = False


class Stray(NamedTuple):
    """Text that is no message. `size` is its length in bytes; `start` may be cut."""

    start: bytes
    size: int


class Broken(NamedTuple):
    """A line that was meant as a message and can't be read. `id` is the request it names, if that shows."""

    id: str | None
    error: ResponseError


Notice = Log | Progress | Ready | Hello
Message = Answer | Notice | Stray | Broken


class _Route(msgspec.Struct):
    id: str | UnsetType | None = UNSET
    log: Raw | UnsetType = UNSET
    progress: Raw | UnsetType = UNSET
    ready: Raw | UnsetType = UNSET
    hello: Raw | UnsetType = UNSET


_route = msgspec.json.Decoder(_Route)


def read_line(line: bytes | Overlong, *, line_bytes_max: int = 0, explained: bool = True) -> Message | None:
    """The meaning of one line of a persistent program; None for a blank one.

    Why a line can't be read takes ten times as long to find out as that it can't: `explained` says if anyone asks.

    A line that starts with `{` must be JSON. One that is indented is a message only if it is one: the inner
    lines of an answer that was printed over several lines must not harm the next request.
    """
    if isinstance(line, Overlong):
        return _overlong(line, line_bytes_max)
    if line[:1] != b"{":
        text = line.strip(b" \t\r")
        if not text:
            return None
        if text[:1] != b"{":
            return Stray(line, len(line))
    try:
        route = _route.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        if line[:1] != b"{":
            return Stray(line, len(line))
        return _broken(line, error) if explained else Broken(None, _UNEXPLAINED)
    if route.log is UNSET and route.progress is UNSET and route.ready is UNSET and route.hello is UNSET:
        if route.id is None:
            return Broken(
                None, ResponseError(f"/id: expected the request's id, got null; {shown(line)}", code="bad_id")
            )
        return Answer(None if route.id is UNSET else route.id, line)
    return read_notice(line) or Answer(route.id if isinstance(route.id, str) else None, line)


def repeated_id(answer: Answer) -> Broken | None:
    """An answer that nobody waits for may have a second id, of a request that does wait."""
    if answer.id is None or answer.document.count(b'"id"') < 2:
        return None
    try:
        check(answer.document)
    except JsonError as error:
        if error.path == "/id":
            return Broken(None, ResponseError(f"{error.message}; {shown(answer.document)}", code=error.code))
    return None


def read_notice(line: bytes) -> Notice | Stray | None:
    """The notice in a line; None when it is none, `Stray` when it is one that says nothing legal."""
    names = members(line)
    if names is None:
        return None
    kinds = _NOTICES & names.keys()
    if len(kinds) != 1 or names.keys() - kinds - {"reason"} or ("reason" in names and "ready" not in kinds):
        return None
    (kind,) = kinds
    try:
        check(line)
        return _READERS[kind](names)
    except (JsonError, msgspec.ValidationError):
        return Stray(line, len(line))


def _read_log(names: dict[str, RawJson]) -> Log:
    body = _log.decode(names["log"])
    if isinstance(body, str):
        return Log("info", body)
    level, message = (msgspec.convert(body.pop(name, default), str) for name, default in _LOG_DEFAULTS)
    return Log(level.lower(), message, body)


def _read_ready(names: dict[str, RawJson]) -> Ready:
    return Ready(_flag.decode(names["ready"]), _reason.decode(names.get("reason", b"null")) or "")


_log = msgspec.json.Decoder(str | dict[str, Any])
_flag = msgspec.json.Decoder(bool)
_reason = msgspec.json.Decoder(str | None)
_LOG_DEFAULTS = (("level", "info"), ("message", ""))
_READERS: dict[str, Callable[[dict[str, RawJson]], Notice]] = {
    "log": _read_log,
    "progress": lambda names: msgspec.json.decode(names["progress"], type=Progress),
    "ready": _read_ready,
    "hello": lambda names: msgspec.json.decode(names["hello"], type=Hello),
}


# ---- lines that can't be read ----

_ID_FIRST = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]{1,%d})"' % ID_BYTES_MAX)


def _overlong(line: Overlong, line_bytes_max: int) -> Message:
    if line.start[:1] != b"{":
        return Stray(line.start, line.size)
    text = f"a line of {line.size} bytes is over limits.line_bytes ({line_bytes_max}); {shown(line.start, line.size)}"
    error = ResponseError(text, code="line_too_long", hint="raise limits.line_bytes")
    return Broken(_id_first(line.start), error)


_UNEXPLAINED = ResponseError("the line is not a message", code="bad_json")


def _broken(line: bytes, error: Exception) -> Broken:
    """Why a line can't be read, in the words of the strict reader if it isn't too long, and whose answer it was."""
    if isinstance(error, msgspec.ValidationError):  # JSON, but for the id's type
        text = f"/id: expected the request's id, a string; {shown(line)}"
        return Broken(None, ResponseError(text, code="bad_id"))
    if len(line) > EXPLAINED_BYTES_MAX:
        text = f"the line is not a message: {error}; {shown(line)}"
        return Broken(_id_first(line), ResponseError(text, code="bad_json"))
    try:
        check(line)
    except JsonError as reason:
        hint = "a persistent program must print each answer on one line" if reason.code == "cut_short" else ""
        text = f"the line is not a message: {reason.message}; {shown(line)}"
        return Broken(_id_anywhere(line), ResponseError(text, code=reason.code, hint=hint))
    return Broken(_id_anywhere(line), ResponseError(f"the line is not a message: {error}; {shown(line)}"))


def _id_anywhere(line: bytes) -> str | None:
    try:
        owner = json.loads(line).get("id")
    except (ValueError, RecursionError):
        return _id_first(line)
    return owner if isinstance(owner, str) else None


def _id_first(line: bytes) -> str | None:
    match = _ID_FIRST.match(line)
    return match.group(1).decode("utf-8", "replace") if match else None
