"""Keywords that bound a value by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from stdworker.engine.compatibility.containment import Break, Comparison, Rule, shown
from stdworker.engine.compatibility.given import LOWER, NUMERIC, UPPER, Given, atoms, bounds, whole
from stdworker.engine.compatibility.places import Place


def _type(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if not given.types <= atoms(needed.get("type")):
        yield comparison.changed(given, needed, "type")


def _values(keyword: str) -> Rule:
    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        yield comparison.changed(given, needed, keyword)  # finite values don't come here

    return rule


def _bound(applies: frozenset[str], keywords: Mapping[str, bool], sign: int, keyword: str) -> Rule:
    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        if not given.types & applies:
            return
        [wanted] = bounds(needed, {keyword: keywords[keyword]}, sign)
        if given.types & NUMERIC == {"integer"} or applies != NUMERIC:
            wanted = whole(wanted)
        known = [known] if (known := given.bound(dict(keywords), sign)) is not None else []
        if applies != NUMERIC and sign > 0:
            known.append((len(given.required) if keyword == "minProperties" else 0, False))
        if not any(bound >= wanted for bound in known):
            yield comparison.changed(given, needed, keyword)

    return rule


def _multiple_of(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if not given.types & NUMERIC:
        return
    known = [value for part in given.parts if (value := part.get("multipleOf")) is not None]
    if "fraction" not in given.types:
        known.append(1)
    wanted = Fraction(str(needed.get("multipleOf")))
    if not any((Fraction(str(value)) / wanted).denominator == 1 for value in known):
        yield comparison.changed(given, needed, "multipleOf")


def _equal(type: str, keyword: str) -> Rule:
    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        if type in given.types and not any(part.get(keyword) == needed.get(keyword) for part in given.parts):
            yield comparison.changed(given, needed, keyword)

    return rule


def _unique(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    is_unique = any(part.get("uniqueItems") for part in given.parts) or given.items_max <= 1
    if needed.get("uniqueItems") and "array" in given.types and not is_unique:
        yield comparison.changed(given, needed, "uniqueItems")


def _required(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "object" not in given.types:
        return
    for name in needed.get("required"):
        if name not in given.required:
            told = "need not be there any more" if comparison.inverted else "is required now"
            yield comparison.tell(given, needed, "required", f"{shown(name)} {told}{comparison.ending}")


def _size(applies: str, minimum: str, maximum: str) -> dict[str, Rule]:
    types = frozenset((applies,))
    return {
        minimum: _bound(types, {minimum: False}, 1, minimum),
        maximum: _bound(types, {maximum: False}, -1, maximum),
    }


VALUES: dict[str, Rule] = {
    "type": _type,
    "enum": _values("enum"),
    "const": _values("const"),
    "minimum": _bound(NUMERIC, LOWER, 1, "minimum"),
    "exclusiveMinimum": _bound(NUMERIC, LOWER, 1, "exclusiveMinimum"),
    "maximum": _bound(NUMERIC, UPPER, -1, "maximum"),
    "exclusiveMaximum": _bound(NUMERIC, UPPER, -1, "exclusiveMaximum"),
    "multipleOf": _multiple_of,
    **_size("string", "minLength", "maxLength"),
    "pattern": _equal("string", "pattern"),
    "format": _equal("string", "format"),
    "contentEncoding": _equal("string", "contentEncoding"),
    "contentMediaType": _equal("string", "contentMediaType"),
    **_size("array", "minItems", "maxItems"),
    "uniqueItems": _unique,
    **_size("object", "minProperties", "maxProperties"),
    "required": _required,
}
