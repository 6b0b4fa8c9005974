"""What is known of a value: all schemas that it keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from stdworker.engine.compatibility.places import (
    UNION_KEYWORDS,
    Document,
    Place,
    Union,
    branches,
    matches,
    parts,
    reach,
)
from stdworker.model.json_text import escape_token

ATOMS = frozenset(("null", "boolean", "object", "array", "string", "integer", "fraction"))  # of what types are made
NUMERIC = frozenset(("integer", "fraction"))
STRING = Document({"type": "string"}).root

Bound = tuple[float, bool]
"""A number, which is the more the stronger, and whether the number itself is left out."""

LOWER = {"minimum": False, "exclusiveMinimum": True}
UPPER = {"maximum": False, "exclusiveMaximum": True}


@dataclass(frozen=True, slots=True)
class Given:
    """All that holds for a value. `at` is where it is told, `split` are unions of which one branch was taken."""

    parts: tuple[Place, ...]
    at: str
    split: frozenset[Union] = frozenset()

    @classmethod
    def of(cls, places: Iterable[Place], at: str) -> Given:
        return cls(tuple(place for place in parts(places) if not place.is_strange), at)

    @property
    def key(self) -> tuple[frozenset[Place], frozenset[Union]]:
        return frozenset(self.parts), self.split

    @property
    def types(self) -> frozenset[str]:
        found = ATOMS
        for part in self.parts:
            found &= _types(part)
        return found

    @property
    def is_nothing(self) -> bool:
        """No value is known to keep all of it."""
        return not self.types or self.values == []

    @property
    def values(self) -> list[Any] | None:
        """All values that there can be, if they are few."""
        listed = next((found for part in self.parts if (found := _listed(part)) is not None), None)
        if listed is None and self.types <= {"null", "boolean"}:
            listed = [None, True, False]
        if listed is None:
            return None
        return [value for value in listed if all(part.accepts(value) for part in self.parts)]

    def told(self, keyword: str) -> Any:
        """What the first part that has a keyword says; None if none does."""
        return next((part.get(keyword) for part in self.parts if part.get(keyword) is not None), None)

    def pointer(self, keyword: str) -> str:
        owner = next((part.pointer for part in self.parts if part.get(keyword) is not None), self.at)
        return f"{owner}/{keyword}"

    # ---- numbers ----

    def bound(self, keywords: dict[str, bool], sign: int) -> Bound | None:
        found = [bound for part in self.parts for bound in bounds(part, keywords, sign)]
        if found and self.types & NUMERIC == {"integer"}:
            return max(map(whole, found))
        return max(found, default=None)

    @property
    def items_max(self) -> float:
        bound = self.bound({"maxItems": False}, -1)
        return math.inf if bound is None else -bound[0]

    @property
    def required(self) -> set[str]:
        return {name for part in self.parts for name in part.get("required") or ()}

    # ---- below ----

    @property
    def names(self) -> list[str]:
        """The properties that are spoken of by name."""
        return list(dict.fromkeys(name for part in self.parts for name in part.get("properties") or {}))

    def member(self, name: str) -> Given:
        places = [place for part in self.parts for place in _property(part, name)]
        return Given.of(places, f"{self.pointer('properties')}/{escape_token(name)}")

    def speaks_of(self, name: str) -> bool:
        """Does anything, in whatever branch, say what is under a name?"""
        spoken = (*self.parts, *reach(place for part in self.parts for place in branches(part, self.split)))
        return name in self.required or any(
            _property(part, name) or part.get("unevaluatedProperties") is not None for part in spoken
        )

    @property
    def lists_properties(self) -> bool:
        """It is the shape of an object, not any value."""
        return self.types == {"object"} or any(part.get("properties") is not None for part in self.parts)

    def matching(self, pattern: str) -> Given:
        """What holds for a property without name here that matches a pattern."""
        places = [place for part in self.parts if (place := part.entry("patternProperties", pattern))]
        return Given.of(
            [*places, *self._rest(patternless=True)], f"{self.pointer('patternProperties')}/{escape_token(pattern)}"
        )

    def others(self, patterns: Iterable[str]) -> Iterator[Given]:
        """What can hold for a property without name here that matches none of the patterns: each case."""
        at = self.pointer("additionalProperties")
        yield Given.of(self._rest(), at)
        for part in self.parts:
            for pattern, place in part.named("patternProperties").items():
                if pattern not in patterns:
                    yield Given.of([place, *self._rest(patternless=True)], at)

    def _rest(self, *, patternless: bool = False) -> list[Place]:
        rests = (
            part.below("additionalProperties")
            for part in self.parts
            if not (patternless and part.get("patternProperties"))
        )
        return [rest for rest in rests if rest is not None]

    @property
    def property_names(self) -> Given:
        places = [STRING, *filter(None, (part.below("propertyNames") for part in self.parts))]
        places += [
            Document({"enum": list(part.get("properties") or ())}).root
            for part in self.parts
            if part.get("additionalProperties") is False and not part.get("patternProperties")
        ]
        return Given.of(places, self.pointer("propertyNames"))

    @property
    def prefix_length(self) -> int:
        return max((len(part.get("prefixItems") or ()) for part in self.parts), default=0)

    def item(self, index: int | None) -> Given:
        """What holds for the item at a position; None: for those after all that are told one by one."""
        places: list[Place] = []
        for part in self.parts:
            prefix = part.listed("prefixItems")
            if index is not None and index < len(prefix):
                places.append(prefix[index])
            elif (rest := part.below("items")) is not None:
                places.append(rest)
        return Given.of(places, self.pointer("items") if index is None else f"{self.pointer('prefixItems')}/{index}")

    # ---- branches ----

    def cases(self) -> list[Given]:
        """The same as the union of several, by its first union that is not taken apart yet; [] without one."""
        for part in self.parts:
            for keyword in UNION_KEYWORDS:
                if part.get(keyword) and (part, keyword) not in self.split:
                    split = self.split | {(part, keyword)}
                    return [self._with(branch, split) for branch in part.listed(keyword)]
        return []

    def by_type(self) -> list[Given]:
        """The same as the union of several, one for each type."""
        types = self.types
        names = sorted(types - NUMERIC) + (["number"] if "fraction" in types else ["integer"] * ("integer" in types))
        return [self._with(_TYPED[name], self.split) for name in names] if len(names) > 1 else []

    def _with(self, place: Place, split: frozenset[Union]) -> Given:
        more = Given.of([place], self.at).parts
        return Given(tuple(dict.fromkeys((*self.parts, *more))), self.at, split)


_TYPED = {name: Document({"type": name}).root for name in (*ATOMS - {"fraction"}, "number")}


def atoms(told: str | list[str]) -> frozenset[str]:
    """The value of `type` as atoms: a number is an integer or not."""
    names = {told} if isinstance(told, str) else set(told)
    return frozenset((names - {"number"}) | (NUMERIC if "number" in names else set()))


def bounds(place: Place, keywords: dict[str, bool], sign: int) -> Iterator[Bound]:
    for keyword, is_exclusive in keywords.items():
        if (value := place.get(keyword)) is not None:
            yield sign * value, is_exclusive


def whole(bound: Bound) -> Bound:
    """The same bound for integers."""
    value, is_exclusive = bound
    return (math.floor(value) + 1 if is_exclusive else math.ceil(value)), False


def _listed(place: Place) -> list[Any] | None:
    if isinstance(place.schema, dict) and "const" in place.schema:
        return [place.schema["const"]]
    listed = place.get("enum")
    return listed if isinstance(listed, list) else None


def _types(place: Place) -> frozenset[str]:
    if place.schema is False:
        return frozenset()
    found = atoms(told) if (told := place.get("type")) is not None else ATOMS
    listed = _listed(place)
    return found if listed is None else found & {_atom(value) for value in listed}


def _atom(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "integer" if value == math.floor(value) else "fraction"


def _property(part: Place, name: str) -> list[Place]:
    found = [] if (own := part.entry("properties", name)) is None else [own]
    found += [place for pattern, place in part.named("patternProperties").items() if matches(pattern, name)]
    rest = part.below("additionalProperties")
    return found or ([] if rest is None else [rest])
