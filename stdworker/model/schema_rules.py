"""What a JSON Schema inside a manifest must be for the engine to take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from stdworker.model.json_text import escape_token

if TYPE_CHECKING:
    from referencing._core import Resolver

_REFERENCES = ("$ref", "$dynamicRef")
_VALUES = ("const", "enum", "default", "examples")  # of a schema, whose members are no schemas


def schema_violations(path: str, schema: Any) -> Iterator[tuple[str, str]]:
    """Why the schema at `path` of a manifest is none, or refers to nothing: places and reasons."""
    if schema is None:
        return
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        inner = "".join(f"/{token}" for token in error.absolute_path)
        yield f"{path}{inner}", f"not JSON Schema: {error.message}"
        return
    root: Resource[Any] = DRAFT202012.create_resource(schema)
    yield from _lost_references(path, schema, Registry().with_resource("", root).resolver_with_root(root))


def _lost_references(path: str, schema: Any, resolver: Resolver[Any]) -> Iterator[tuple[str, str]]:
    """References that the engine refuses: they lead to nothing, or out of the schema."""
    if isinstance(schema, Mapping) and isinstance(schema.get("$id"), str):
        resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
    inner = schema.items() if isinstance(schema, Mapping) else enumerate(schema) if isinstance(schema, list) else ()
    for key, value in inner:
        if key in _REFERENCES and isinstance(value, str) and not _leads_somewhere(value, resolver):
            yield f"{path}/{key}", f"{value!r} is nowhere in this schema"
        elif key not in _VALUES:
            yield from _lost_references(f"{path}/{escape_token(str(key))}", value, resolver)


def _leads_somewhere(reference: str, resolver: Resolver[Any]) -> bool:
    try:
        resolver.lookup(reference)
    except Unresolvable:
        return False
    return True
