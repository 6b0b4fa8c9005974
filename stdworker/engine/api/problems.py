"""Errors as problem+json: one table says which class is which status."""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import compile_path

from stdworker import errors
from stdworker.engine.api.shapes.common import encode
from stdworker.engine.api.shapes.problems import ErrorView, Problem
from stdworker.model.json_text import check, escape_token
from stdworker.model.secrets import is_secret, mask

CODE_PREFIX = "urn:converge:problem:"
MEDIA_TYPE = "application/problem+json"
VALUE_CHARACTERS_MAX = 200

STATUS_OF_CLASS: dict[type[errors.StdworkerError], int] = {
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Invalid: 422,
    errors.ConfigError: 422,
    errors.SettingsError: 422,
    errors.JsonError: 400,
    errors.StoreError: 503,
}
STATUS_OF_CODE = {"schema": 400, "bad_cursor": 400, "bad_precondition": 400, "events_expired": 410, "precondition": 412}

_log = logging.getLogger(__name__)


class Refused(errors.RequestError):
    """The API itself turns a request away; `status` is the HTTP status."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.status = status
        self.headers = headers


class Draining(Refused):
    """This process is on its way out."""

    def __init__(self) -> None:
        super().__init__(503, "draining", "the engine is shutting down")


def status_of(error: errors.StdworkerError) -> int:
    if isinstance(error, Refused):
        return error.status
    if error.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[error.code]
    return next((STATUS_OF_CLASS[c] for c in type(error).__mro__ if c in STATUS_OF_CLASS), 500)


def problem_of(error: errors.StdworkerError, instance: str, body: bytes = b"") -> Problem:
    """`instance` is the path that was asked for; with the body, violations show the values that they mean."""
    return problem(status_of(error), error.code, str(error), instance, _violations(error, body))


def problem(status: int, code: str, detail: str, instance: str, violations: Sequence[ErrorView] = ()) -> Problem:
    return Problem(
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=list(violations),
        type=CODE_PREFIX + code,
        instance=instance,
    )


def respond(told: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(told), status_code=told.status, media_type=MEDIA_TYPE, headers=headers)


def _violations(error: errors.StdworkerError, body: bytes) -> list[ErrorView]:
    pairs: Sequence[tuple[str, str]] = ()
    if isinstance(error, errors.Invalid | errors.ManifestError | errors.Incompatible):
        pairs = error.violations
    elif isinstance(error, errors.JsonError) and error.path:
        pairs = [(error.path, error.message.removeprefix(f"{error.path}: "))]
    return [_violation(place, text, body) for place, text in pairs]


def _violation(place: str, text: str, body: bytes) -> ErrorView:
    """`place` is a pointer into the body, or names a parameter as in `query/limit`."""
    if place and not place.startswith("/"):
        return ErrorView(text, place)
    return ErrorView(text, f"body{place}", _value_at(body, place))


def _value_at(body: bytes, pointer: str) -> Any:
    """The offending value, unless it is long, not there, a secret, or what no JSON may hold."""
    value = msgspec.Raw(body)
    try:
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if is_secret(key):
                return None
            inner = msgspec.json.decode(value, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
            value = inner[int(key)] if isinstance(inner, list) else inner[key]
        if not pointer or not 0 < len(memoryview(value)) <= VALUE_CHARACTERS_MAX:
            return None
        return msgspec.Raw(mask(check(bytes(value))))
    except (msgspec.DecodeError, errors.JsonError, LookupError, ValueError, RecursionError):
        return None


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.StdworkerError)
    told = problem_of(error, request.url.path, getattr(request.state, "body", b""))
    is_told = isinstance(error, Draining | errors.StoreUnavailable)  # the engine's log has it, once
    if told.status >= 500 and not is_told:
        _log.error("%s %s: %s", request.method, request.url.path, error)
    return respond(told)


_SENTENCES = {
    "extra_forbidden": "this route has no such parameter",
    "missing": "it is required",
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a whole number",
    "bool_parsing": "expected true or false",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "too_long": "expected at most {max_length} of them, got {actual_length}",
    "enum": "expected {expected}",
    "literal_error": "expected {expected}",
    "string_pattern_mismatch": "expected a text of the form {pattern}",
    "value_error": "{error}",
}
"""What is wrong with a parameter, by the name that the framework has for it."""


def _sentence(item: Mapping[str, Any]) -> str:
    told = _SENTENCES.get(item["type"])
    return item["msg"] if told is None else told.format_map(item.get("ctx", {}))


async def _on_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    violations = [
        ErrorView(
            _sentence(item),
            "/".join(escape_token(str(part)) for part in item["loc"]),
            item["input"] if isinstance(item["input"], str | int | float) else None,
        )
        for item in error.errors()
    ]
    detail = "; ".join(f"{v.location}: {v.message}" for v in violations)
    return respond(problem(422, "bad_parameter", detail, request.url.path, violations))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    phrase = http.HTTPStatus(error.status_code).phrase
    code = {404: "no_such_route", 405: "method_not_allowed"}.get(error.status_code, "refused")
    detail = f"{request.method} {request.url.path}: {error.detail or phrase}"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers = {"Allow": _allowed(request) or headers.get("Allow", "")}
    return respond(problem(error.status_code, code, detail, request.url.path), headers)


def _allowed(request: Request) -> str:
    """All methods of a path; Starlette names those of the first route alone."""
    for path, methods in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            return ", ".join(sorted(method.upper() for method in (*methods, *(("head",) if "get" in methods else ()))))
    return ""


async def _on_gone(request: Request, error: Exception) -> Response:
    """The caller left while it was sending; nobody reads this."""
    return Response(status_code=400)


async def _on_bug(request: Request, error: Exception) -> Response:
    """Starlette logs the exception; the caller learns nothing of our inside."""
    return respond(problem(500, "internal", "the engine met an error of its own; its log has it", request.url.path))


def install(app: FastAPI) -> None:
    app.add_exception_handler(errors.StdworkerError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_parameters)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, _on_gone)
    app.add_exception_handler(Exception, _on_bug)
