"""The OpenAPI document: FastAPI knows the routes and parameters, the shapes know the bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from stdworker.engine.api import shapes
from stdworker.engine.api.problems import MEDIA_TYPE
from stdworker.model.kind import Phase

DESCRIPTION = """\
Declare resources; the engine drives them to what they declare and keeps them there.

Specs and statuses come and go verbatim: the same tokens in the same order, numbers of any size exact.
Errors are `application/problem+json`; `errors[].location` is `body`, `query`, `path` or `header` and a JSON
pointer. Lists are paged by the opaque `X-Next-Cursor`, which is absent on the last page.
"""

_COMPONENTS = "#/components/schemas/"
_SHAPES = [
    shape
    for shape in vars(shapes).values()
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct) and shape is not msgspec.Struct
]

PAGED = {"X-Next-Cursor": "the cursor of the next page; absent on the last"}
TAGGED = {"ETag": "another one after each change, but for those of `work`"}
PUBLISHED = {"X-Apply-Result": "created, configured or unchanged"}
APPLIED = {**PUBLISHED, **TAGGED}


def documented(
    summary: str,
    *,
    answer: Any = None,
    status: int = 200,
    also: Mapping[int, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    example: Any = None,
    body_type: str = "application/json",
    answer_type: str = "application/json",
    problems: Sequence[int] = (),
) -> dict[str, Any]:
    """Arguments for a route's decorator: what it takes and what it answers, in the words of `shapes`."""
    told = {name: {"description": text, "schema": {"type": "string"}} for name, text in (headers or {}).items()}
    answers = {status: answer, **(also or {})}
    responses: dict[int | str, Any] = {
        code: {
            "description": _WHY.get(code, "Done."),
            "headers": told,
            "content": {answer_type: {"schema": _schema(shape)}},
        }
        for code, shape in answers.items()
    }
    for code in problems:
        responses[code] = {
            "description": _WHY.get(code, "Refused."),
            "content": {MEDIA_TYPE: {"schema": _schema(shapes.Problem)}},
        }
    extra = {}
    if body is not None:
        content: dict[str, Any] = {"schema": _schema(body)}
        if example is not None:
            content["example"] = example
        extra["requestBody"] = {"required": True, "content": {body_type: content}}
    return {
        "summary": summary,
        "status_code": status,
        "responses": responses,
        "openapi_extra": extra,
        "response_class": Response,
    }


_WHY = {
    400: "Not JSON, or a spec that its kind's schema refuses; `errors` has the paths.",
    304: "It is still the one that `If-None-Match` names.",
    404: "No such thing.",
    408: "Not so within the time.",
    409: "Its state, or its owner, stands against it.",
    410: "Resumed from too long ago.",
    412: "It is another one than `If-Match` names.",
    413: "The body is too large.",
    422: "It breaks rules; `errors` has the paths.",
    503: "The store doesn't answer.",
}


def _schema(shape: Any) -> dict[str, Any]:
    if shape is None:
        return {}
    if isinstance(shape, dict):
        return shape
    return {"$ref": f"{_COMPONENTS}{shape.__name__}"}


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes)
        _, components = msgspec.json.schema_components(_SHAPES, ref_template=_COMPONENTS + "{name}")
        made.setdefault("components", {})["schemas"] = components
        components[Phase.__name__] = {"type": "string", "enum": [phase.value for phase in Phase]}
        for methods in made["paths"].values():
            for operation in methods.values():
                _tidy(operation)
        app.openapi_schema = made
    return app.openapi_schema


def _tidy(operation: dict[str, Any]) -> None:
    """Our problems replace FastAPI's own description of 422, which this API never answers."""
    unprocessable = operation["responses"].get("422")
    if unprocessable and "application/json" in unprocessable.get("content", {}):
        problem = {MEDIA_TYPE: {"schema": _schema(shapes.Problem)}}
        operation["responses"]["422"] = {"description": _WHY[422], "content": problem}
