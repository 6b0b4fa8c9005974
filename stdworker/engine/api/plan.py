"""Dry runs of many declarations of every type: a document a line in, what it would do a line out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations
from stdworker.engine.api.batch import Line, lines
from stdworker.engine.api.context import Actor, InEngine
from stdworker.engine.api.openapi import documented
from stdworker.engine.api.problems import Refused, problem_of
from stdworker.engine.api.queries import PlanQuery
from stdworker.engine.api.resources import EXAMPLE
from stdworker.engine.api.shapes.common import encode
from stdworker.engine.api.shapes.configs import ConfigBody
from stdworker.engine.api.shapes.lines import PlanLine
from stdworker.engine.api.shapes.reactors import BindingBody
from stdworker.engine.api.shapes.resources import ResourceBody
from stdworker.engine.store.declarations import Declaration, Planned
from stdworker.errors import Invalid, StdworkerError
from stdworker.model.json_text import check, loads, members

TYPES = ("manifest", "providerconfig", "reactorbinding", "resource")
DOCUMENTS_MAX = 10_000  # one transaction looks at them all

router = APIRouter(tags=["plan"])

DOCUMENT: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"enum": list(TYPES)}},
    "description": "What is declared: a document as the route of its type takes it, and its type.",
}


@router.post(
    "/plan",
    **documented(
        "Say what declarations would do",
        answer=PlanLine,
        body=DOCUMENT,
        example={"type": "resource", **EXAMPLE},
        body_type="application/x-ndjson",
        body_required=False,
        answer_type="application/x-ndjson",
        problems=(413,),
    ),
)
async def plan(engine: InEngine, actor: Actor, request: Request, query: Annotated[PlanQuery, Query()]) -> Response:
    """One JSON document a line; one `PlanLine` a line is answered. Nothing is stored.

    Each line sees what those before it would do: a resource may be of a kind that a line above it declares.
    """
    body = bodies.pieces(request, bodies.RESOURCE_BYTES_MAX)
    found = [line async for batch in lines(body) for line in batch]
    if len(found) > DOCUMENTS_MAX:
        raise Refused(413, "too_many_lines", f"a plan has at most {DOCUMENTS_MAX:,} lines")
    parsed = [_parse(text, force=query.force) for _, text in found]
    legal = [declared for declared in parsed if not isinstance(declared, StdworkerError)]
    results = iter(await engine.plan(legal, actor) if legal else ())
    outcomes = [declared if isinstance(declared, StdworkerError) else next(results) for declared in parsed]
    return Response(_told(found, outcomes, request.url.path), media_type="application/x-ndjson")


def _parse(text: bytes, *, force: bool) -> Declaration | StdworkerError:
    try:
        return _declaration(text, force=force)
    except StdworkerError as error:
        return error


def _declaration(text: bytes, *, force: bool) -> Declaration:
    document = check(text)
    declared = loads((members(document) or {}).get("type", b"null"))
    if declared == "manifest":
        return declarations.kind(document.value(), force=force)
    if declared == "providerconfig":
        return declarations.config(bodies.decode(document, ConfigBody))
    if declared == "reactorbinding":
        return declarations.binding(bodies.decode(document, BindingBody))
    if declared == "resource":
        return declarations.resource(bodies.decode(document, ResourceBody))
    told = f"{declared!r} is not one of {', '.join(TYPES)}"
    raise Invalid.at("/type", told, code="bad_body")


def _told(found: Sequence[Line], outcomes: Sequence[Planned | StdworkerError], path: str) -> bytes:
    return b"".join(
        encode(_line(number, text, outcome, path)) + b"\n"
        for (number, text), outcome in zip(found, outcomes, strict=True)
    )


def _line(number: int, text: bytes, outcome: Planned | StdworkerError, path: str) -> PlanLine:
    if isinstance(outcome, StdworkerError):
        return PlanLine(number, "failed", problem=problem_of(outcome, path, text))
    before = msgspec.Raw(outcome.before) if outcome.before is not None else None
    return PlanLine(number, outcome.result, before, msgspec.Raw(outcome.after))  # type: ignore[arg-type]
