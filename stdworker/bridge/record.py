"""A record: transcripts of what programs were asked and what they answered, one JSON line a request.

`record.schema.json` says what is in a line. Lines are written by a thread, in order. What can't be written is dropped
with one warning: a record never fails or delays a task.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from stdworker.bridge.program import OFF_LOOP_BYTES, Program
from stdworker.bridge.redact import Redactor, redact_json
from stdworker.bridge.result import BridgeResult, as_result
from stdworker.bridge.result_json import result_members
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_members, members
from stdworker.model.secrets import mask
from stdworker.model.task import ReactionRequest

VERSION = 1
FILE_BYTES_MAX = 64 << 20  # then it becomes FILE.1, in place of the one before
REQUEST_BYTES_MAX = 16 << 20  # a longer request is left out
RECEIVED_BYTES_MAX = 4 << 20  # of one request's lines; the rest is left out
WAITING_BYTES_MAX = 64 << 20  # of lines that wait for the disk; more are dropped
LAUNCHES_KEPT_MAX = 256
FILE_MODE, FOLDER_MODE = 0o600, 0o700
LEFT_OUT = ("settings", "command", "record", "sealed")  # of a launch config
NO_HOME = "/nonexistent"  # Debian's name for the home of an account that has none

log = logging.getLogger("stdworker.bridge")


def records_folder(variables: Mapping[str, str]) -> Path:
    """Where workers keep records: one file for each kind version."""
    state = variables.get("XDG_STATE_HOME", "")
    return Path(state if state.startswith("/") else f"{_home(variables)}/.local/state", "stdworker/records")


def _home(variables: Mapping[str, str]) -> str:
    """A container may run under a user id that has no account: then a folder which can't be written, and is named."""
    home = variables.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path's raises where there is no account
    return home if home.startswith("/") else NO_HOME


class Transcript:
    """What is written down of one request while it runs."""

    def __init__(self, program: Program, request: ReactionRequest, config: RawJson | None) -> None:
        self.was_sent = False
        self._kind = program.kind
        self._stage = request.stage
        self._launch = program.launch
        self._config = config
        self._redact = program.redact
        self._at = datetime.datetime.now(datetime.UTC)
        self._request: RawJson | None = None
        self._received: list[str] = []
        self._received_bytes = 0
        self._cut = False
        self._ended: dict[str, RawJson] = {"result": dumps("cancelled")}

    def sent(self, line: bytes) -> None:
        """The request. What was received before belongs to a process that died."""
        self.was_sent = True
        self._cut = len(line) > REQUEST_BYTES_MAX
        self._request = None if self._cut else RawJson(line.rstrip())
        self._received.clear()
        self._received_bytes = 0

    def received(self, line: bytes, redact: Callable[[str], str]) -> None:
        """A line of stdout; `redact` knows the secrets of all who share the process."""
        if self._received_bytes + len(line) > RECEIVED_BYTES_MAX:
            self._cut = True
            return
        self._received_bytes += len(line)
        self._received.append(redact(line.decode("utf-8", "replace")))

    def ended(self, result: BridgeResult) -> None:
        self._ended = result_members(result)

    @property
    def size(self) -> int:
        """About how many bytes wait for the disk."""
        return self._received_bytes + len(self._request or b"") + sum(map(len, self._ended.values()))

    def entry(self) -> bytes:
        """The line for the file, LF included."""
        request = b"null" if self._request is None else redact_json(_masked(self._request), self._redact)
        told = {
            "record": dumps(VERSION),
            "at": dumps(self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z")),
            "kind": dumps(self._kind.kind),
            "kind_version": dumps(self._kind.version),
            "stage": dumps(self._stage),
            "mode": dumps(self._launch.mode),
            "program": dumps(self._launch.command),
            "launch": _launch_told(self._config, self._redact),
            "request": RawJson(request),
            "received": dumps(self._received),
            "cut": dumps(self._cut),
        }
        told |= {name: redact_json(document, self._redact) for name, document in self._ended.items()}
        return ascii_line(join_members(told)) + b"\n"


@lru_cache(maxsize=LAUNCHES_KEPT_MAX)
def _launch_told(config: RawJson | None, redact: Redactor) -> RawJson:
    """The effective config but the settings, which the request holds."""
    found = members(mask(config or RawJson(b"{}"))) or {}
    told = join_members({key: value for key, value in found.items() if key not in LEFT_OUT})
    return redact_json(told, redact)


def _masked(request: RawJson) -> RawJson:
    fields = members(request) or {}
    if "config" in fields:
        fields["config"] = mask(fields["config"])
    return join_members(fields)


class Recorder:
    """Appends to one file."""

    def __init__(self, path: Path, runtime: BridgeRuntime) -> None:
        self._path = path
        self._runtime = runtime
        self._waiting: list[bytes | Transcript] = []
        self._waiting_bytes = 0
        self._writing = False
        self._dropping = False
        self._broken = False

    async def run(
        self,
        program: Program,
        request: ReactionRequest,
        config: RawJson | None,
        ask: Callable[[ReactionRequest], Awaitable[BridgeResult]],
    ) -> BridgeResult:
        """Ask, and record what was sent and what came of it; nothing if nothing was sent."""
        transcript = Transcript(program, request, config)
        try:
            result = await as_result(ask(replace(request, transcript=transcript)))
            transcript.ended(result)
            return result
        finally:
            if transcript.was_sent and not self._broken:
                self._add(transcript)

    def _add(self, transcript: Transcript) -> None:
        if self._waiting_bytes + transcript.size > WAITING_BYTES_MAX:
            if not self._dropping:
                log.warning("requests are left out of %s: the disk is too slow for them", self._path)
            self._dropping = True
            return
        self._waiting.append(transcript.entry() if transcript.size <= OFF_LOOP_BYTES else transcript)
        self._waiting_bytes += transcript.size
        if not self._writing:
            self._writing = True
            self._runtime.background(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
                await asyncio.to_thread(_append, self._path, waiting)
        except OSError as error:
            self._broken = True
            self._waiting.clear()
            log.warning("nothing more is recorded in %s: %s", self._path, error.strerror or error)
        finally:
            self._writing = self._dropping = False


def _append(path: Path, waiting: Sequence[bytes | Transcript]) -> None:
    entries = b"".join(one if isinstance(one, bytes) else one.entry() for one in waiting)
    path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size + len(entries) > FILE_BYTES_MAX:
        path.replace(path.with_name(f"{path.name}.1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not hold us up
    with os.fdopen(os.open(path, flags, FILE_MODE), "ab") as file:
        file.write(entries)
