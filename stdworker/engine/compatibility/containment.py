"""Is each value of one schema also one of another? What can't be shown counts as no."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import jsonschema_rs

from stdworker.engine.compatibility.given import LOWER, NUMERIC, UPPER, Given, atoms, bounds, whole
from stdworker.engine.compatibility.places import Place, matches, parts, same
from stdworker.model.json_text import dumps, escape_token

STEPS_MAX = 20_000
DEPTH_MAX = 80
SHOWN_CHARACTERS_MAX = 80  # of a value that a sentence quotes
UNSHOWN = "it can't be shown that every value fits"

Break = tuple[str, str]
Rule = Callable[["Comparison", Given, Place], Iterable[Break]]


class TooLarge(Exception):
    """A comparison that would take too long."""


class Comparison:
    """One comparison. Break = (pointer into the new schema, sentence).

    The old schema is what is given, and the new one must take it. `inverted`: the other way round, for what
    others read: the new one is given, and must keep to the old one.
    """

    def __init__(self, *, inverted: bool) -> None:
        self.inverted = inverted
        self.strict = False  # count values under names that were never declared too
        self._steps = 0
        self._depth = 0
        self._level = 0  # how deep in the value
        self._assumed: dict[Any, int] = {}

    def contain(self, given: Given, needed: Place) -> list[Break]:
        """Why not every value of `given` is one of `needed`."""
        self.count()
        if given.is_nothing or needed.allows_all or any(same(part, needed) for part in given.parts):
            return []
        key = (given.key, needed, self.strict)
        if key in self._assumed:  # true of values that are less deep: what recursion means
            return [] if self._level > self._assumed[key] else [self.tell(given, needed, "", UNSHOWN)]
        if self._depth == DEPTH_MAX:
            raise TooLarge
        self._assumed[key] = self._level
        self._depth += 1
        try:
            return [found for part in parts([needed]) for found in self._part(given, part)]
        finally:
            self._depth -= 1
            del self._assumed[key]

    def below(self, given: Given, needed: Place) -> list[Break]:
        """The same of a part of the value."""
        self._level += 1
        try:
            return self.contain(given, needed)
        finally:
            self._level -= 1

    def count(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TooLarge

    @contextmanager
    def strictly(self) -> Iterator[None]:
        before, self.strict = self.strict, True
        try:
            yield
        finally:
            self.strict = before

    def _part(self, given: Given, part: Place) -> Iterator[Break]:
        if part.schema is False:
            yield self.tell(given, part, "", "no value is allowed here" + self.ending)
            return
        if part.is_strange:
            yield self.tell(given, part, "", f"$id and $dynamicRef inside a schema are not looked into; {UNSHOWN}")
            return
        for keyword in part.keywords:
            if keyword in RULES:
                yield from self._keyword(given, part, keyword)

    def _keyword(self, given: Given, part: Place, keyword: str) -> list[Break]:
        self.count()
        if given.is_nothing:
            return []
        values = given.values
        if values is not None:
            return list(self._of_values(values, given, part, keyword))
        found = list(RULES[keyword](self, given, part))
        if found and (cases := given.cases()):
            return next(filter(None, (self._keyword(case, part, keyword) for case in cases)), [])
        return found

    def _of_values(self, values: list[Any], given: Given, part: Place, keyword: str) -> Iterator[Break]:
        accepts: Callable[[Any], bool]
        if keyword in APPLICATORS:
            accepts = part.accepts
        else:
            accepts = jsonschema_rs.Draft202012Validator({keyword: part.get(keyword)}, validate_formats=True).is_valid
        refused = [value for value in values if not accepts(value)]
        if refused:
            listed = ", ".join(map(shown, refused[:3])) + (", …" if len(refused) > 3 else "")
            yield self.tell(given, part, keyword, f"{listed} {'is' if len(refused) == 1 else 'are'} not taken")

    # ---- telling ----

    @property
    def ending(self) -> str:
        if self.inverted:
            return ": readers may meet values that were ruled out"
        return ": values that were valid may be refused"

    def tell(self, given: Given, needed: Place, keyword: str, sentence: str) -> Break:
        if not self.inverted:
            return f"{needed.pointer}/{keyword}".removesuffix("/"), sentence
        return (given.pointer(keyword) if keyword else given.at), sentence

    def changed(self, given: Given, needed: Place, keyword: str) -> Break:
        """A keyword says something else than it did."""
        sides = [given.told(keyword), needed.get(keyword)]
        old, new = (shown(side) if side is not None else "absent" for side in (sides[::-1] if self.inverted else sides))
        return self.tell(given, needed, keyword, f"{keyword} was {old}, is now {new}{self.ending}")


def shown(value: Any) -> str:
    text = dumps(value).decode()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


# ---- any value ----


def _type(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if not given.types <= atoms(needed.get("type")):
        yield comparison.changed(given, needed, "type")


def _values(keyword: str) -> Rule:
    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        yield comparison.changed(given, needed, keyword)  # finite values don't come here

    return rule


def _any_of(comparison: Comparison, given: Given, needed: Place) -> list[Break]:
    return _by_type(given, lambda case: _one_takes_all(comparison, case, needed, "anyOf"))


def _one_of(comparison: Comparison, given: Given, needed: Place) -> list[Break]:
    return _by_type(given, lambda case: _one_takes_all(comparison, case, needed, "oneOf"))


def _by_type(given: Given, found_of: Callable[[Given], list[Break]]) -> list[Break]:
    """Values of one type may fit where those of all types don't."""
    found = found_of(given)
    cases = given.by_type() if found else []
    return next(filter(None, map(found_of, cases)), []) if cases else found


