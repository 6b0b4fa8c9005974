"""Misspelt keywords of a JSON Schema: it lets any name pass, and then checks nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from jsonschema import Draft202012Validator

from stdworker.model.json_text import escape_token

NEAR = 0.8  # how like a keyword a name must be to be taken for a misspelt one
ANNOTATIONS = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "else",
    "example",
    "examples",
    "maxContains",
    "minContains",
    "readOnly",
    "then",
    "title",
    "writeOnly",
]
KEYWORDS = {*Draft202012Validator.VALIDATORS, *ANNOTATIONS}
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")  # hold schemas by name
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def misspelt(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The pointer of each name that is almost a keyword, and that keyword. Names like none are somebody's own."""
    if not isinstance(schema, Mapping):
        return
    for name in schema.keys() - KEYWORDS:
        for keyword in get_close_matches(name, KEYWORDS - schema.keys(), n=1, cutoff=NEAR):
            yield f"{path}/{escape_token(name)}", keyword
    for below, inner in _below(schema):
        yield from misspelt(inner, f"{path}{below}")


def _below(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _NAMED:
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            yield from ((f"/{key}/{escape_token(name)}", value) for name, value in inner.items())
    for key in _LISTS:
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from ((f"/{key}/{index}", value) for index, value in enumerate(inner))
    yield from ((f"/{key}", schema[key]) for key in _SINGLE if key in schema)
