"""Specs to try a program with: made from its schema, or put into a spec that is known to work."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from stdworker.model.json_text import dumps
from stdworker.model.pointer import find

CHARACTERS_MAX = 1 << 20  # of a made up text
DEPTH_MAX = 8  # of samples; a schema that refers to itself without end gets none
TEXTS = (
    "check",
    "check-1",
    "Check",
    "1",
    "a",
    "A1",
    "check.example",
    "/check",
    "10.0.0.1",
    "1.2.3",
    "check@check.example",
)
FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "check@check.example",
    "hostname": "check.example",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://check.example/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}

Schema = Mapping[str, Any]


class NoSample(Exception):
    """The schema allows no value that this module could think of."""


def fits(schema: Schema | None, value: Any) -> bool:
    """Would the engine let this value through?"""
    return not first_violation(schema, value)


def first_violation(schema: Schema | None, value: Any) -> str:
    """What the engine has against it, "" for nothing."""
    try:
        error = None if schema is None else next(Draft202012Validator(schema).iter_errors(value), None)
    except RecursionError:
        return "the schema refers to itself without end"
    return "" if error is None else f"{error.json_path}: {error.message}"


def sample(schema: Schema, *, full: bool = False) -> Any:
    """A value that the schema allows: as little as it requires, or with every property. Raises NoSample."""
    value = _Sampler(schema, full).value(schema, 0)
    if not fits(schema, value):
        raise NoSample
    return value


def place(schema: Schema | None, base: Any, value: Any, *, type_names: Sequence[str]) -> Any:
    """`base` with `value` in it, at a place that the schema has for it. Raises NoSample if there is none."""
    for path in _paths(schema, base, type_names):
        found = _with(base, path, value)
        if found is not None and fits(schema, found):
            return found
    raise NoSample


def _paths(schema: Schema | None, base: Any, type_names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    yield from _declared(schema or {}, type_names, ())
    if isinstance(base, dict):
        yield ("check",)


def _declared(schema: Schema, type_names: Sequence[str], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Properties of one of these types, those that are required first."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    for name in sorted(properties, key=lambda name: name not in required):
        inner = properties[name]
        if not isinstance(inner, Mapping):
            continue
        if inner.get("type") in type_names:
            yield (*path, name)
        if inner.get("type") == "object" and len(path) < DEPTH_MAX:
            yield from _declared(inner, type_names, (*path, name))


def _with(base: Any, path: tuple[str, ...], value: Any) -> Any:
    changed = copy.deepcopy(base)
    place = changed
    for name in path[:-1]:
        if not isinstance(place, dict):
            return None
        place = place.setdefault(name, {})
    if not isinstance(place, dict):
        return None
    place[path[-1]] = value
    return changed


class _Sampler:
    def __init__(self, root: Schema, full: bool) -> None:
        self.root = root
        self.full = full

    def value(self, schema: Any, depth: int) -> Any:
        if depth > DEPTH_MAX or schema is False:
            raise NoSample
        if not isinstance(schema, Mapping):
            return "check"
        schema = self.resolved(schema)
        for key in ("examples", "enum"):
            if schema.get(key):
                return schema[key][0]
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("oneOf", "anyOf"):
            if schema.get(key):
                return self.first_of(schema, key, depth)
        return self.by_type(schema, depth)

    def resolved(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """References followed and `allOf` merged, one level deep."""
        merged = dict(schema)
        for _ in range(DEPTH_MAX):
            reference = merged.pop("$ref", None)
            parts = [*merged.pop("allOf", ()), *([self.target(reference)] if reference else ())]
            if not parts:
                return merged
            for part in parts:
                merged = _merged(merged, part)
        raise NoSample

    def target(self, reference: str) -> Any:
        is_pointer = reference == "#" or reference.startswith("#/")
        found = find(dumps(dict(self.root)), reference.removeprefix("#")) if is_pointer else None
        if found is None:
            raise NoSample
        return found.value()

    def first_of(self, schema: Mapping[str, Any], key: str, depth: int) -> Any:
        rest = {name: value for name, value in schema.items() if name != key}
        for choice in schema[key]:
            try:
                value = self.value(_merged(rest, choice), depth + 1)
            except NoSample:
                continue
            if Draft202012Validator({**self.root, **schema}).is_valid(value):
                return value
        raise NoSample

    def by_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        name = schema.get("type", "object" if "properties" in schema or "required" in schema else "string")
        if isinstance(name, list):
            name = next((one for one in name if one != "null"), "null")
        match name:
            case "object":
                return self.object(schema, depth)
            case "array":
                count = max(schema.get("minItems", 0), 1 if self.full else 0)
                return [self.value(schema.get("items", True), depth + 1) for _ in range(min(count, 100))]
            case "string":
                return _text(schema)
            case "integer" | "number":
                return _number(schema, whole=name == "integer")
            case "boolean":
                return True
            case _:
                return None

    def object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        names = [*required, *(name for name in properties if self.full and name not in required)]
        made: dict[str, Any] = {}
        for name in names:
            try:
                made[name] = self.value(properties.get(name, True), depth + 1)
            except NoSample:
                if name in required:
                    raise
        return made


def _merged(one: Mapping[str, Any], other: Any) -> dict[str, Any]:
    if not isinstance(other, Mapping):
        return dict(one)
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _text(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > CHARACTERS_MAX:
        raise NoSample
    named = FORMATS.get(schema.get("format", ""))
    for text in (named,) if named else TEXTS:
        padded = text.ljust(least, "x")[:most]
        if "pattern" not in schema or re.search(schema["pattern"], padded):
            return padded
    raise NoSample


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    step = schema.get("multipleOf", 1)
    low = schema.get("minimum", schema.get("exclusiveMinimum", -step) + step)
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, step) + step) - step)
    number = min(max(1, low), high) if "multipleOf" not in schema else -(-max(low, step) // step) * step
    return int(number) if whole else number
