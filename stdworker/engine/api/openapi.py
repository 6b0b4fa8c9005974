"""The OpenAPI document: FastAPI knows the routes and parameters, the shapes know the bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from stdworker.engine.api import examples
from stdworker.engine.api.problems import MEDIA_TYPE
from stdworker.engine.api.shapes import (
    common,
    configs,
    events,
    explanation,
    history,
    kinds,
    lines,
    members,
    operations,
    problems,
    reactors,
    relations,
    resources,
)
from stdworker.engine.api.shapes.problems import Problem
from stdworker.model.kind import Phase

DESCRIPTION = """\
Declare resources; the engine drives them to what they declare and keeps them there.

Specs and statuses come and go verbatim: the same tokens in the same order, numbers of any size exact.
Errors are `application/problem+json`; `errors[].location` is `body`, `query`, `path` or `header` and a JSON
pointer. What answers GET answers HEAD. Lists are paged by the opaque `X-Next-Cursor`, which is absent on the last page.
"""

_COMPONENTS = "#/components/schemas/"
WITHOUT_NUL = r"^[^\x00]*$"
_MODULES = (
    common, configs, events, explanation, history, kinds, lines, members, operations, problems, reactors, relations,
    resources,
)  # fmt: skip
_SHAPES = [
    shape
    for module in _MODULES
    for shape in vars(module).values()
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct) and shape.__module__ == module.__name__
]

PAGED = {"X-Next-Cursor": "the cursor of the next page; absent on the last"}
TAGGED = {"ETag": "another one after each change; of a resource, but for those of `work`"}
RESULT = {"X-Apply-Result": "created, configured or unchanged"}
APPLIED = {**RESULT, **TAGGED}


def documented(
    summary: str,
    *,
    answer: Any = None,
    answer_example: Any = None,
    status: int = 200,
    also: Mapping[int, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    example: Any = None,
    body_type: str = "application/json",
    body_required: bool = True,
    answer_type: str = "application/json",
    problems: Sequence[int] = (),
) -> dict[str, Any]:
    """Arguments for a route's decorator: what it takes and what it answers, in the words of `shapes`."""
    told = {name: {"description": text, "schema": {"type": "string"}} for name, text in (headers or {}).items()}
    answers = {status: answer, **(also or {})}
    responses: dict[int | str, Any] = {
        code: {"description": _WHY.get(code, "Done."), "headers": told} for code in answers
    }
    for code, shape in answers.items():
        if shape is not None:
            shown = {} if answer_example is None else {"example": answer_example}
            responses[code]["content"] = {answer_type: {"schema": _schema(shape), **shown}}
    paged = (400,) if "X-Next-Cursor" in told else ()
    for code in sorted({*problems, *paged, *(_OF_A_BODY if body is not None else ())}):
        responses[code] = {
            "description": _WHY.get(code, "Refused."),
            "content": {MEDIA_TYPE: {"schema": _schema(Problem)}},
        }
    extra = {}
    if body is not None:
        content: dict[str, Any] = {"schema": _schema(body)}
        if example is not None:
            content["example"] = example
        extra["requestBody"] = {"required": body_required, "content": {body_type: content}}
    return {
        "summary": summary,
        "status_code": status,
        "responses": responses,
        "openapi_extra": extra,
        "response_class": Response,
    }


_ANYWHERE = {
    403: "Forbidden",
    421: "Misdirected",
    422: "Unprocessable",
    429: "TooManyRequests",
    503: "Unavailable",
}
"""Refusals that don't depend on the operation."""
_OF_A_WRITE = {400: "BadRequest", 415: "UnsupportedMediaType"}
_OF_A_BODY = (400, 408, 413, 415, 422)

_WHY = {
    400: "Not JSON, a spec that its kind's schema refuses, a cursor of another list, or a condition that isn't minded.",
    304: "It is still the one that `If-None-Match` names.",
    403: "The client's certificate, or the page's origin, is not one that may.",
    404: "No such thing.",
    408: "Not so within the time, or a body that stopped coming.",
    409: "Its state, or its owner, stands against it.",
    410: "Resumed from too long ago.",
    412: "It is another one than `If-Match` names.",
    413: "The body is too large.",
    415: "The body is not JSON, or packed by something else than gzip.",
    422: "It breaks rules, or has a parameter that the route has not; `errors` has the places.",
    421: "The Host is not a name of this engine.",
    429: "More requests than one client may make; `Retry-After` says when to come back.",
    503: "The store can't be used, it took too long, or the engine is shutting down.",
}


def _schema(shape: Any) -> dict[str, Any]:
    if isinstance(shape, dict):
        return shape
    if isinstance(shape, tuple):
        return {"anyOf": [_schema(one) for one in shape]}
    return {"$ref": f"{_COMPONENTS}{shape.__name__}"}


def _show(responses: Mapping[str, Any]) -> None:
    """Give each answer its example: put in earlier, FastAPI would take its nulls away."""
    for status, response in responses.items():
        for content in response.get("content", {}).values():
            shown = content["schema"].get("anyOf", [content["schema"]])[0].get("$ref", "").removeprefix(_COMPONENTS)
            if shown == Problem.__name__:
                content["example"] = examples.problem(int(status))
            elif shown:
                content["example"] = examples.ANSWERS[shown]


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes)
        _, components = msgspec.json.schema_components(_SHAPES, ref_template=_COMPONENTS + "{name}")
        made.setdefault("components", {})["schemas"] = components
        anywhere = {**_ANYWHERE, **_OF_A_WRITE}
        made["components"]["responses"] = {name: _refusal(status) for status, name in anywhere.items()}
        components[Phase.__name__] = {"type": "string", "enum": [phase.value for phase in Phase]}
        for methods in made["paths"].values():
            for method, operation in methods.items():
                _tidy(operation, _ANYWHERE if method == "get" else anywhere)
        app.openapi_schema = made
    return app.openapi_schema


def _forbid_nul(schema: dict[str, Any]) -> None:
    """Of a parameter: what has a form of its own has none in it."""
    if schema.get("type") == "string" and not {"pattern", "enum", "format"} & schema.keys():
        schema["pattern"] = WITHOUT_NUL
    for inner in [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]:
        _forbid_nul(inner)


def _refusal(status: int) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": _schema(Problem), "example": examples.problem(status)}}
    return {"description": _WHY[status], "content": content}


def _tidy(operation: dict[str, Any], refusals: Mapping[int, str]) -> None:
    """Our problems replace FastAPI's own description of 422, which this API never answers."""
    unprocessable = operation["responses"].get("422")
    if unprocessable and "application/json" in unprocessable.get("content", {}):
        problem = {MEDIA_TYPE: {"schema": _schema(Problem)}}
        operation["responses"]["422"] = {"description": _WHY[422], "content": problem}
    _show(operation["responses"])
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "header":
            _forbid_nul(parameter["schema"])
    for status, name in refusals.items():
        operation["responses"].setdefault(str(status), {"$ref": f"#/components/responses/{name}"})
