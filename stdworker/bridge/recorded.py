"""Reading a record: each line becomes the request that was made, and what came of it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, ValidationError

from stdworker import protocol_files
from stdworker.bridge.record import VERSION
from stdworker.errors import ConfigError, JsonError
from stdworker.model.config import ProviderConfig, merge
from stdworker.model.json_text import RawJson, check, dumps, elements, escape_token, join_members, loads, members
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.resource import Operation, Resource
from stdworker.model.secrets import MASK
from stdworker.model.task import ReactionRequest

DEPTH_MAX = 110  # a request of the deepest documents, inside a line
LINE_BYTES_MAX = 256 << 20  # what is written is bounded too, but for the outcome
MISTAKES_MAX = 100


class Entry(msgspec.Struct, frozen=True):
    """One line of a record; see `record.schema.json` for the meaning of each member."""

    record: int
    at: str
    kind: str
    kind_version: int
    stage: Stage
    mode: str
    program: str
    launch: msgspec.Raw
    request: msgspec.Raw
    received: list[str]
    cut: bool
    result: str
    error: dict[str, str] | None = None
    outcome: msgspec.Raw = msgspec.Raw(b"{}")
    stray_lines: int = 0
    exit: dict[str, int | str | None] | None = None
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry and the number of its line."""

    number: int
    entry: Entry

    @property
    def pair(self) -> KindVersion:
        return KindVersion(self.entry.kind, self.entry.kind_version)

    @property
    def sent(self) -> dict[str, RawJson]:
        """The members of the request; none when it was left out."""
        return members(self.entry.request) or {}

    @property
    def name(self) -> str:
        """The resource's name; "" when the request was left out."""
        return self._value("name") or ""

    @property
    def unrepeatable(self) -> str:
        """Why it can't be run again; "" when it can."""
        if not self.sent:
            return "the request was too long to be recorded"
        return "it was cancelled" if self.entry.result == "cancelled" else ""

    def default(self, over: RawJson | None = None, *, command: str | None = None) -> ProviderConfig:
        """The config that it ran under, with `over` merged over it and perhaps another program."""
        told = members(self.entry.launch) or {}
        told["command"] = dumps(command or self.entry.program)
        if command and told.pop("socket", None):  # it ran by itself, the other one is ours to start
            told["mode"] = dumps("stream")
        if "config" in self.sent:
            told["settings"] = self.sent["config"]
        bundle = self._value("bundle")
        return ProviderConfig(merge(join_members(told), over), base64.b64decode(bundle) if bundle else None)

    def hidden(self, default: ProviderConfig) -> list[str]:
        """Pointers to the redacted texts that the program gets, when it runs again under this config."""
        sent = {key: value for key, value in self.sent.items() if key != "config"}
        launch = members(default.spec or b"{}") or {}
        sent |= {"config" if key == "settings" else key: launch[key] for key in ("settings", "env") if key in launch}
        return list(_masks(join_members(sent), ""))

    def reaction_request(self, default: ProviderConfig) -> ReactionRequest:
        """The request again; its time begins now."""
        stage, milliseconds = self.entry.stage, self._value("deadline_ms")
        operation = members(self.sent.get("operation", b""))
        return ReactionRequest(
            stage=stage,
            trigger=Trigger(self._value("trigger")),
            reaction=self._value("reaction"),
            kind=self.pair,
            resource=_resource(members(self.sent["resource"]) or {} if stage is Stage.REACT else self.sent),
            observed=_resources(self.sent.get("observed")),
            descendants=_resources(self.sent.get("descendants")),
            operation=_operation(operation) if operation is not None else None,
            transition=Transition(self._value("transition")) if "transition" in self.sent else None,
            dedup_token=self._value("dedup_token") or "",
            default=default,
            deadline=None if milliseconds is None else time.monotonic() + milliseconds / 1_000,
        )

    def _value(self, name: str) -> Any:
        return self.sent[name].value() if name in self.sent else None


def read_record(path: Path) -> Iterator[Recorded | ConfigError]:
    """Every line of a record; an error stands for each that is none, and ends it when they are too many or too long.

    Raises OSError when it can't be read.
    """
    mistakes = 0
    with path.open("rb") as file:
        for number in count(1):
            line = file.readline(LINE_BYTES_MAX + 1)
            if not line:
                return
            if len(line) > LINE_BYTES_MAX:
                yield ConfigError(f"{path}:{number} is longer than {LINE_BYTES_MAX >> 20} MiB: this is no record")
                return
            if mistakes == MISTAKES_MAX:
                yield ConfigError(f"{path} is not read on: {MISTAKES_MAX} lines are not of a record")
                return
            if line.strip():
                found = _read(line, number, path)
                mistakes += isinstance(found, ConfigError)
                yield found


def _read(line: bytes, number: int, path: Path) -> Recorded | ConfigError:
    where = f"{path}:{number}"
    try:
        entry = msgspec.json.decode(check(line.strip(), depth_max=DEPTH_MAX), type=Entry)
        if bytes(entry.request) != b"null":
            request = RawJson(entry.request).value()
            _requests().validate(request)
            base64.b64decode(request.get("bundle", ""), validate=True)
    except (JsonError, msgspec.DecodeError, RecursionError) as error:
        return ConfigError(f"{where} is not a line of a record: {error}", code="bad_record")
    except ValidationError as error:
        return ConfigError(f"{where} holds no request: {error.json_path}: {error.message}", code="bad_record")
    except ValueError as error:
        return ConfigError(f"{where} holds no request: $.bundle: {error}", code="bad_record")
    if entry.record != VERSION:
        return ConfigError(f"{where} is a record of version {entry.record}, this host reads {VERSION}")
    return Recorded(number, entry)


@cache
def _requests() -> Draft202012Validator:
    return Draft202012Validator(loads(protocol_files.read("stdio/v1/request.schema.json")))


def _resource(told: dict[str, RawJson]) -> Resource:
    values = {key: told[key].value() for key in ("uid", "kind", "name", "phase") if key in told}
    finalizer = told["finalizer"].value() if "finalizer" in told else None
    return Resource(
        values.get("uid", ""),
        values["kind"],
        values["name"],
        told["kind_version"].value() if "kind_version" in told else 0,
        generation=told["generation"].value() if "generation" in told else 0,
        spec_json=told.get("spec"),
        status_json=told.get("status"),
        labels=told["labels"].value() if "labels" in told else {},
        is_ready=told.get("ready") == b"true",
        phase=values.get("phase", ""),
        finalizers=(finalizer,) if finalizer else (),
    )


def _resources(listed: RawJson | None) -> list[Resource]:
    return [_resource(members(item) or {}) for item in elements(listed or b"[]") or []]


def _operation(told: dict[str, RawJson]) -> Operation:
    return Operation(
        told["verb"].value(),
        told.get("input"),
        told["attempts"].value() if "attempts" in told else 1,
        told["requested_by"].value() if "requested_by" in told else "",
    )


def _masks(document: RawJson, path: str) -> Iterator[str]:
    fields, items = members(document), elements(document)
    for key, value in (fields or {}).items():
        yield from _masks(value, f"{path}/{escape_token(key)}")
    for index, value in enumerate(items or []):
        yield from _masks(value, f"{path}/{index}")
    if document.startswith(b'"') and MASK in str(document.value()):
        yield path
