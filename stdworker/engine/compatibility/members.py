"""Keywords that speak of the parts of objects and arrays."""

from __future__ import annotations

from collections.abc import Iterator

from stdworker.engine.compatibility.containment import Break, Comparison, Rule, shown
from stdworker.engine.compatibility.given import Given
from stdworker.engine.compatibility.places import Place, matches, same
from stdworker.engine.compatibility.unions import word_for_word
from stdworker.model.json_text import escape_token


def _dependent_required(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    for name, names in needed.get("dependentRequired").items():
        known = given.required.union(*((part.get("dependentRequired") or {}).get(name, ()) for part in given.parts))
        if not (set(names) <= known or _never_there(comparison, given, name)):
            yield comparison.changed(given, needed, "dependentRequired")
            return


def _dependent_schemas(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    for name, schema in needed.named("dependentSchemas").items():
        ours = [own for part in given.parts if (own := part.entry("dependentSchemas", name))]
        if not (any(same(own, schema) for own in ours) or _never_there(comparison, given, name)):
            yield from comparison.contain(given, schema)


def _never_there(comparison: Comparison, given: Given, name: str) -> bool:
    """No value has the property, or its name had no meaning yet: to add it is what decision 44 allows."""
    if "object" not in given.types or given.member(name).is_nothing:
        return True
    return not (comparison.strict or given.speaks_of(name)) and given.lists_properties


def _properties(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    for name, schema in needed.named("properties").items():
        if not _never_there(comparison, given, name):
            yield from comparison.below(given.member(name), schema)


def _pattern_properties(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "object" not in given.types:
        return
    for pattern, schema in needed.named("patternProperties").items():
        for name in given.names:
            if matches(pattern, name):
                yield from comparison.below(given.member(name), schema)
        yield from comparison.below(given.matching(pattern), schema)


def _additional_properties(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "object" not in given.types:
        return
    rest = needed.below("additionalProperties")
    assert rest is not None
    patterns = (needed.get("patternProperties") or {}).keys()
    own = needed.get("properties") or {}
    for name in given.names:
        if name not in own and not any(matches(pattern, name) for pattern in patterns):
            yield from _additional(comparison, given, needed, name, rest)
    for case in given.others(patterns):
        if found := comparison.below(case, rest):
            yield from [comparison.changed(given, needed, "additionalProperties")] if rest.schema is False else found
            return


def _additional(comparison: Comparison, given: Given, needed: Place, name: str, rest: Place) -> Iterator[Break]:
    inner = given.member(name)
    found = comparison.below(inner, rest)
    if found and rest.schema is False:
        at = inner.at if comparison.inverted else f"{needed.pointer}/properties/{escape_token(name)}"
        yield at, f"{shown(name)} is not among the properties that are allowed{comparison.ending}"
    else:
        yield from found


def _property_names(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    names = needed.below("propertyNames")
    if names is not None and "object" in given.types:
        yield from comparison.below(given.property_names, names)


def _prefix_items(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    for index, schema in enumerate(needed.listed("prefixItems")):
        if "array" in given.types and index < given.items_max:
            yield from comparison.below(given.item(index), schema)


def _items(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    rest = needed.below("items")
    first = len(needed.get("prefixItems") or ())
    if rest is None or "array" not in given.types:
        return
    for index in range(first, given.prefix_length):
        if index < given.items_max:
            yield from comparison.below(given.item(index), rest)
    if max(first, given.prefix_length) < given.items_max:
        yield from comparison.below(given.item(None), rest)


def _contains(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "array" in given.types:
        yield from word_for_word("contains", "minContains", "maxContains")(comparison, given, needed)


MEMBERS: dict[str, Rule] = {
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
}
