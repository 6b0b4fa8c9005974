"""Is each value of one schema also one of another? What can't be shown counts as no."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jsonschema_rs

from stdworker.engine.compatibility.given import Given
from stdworker.engine.compatibility.places import Place, parts, same
from stdworker.model.json_text import dumps

STEPS_MAX = 20_000
DEPTH_MAX = 80
SHOWN_CHARACTERS_MAX = 80  # of a value that a sentence quotes
UNSHOWN = "it can't be shown that every value fits"

Break = tuple[str, str]
Rule = Callable[["Comparison", Given, Place], Iterable[Break]]
Rules = Mapping[str, Rule]
"""By keyword: why a value of `given` may break the keyword of a place."""


class TooLarge(Exception):
    """A comparison that would take too long."""


class Comparison:
    """One comparison. Break = (pointer into the new schema, sentence).

    The old schema is what is given, and the new one must take it. `inverted`: the other way round, for what
    others read: the new one is given, and must keep to the old one.
    """

    def __init__(self, values: Rules, applicators: Rules, *, inverted: bool) -> None:
        self._rules = {**values, **applicators}
        self._applicators = applicators
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
            if keyword in self._rules:
                yield from self._keyword(given, part, keyword)

    def _keyword(self, given: Given, part: Place, keyword: str) -> list[Break]:
        self.count()
        if given.is_nothing:
            return []
        values = given.values
        if values is not None:
            return list(self._of_values(values, given, part, keyword))
        found = list(self._rules[keyword](self, given, part))
        if found and (cases := given.cases()):
            return next(filter(None, (self._keyword(case, part, keyword) for case in cases)), [])
        return found

    def _of_values(self, values: list[Any], given: Given, part: Place, keyword: str) -> Iterator[Break]:
        accepts: Callable[[Any], bool]
        if keyword in self._applicators:
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
