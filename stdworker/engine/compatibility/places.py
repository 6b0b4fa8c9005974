"""Schemas where they stand in their documents, and which others speak of the same value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote

import jsonschema_rs

from stdworker.model.json_text import dumps, equal, escape_token
from stdworker.model.whole import whole

Schema: TypeAlias = dict[str, Any] | bool

ANNOTATIONS = frozenset(("$anchor", "$comment", "$defs", "$id", "$schema", "definitions", "title", "description")) | {
    "default",
    "deprecated",
    "examples",
    "readOnly",
    "writeOnly",
}
ONE = ("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames")
ONE_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
UNION_KEYWORDS = ("anyOf", "oneOf")
LISTED = (*UNION_KEYWORDS, "allOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas")
PATTERNS_KEPT = 4_096  # compiled ones
PATTERN_BYTES_MAX = 1 << 20
_IT = "urn:it"


class Document:
    """A whole schema. Two are the same only if they are one object."""

    def __init__(self, schema: Schema) -> None:
        self.schema: Schema = (
            {key: value for key, value in schema.items() if key != "$id"} if isinstance(schema, dict) else schema
        )
        self._base = str(schema.get("$id", "")).partition("#")[0] if isinstance(schema, dict) else ""
        self._validators: dict[str, Any] = {}

    @property
    def root(self) -> Place:
        return Place(self, "", self.schema)

    def resolve(self, reference: str) -> Place | None:
        """What a `$ref` means; None if it is no pointer into this document."""
        base, _, fragment = reference.partition("#")
        if base not in ("", self._base):
            return None
        here, pointer = self.schema, unquote(fragment)
        for token in pointer.split("/")[1:]:
            step = _step(here, token.replace("~1", "/").replace("~0", "~"))
            if step is None or (isinstance(step, dict) and isinstance(step.get("$id"), str)):
                return None
            here = step
        is_pointer = pointer[:1] in ("", "/") and isinstance(here, dict | bool)
        return Place(self, pointer, here) if is_pointer else None

    def accepts(self, value: Any, pointer: str) -> bool:
        """Is a value valid against the schema at `pointer`? Formats are not looked at."""
        if pointer not in self._validators:
            self._validators[pointer] = jsonschema_rs.Draft202012Validator(
                {"$ref": f"{_IT}#{_uri(pointer)}"}, retriever=lambda _: self.schema, pattern_options=_linear()
            )
        return bool(self._validators[pointer].is_valid(value))


def _step(here: Any, token: str) -> Any:
    if isinstance(here, dict):
        return here.get(token)
    index = whole(token, len(here) - 1) if isinstance(here, list) else None
    return None if index is None else here[index]


def _uri(pointer: str) -> str:
    return "".join(c if (c.isascii() and c.isalnum()) or c in "/-_.~" else _percent(c) for c in pointer)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _linear() -> jsonschema_rs.RegexOptions:
    return jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Place:
    """One schema of a document."""

    document: Document
    pointer: str
    schema: Schema = field(compare=False)

    @property
    def keywords(self) -> list[str]:
        return list(self.schema) if isinstance(self.schema, dict) else []

    def get(self, keyword: str) -> Any:
        return self.schema.get(keyword) if isinstance(self.schema, dict) else None

    def below(self, keyword: str) -> Place | None:
        """The schema that is the value of a keyword."""
        schema = self.get(keyword)
        return None if schema is None else Place(self.document, f"{self.pointer}/{keyword}", schema)

    def listed(self, keyword: str) -> list[Place]:
        return [
            Place(self.document, f"{self.pointer}/{keyword}/{index}", schema)
            for index, schema in enumerate(self.get(keyword) or ())
        ]

    def named(self, keyword: str) -> dict[str, Place]:
        return {
            name: Place(self.document, f"{self.pointer}/{keyword}/{escape_token(name)}", schema)
            for name, schema in (self.get(keyword) or {}).items()
        }

    def entry(self, keyword: str, name: str) -> Place | None:
        """One of those of `named`."""
        schema = (self.get(keyword) or {}).get(name)
        pointer = f"{self.pointer}/{keyword}/{escape_token(name)}"
        return None if schema is None else Place(self.document, pointer, schema)

    @property
    def is_strange(self) -> bool:
        """Nothing here can be compared: references below mean something else than they say."""
        return self.get("$dynamicRef") is not None or (bool(self.pointer) and self.get("$id") is not None)

    @property
    def referred(self) -> Place | None:
        reference = self.get("$ref")
        return self.document.resolve(reference) if isinstance(reference, str) else None

    @property
    def allows_all(self) -> bool:
        return self.schema is True or (isinstance(self.schema, dict) and self.schema.keys() <= ANNOTATIONS)

    def accepts(self, value: Any) -> bool:
        return self.document.accepts(value, self.pointer)


Union: TypeAlias = tuple[Place, str]
"""A place, and which of its keywords: anyOf or oneOf."""


def parts(places: Iterable[Place]) -> tuple[Place, ...]:
    """The places and all that must hold with them: what `$ref` and `allOf` bring in."""
    found: dict[Place, None] = {}
    waiting = list(places)[::-1]
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found[place] = None
        waiting += place.listed("allOf")[::-1]
        if (referred := place.referred) is not None:
            waiting.append(referred)
    return tuple(found)


def reach(places: Iterable[Place]) -> tuple[Place, ...]:
    """The parts, and all that may hold for the same value in some branch."""
    found: dict[Place, None] = {}
    waiting = list(places)[::-1]
    while waiting:
        for place in parts([waiting.pop()]):
            if place not in found:
                found[place] = None
                waiting += branches(place)
    return tuple(found)


def branches(place: Place, split: frozenset[Union] = frozenset()) -> Iterator[Place]:
    """What may hold beside a schema; not the branches of those unions that are split."""
    for keyword in UNION_KEYWORDS:
        if (place, keyword) not in split:
            yield from place.listed(keyword)
    yield from place.named("dependentSchemas").values()
    yield from filter(None, map(place.below, ("if", "then", "else")))


@lru_cache(PATTERNS_KEPT)
def _matcher(pattern: str) -> Any:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_linear())


def matches(pattern: str, name: str) -> bool:
    return bool(_matcher(pattern).is_valid(name))


def same_text(a: Any, b: Any) -> bool:
    return equal(dumps(a), dumps(b))


def same(a: Place, b: Place) -> bool:
    """Do two schemas say the same, word for word, wherever their definitions stand?"""
    return _same(a, b, set())


def _same(a: Place, b: Place, seen: set[tuple[Place, Place]]) -> bool:
    if (a, b) in seen:
        return True
    seen.add((a, b))
    if not (isinstance(a.schema, dict) and isinstance(b.schema, dict)):
        return a.schema == b.schema
    if a.is_strange or b.is_strange:
        return False
    keywords = a.schema.keys() - ANNOTATIONS
    return keywords == b.schema.keys() - ANNOTATIONS and all(_same_keyword(a, b, key, seen) for key in keywords)


def _same_keyword(a: Place, b: Place, keyword: str, seen: set[tuple[Place, Place]]) -> bool:
    if keyword == "$ref":
        to_a, to_b = a.referred, b.referred
        return to_a is not None and to_b is not None and _same(to_a, to_b, seen)
    if keyword in LISTED:
        ours, theirs = a.listed(keyword), b.listed(keyword)
    elif keyword in NAMED:
        in_a, in_b = a.named(keyword), b.named(keyword)
        if in_a.keys() != in_b.keys():
            return False
        ours, theirs = list(in_a.values()), [in_b[name] for name in in_a]
    elif keyword in ONE or keyword in ONE_UNEVALUATED:
        ours, theirs = list(filter(None, [a.below(keyword)])), list(filter(None, [b.below(keyword)]))
    else:
        return same_text(a.get(keyword), b.get(keyword))
    return len(ours) == len(theirs) and all(_same(x, y, seen) for x, y in zip(ours, theirs, strict=True))
