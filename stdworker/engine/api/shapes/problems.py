"""Errors after RFC 9457."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class ErrorView(Struct):
    """One violation; `location` is where: body, query, path or header, then a JSON pointer."""

    message: str
    location: str
    value: Any = None


class Problem(Struct):
    """An error after RFC 9457; the last part of `type` is a stable code."""

    title: str
    status: int
    detail: str
    errors: list[ErrorView]
    type: str
    instance: str
