"""The page of `/docs`: the OpenAPI document for readers, whole in itself, so that it works offline."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader

_REF = "#/components/schemas/"


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("stdworker.engine.api", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    made.filters["shape"] = shape_name
    return made


def page(document: dict[str, Any]) -> str:
    """HTML for an OpenAPI document."""
    return _templates().get_template("docs.html").render(document=document, groups=_groups(document))


def style() -> str:
    return _templates().get_template("docs.css").render()


def shape_name(schema: dict[str, Any]) -> str:
    """A schema in a word or two: `Resource`, `list of string`, `integer or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REF)
    if "anyOf" in schema:
        return " or ".join(shape_name(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {shape_name(schema.get('items', {}))}"
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    return str(schema.get("type", "any"))


def _groups(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Operations by tag, in the order of the routes."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = {"path": path, "method": method.upper(), **operation}
            groups.setdefault(operation["tags"][0], []).append(shown)
    return groups
