"""Keywords that join schemas of the same value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from stdworker.engine.compatibility.containment import UNSHOWN, Break, Comparison, Rule, shown
from stdworker.engine.compatibility.given import Given
from stdworker.engine.compatibility.places import Place, same

DISJOINT_DEPTH_MAX = 8  # how deep a discriminator is looked for


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
    open_to_it = [
        branch for branch in needed.listed(keyword) if not disjoint(comparison, given, Given.of([branch], ""))
    ]
    failed: list[list[Break]] = []
    for branch in open_to_it:
        found = comparison.contain(given, branch)
        if not found and (keyword == "anyOf" or len(open_to_it) == 1):
            return []
        failed += [found] * bool(found)
    return [comparison.tell(given, needed, keyword, _none_takes_all(comparison, keyword, failed, len(open_to_it)))]


def _none_takes_all(comparison: Comparison, keyword: str, failed: list[list[Break]], candidates: int) -> str:
    if not candidates:
        return f"no branch of {keyword} takes any of what one did{comparison.ending}"
    if not failed:
        return f"a value may fit more than one branch of oneOf; {UNSHOWN}"
    pointer, sentence = min(failed, key=len)[0]
    return f"no branch of {keyword} takes all; of the nearest, {pointer or '/'}: {sentence}"


def _same_branches(part: Place, needed: Place) -> bool:
    """The same branches, in any order."""
    ours, theirs = part.listed("oneOf"), needed.listed("oneOf")
    return len(ours) == len(theirs) and all(
        sum(same(branch, x) for x in ours) == sum(same(branch, x) for x in theirs) for branch in theirs
    )


def disjoint(comparison: Comparison, a: Given, b: Given, depth: int = DISJOINT_DEPTH_MAX) -> bool:
    """Is it sure that no value keeps both?"""
    comparison.count()
    types = a.types & b.types
    if not types:
        return True
    for few, rest in ((a.values, b), (b.values, a)):
        if few is not None:
            return not any(all(part.accepts(value) for part in rest.parts) for value in few)
    if types != {"object"} or not depth:
        return False
    return any(disjoint(comparison, a.member(name), b.member(name), depth - 1) for name in a.required | b.required)


def _not(comparison: Comparison, given: Given, needed: Place) -> Iterator[Break]:
    refused = needed.below("not")
    assert refused is not None
    if disjoint(comparison, given, Given.of([refused], "")):
        return
    with comparison.strictly():
        ours = [own for part in given.parts if (own := part.below("not"))]
        if not any(not comparison.contain(Given.of([refused], refused.pointer), own) for own in ours):
            yield comparison.changed(given, needed, "not")


def word_for_word(*keywords: str) -> Rule:
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


UNIONS: dict[str, Rule] = {
    "$ref": _ref,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": word_for_word("if", "then", "else"),
    "unevaluatedProperties": _unevaluated("unevaluatedProperties"),
    "unevaluatedItems": _unevaluated("unevaluatedItems"),
}