def _one_takes_all(comparison: Comparison, given: Given, needed: Place, keyword: str) -> list[Break]:
    if given.is_nothing or (keyword == "oneOf" and any(_same_branches(part, needed) for part in given.parts)):
        return []
    nearest: list[Break] = []
    branches = needed.listed(keyword)
    for branch in branches:
        found = comparison.contain(given, branch)
        if not found and (keyword == "anyOf" or _apart(given, branch, branches)):
            return []
        nearest = min(filter(None, (nearest, found)), key=len, default=[])
    if not nearest:
        told = f"a value may fit more than one branch of oneOf; {UNSHOWN}"
    else:
        told = f"no branch of {keyword} takes all; of the nearest, {nearest[0][0] or '/'}: {nearest[0][1]}"
    return [comparison.tell(given, needed, keyword, told)]


def _apart(given: Given, branch: Place, branches: list[Place]) -> bool:
    return all(other is branch or disjoint(given, Given.of([other], "")) for other in branches)


def _same_branches(part: Place, needed: Place) -> bool:
    """The same branches, in any order."""
    ours, theirs = part.listed("oneOf"), needed.listed("oneOf")
    return len(ours) == len(theirs) and all(
        sum(same(branch, x) for x in ours) == sum(same(branch, x) for x in theirs) for branch in theirs
    )


def disjoint(a: Given, b: Given, depth: int = 8) -> bool:
    """Is it sure that no value keeps both?"""
    types = a.types & b.types
    if not types:
        return True
    for few, rest in ((a.values, b), (b.values, a)):
        if few is not None:
            return not any(all(part.accepts(value) for part in rest.parts) for value in few)
    if types != {"object"} or not depth:
        return False
    return any(disjoint(a.member(name), b.member(name), depth - 1) for name in a.required | b.required)


def _not(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    refused = needed.below("not")
    assert refused is not None
    if disjoint(given, Given.of([refused], "")):
        return
    with comparison.strictly():
        ours = [own for part in given.parts if (own := part.below("not"))]
        if not any(not comparison.contain(Given.of([refused], refused.pointer), own) for own in ours):
            yield comparison.changed(given, needed, "not")


def _word_for_word(*keywords: str) -> Rule:
    """Keywords that only mean something together, and are not looked into."""

    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        if not any(same(_only(part, keywords), _only(needed, keywords)) for part in given.parts):
            yield comparison.tell(given, needed, keywords[0], f"{keywords[0]} is another; {UNSHOWN}")

    return rule


def _only(place: Place, keywords: Iterable[str]) -> Place:
    chosen = {key: value for key in keywords if (value := place.get(key)) is not None}
    return Place(place.document, f"{place.pointer} in part", chosen)


def _unevaluated(keyword: str) -> Rule:
    def rule(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
        rest = needed.below(keyword)
        if rest is not None and not rest.allows_all and not any(same(part, needed) for part in given.parts):
            yield comparison.tell(given, needed, keyword, f"{keyword} depends on what was changed; {UNSHOWN}")

    return rule


def _ref(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if needed.referred is None:
        yield comparison.tell(given, needed, "$ref", f"{shown(needed.get('$ref'))} is not looked into; {UNSHOWN}")


# ---- numbers, texts ----


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


# ---- objects ----


def _required(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "object" not in given.types:
        return
    for name in needed.get("required"):
        if name not in given.required:
            told = "need not be there any more" if comparison.inverted else "is required now"
            yield comparison.tell(given, needed, "required", f"{shown(name)} {told}{comparison.ending}")


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


# ---- arrays ----


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


def _unique(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    is_unique = any(part.get("uniqueItems") for part in given.parts) or given.items_max <= 1
    if needed.get("uniqueItems") and "array" in given.types and not is_unique:
        yield comparison.changed(given, needed, "uniqueItems")


def _contains(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    if "array" in given.types:
        yield from _word_for_word("contains", "minContains", "maxContains")(comparison, given, needed)


def _size(applies: str, minimum: str, maximum: str) -> dict[str, Rule]:
    types = frozenset((applies,))
    return {
        minimum: _bound(types, {minimum: False}, 1, minimum),
        maximum: _bound(types, {maximum: False}, -1, maximum),
    }


APPLICATORS: dict[str, Rule] = {
    "$ref": _ref,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _word_for_word("if", "then", "else"),
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "dependentSchemas": _dependent_schemas,
    "unevaluatedProperties": _unevaluated("unevaluatedProperties"),
    "prefixItems": _prefix_items,
    "items": _items,
    "contains": _contains,
    "unevaluatedItems": _unevaluated("unevaluatedItems"),
}
RULES: dict[str, Rule] = APPLICATORS | {
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
    "dependentRequired": _dependent_required,
}
