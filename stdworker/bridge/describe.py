"""Asking a program which kind it is: one request, and a manifest (with `default_config`, if it likes) as the answer.

A program that knows nothing of this takes the request for work, and may do harm. So it is sent only on purpose:
by commands that name the program, and to a program on PATH whose own text has the word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stdworker.bridge.launch import LaunchConfig
from stdworker.bridge.oneshot import run_oneshot
from stdworker.bridge.program import Program
from stdworker.bridge.redact import Redactor
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.errors import TaskFailure
from stdworker.framing.request import describe_line
from stdworker.framing.response import Response
from stdworker.model.documents import Document
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KIND, KindVersion, Stage, Trigger
from stdworker.model.kind_file import PREFIX, KindFile
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

DESCRIBE_SECONDS = 5.0
GRACE_SECONDS = 0.5

_NO_KIND_CHARACTER = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class NotDescribed:
    """The program answered something else, or nothing. `reason` is a sentence without its subject."""

    reason: str


async def describe(
    command: str,
    arguments: Sequence[str] = (),
    *,
    kind: KindVersion | None = None,
    run: BridgeRuntime,
    seconds: float = DESCRIBE_SECONDS,
) -> KindFile | NotDescribed:
    """Ask the program `command` for its kind; `kind` is what it is called so far, by default after its file.

    It gets the request, then the end of its input, and has `seconds` for its answer and its end. Raises
    ManifestError for a manifest that breaks rules, ConfigError for a program that can't be started.
    """
    pair = kind or kind_named(command)
    launch = LaunchConfig(command, tuple(arguments), timeout_seconds=seconds, grace_seconds=GRACE_SECONDS)
    program = _Asked(pair, launch, Redactor(), run)
    try:
        result = await run_oneshot(program, _request(pair))
    except TaskFailure as failure:
        return NotDescribed(str(failure))
    if result.failure is not None:
        return NotDescribed(str(result.failure))
    if program.description is None:
        return NotDescribed('its answer has no "describe"')
    return KindFile.from_document(Document(program.description, f"what {command} describes"))


def kind_named(command: str) -> KindVersion:
    """The kind that a program of this file name is; a name that can't be one is bent until it can."""
    name = Path(command).name.removeprefix(PREFIX)
    try:
        return KindVersion.parse(name)
    except ValueError:
        bent = _NO_KIND_CHARACTER.sub("-", name.lower()).strip("-.")[:63]
        return KindVersion(bent if KIND.fullmatch(bent) else "program")


class _Asked(Program):
    """A program that is asked for its kind, not for work."""

    description: RawJson | None = None

    def line(self, request_id: str, request: ReactionRequest, seconds: float | None) -> bytes:
        return describe_line(request_id, request.kind)

    async def parse(self, document: bytes) -> Response:
        response = await super().parse(document)
        self.description = response.describe
        return response


def _request(pair: KindVersion) -> ReactionRequest:
    """What the bridge runs it as; of this the program sees the variables of its environment."""
    resource = Resource("", pair.kind, "", pair.version)
    return ReactionRequest(Stage.WORK, Trigger.SPEC_CHANGE, "describe", pair, resource)
