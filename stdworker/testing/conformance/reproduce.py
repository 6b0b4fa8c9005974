"""The shell command that does again what a case did."""

from __future__ import annotations

import re
import shlex

from stdworker.model.json_text import RawJson
from stdworker.model.kind import Stage
from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.subject import Subject

ARGUMENT_BYTES_MAX = 4_096  # what someone may still want to paste

_RUN = re.compile(r"(.)\1{999,}", re.DOTALL)
_GENERATE = "import sys; print(sys.argv[1] + sys.argv[2] * {count} + sys.argv[3])"


def is_plain(request: ReactionRequest) -> bool:
    """Can `stdworker call` make this request? It knows of no resource that was there before."""
    operation = request.operation
    return (
        request.trigger is request.stage.trigger
        and request.stage not in (Stage.DELETE, Stage.REACT)
        and request.resource.status_json is None
        and not request.observed
        and not request.descendants
        and (operation is None or operation.input_json is None)
    )


def call_command(subject: Subject, request: ReactionRequest) -> str:
    """`stdworker call` with the same request."""
    source, spec = _spec(request.resource.spec_json)
    words = [
        *("stdworker", "call", *subject.call_options, "--name", request.resource.name),
        *("--reaction", request.reaction, *spec, "--", subject.command, *subject.arguments),
    ]
    return source + shlex.join(words)


def pipe_command(subject: Subject, sent: bytes, prefix: tuple[str, ...] = ()) -> str:
    """The same bytes on the program's standard input, but for secrets."""
    if subject.launch.mode == "socket":
        return ""
    program = shlex.join([*prefix, subject.command, *subject.arguments])
    if not sent:
        return f"{program} </dev/null"
    if len(sent) > ARGUMENT_BYTES_MAX:
        return ""
    return f"printf '%s\\n' {shlex.quote(subject.redact(sent.decode().rstrip()))} | {program}"


def _spec(spec: RawJson | None) -> tuple[str, tuple[str, ...]]:
    """What goes before the command, and its options."""
    if spec is None:
        return "", ()
    text = spec.decode()
    if len(spec) <= ARGUMENT_BYTES_MAX:
        return "", ("--spec", text)
    run = _RUN.search(text)
    if run is None:
        return "", ("--spec", "@FILE")
    words = (text[: run.start()], run.group(1), text[run.end() :])
    program = _GENERATE.format(count=run.end() - run.start())
    return shlex.join(["python3", "-c", program, *words]) + " | ", ("--spec", "-")
