"""What a schema breaks of the one that it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stdworker.engine.compatibility.containment import Break, Comparison, TooLarge
from stdworker.engine.compatibility.given import Given
from stdworker.engine.compatibility.members import MEMBERS
from stdworker.engine.compatibility.places import Document, Place, matches, reach
from stdworker.engine.compatibility.unions import UNIONS
from stdworker.engine.compatibility.values import VALUES
from stdworker.model.json_text import escape_token

BREAKS_MAX = 200


def breaks(
    old: dict[str, Any] | bool | None, new: dict[str, Any] | bool | None, *, inverted: bool = False
) -> list[Break]:
    """Why `new` may not replace `old`, as (RFC 6901 pointer into `new`, sentence); [] when it may.

    Both are valid JSON Schemas, or None for no schema. What others write must be as welcome as before: each
    valid value stays valid, and each declared property stays declared. A property may be added if it is
    optional, although an open object could already hold anything under its name. `inverted`: what others read
    must be as reliable as before: each value that is valid now was valid. What can't be shown to keep to this
    is a break. At most `BREAKS_MAX` are told.
    """
    before, after = (Document(True if schema is None else schema).root for schema in (old, new))
    found = dict.fromkeys(_Removals().of([before], [after]))
    removed = {pointer for pointer, _ in found}
    narrow, wide = (after, before) if inverted else (before, after)
    try:
        contained = Comparison(VALUES, UNIONS | MEMBERS, inverted=inverted).contain(Given.of([narrow], ""), wide)
    except (TooLarge, RecursionError):
        contained = [("", "the schemas are too large, or too deep, to be compared")]
    found |= dict.fromkeys(item for item in contained if item[0] not in removed)
    return list(found)[:BREAKS_MAX]


class _Removals:
    """Properties that were declared and are no more, at any depth."""

    def __init__(self) -> None:
        self._seen: set[tuple[frozenset[Place], frozenset[Place]]] = set()

    def of(self, old: list[Place], new: list[Place]) -> Iterator[Break]:
        before, after = reach(old), reach(new)
        key = frozenset(before), frozenset(after)
        if key in self._seen or not (before and after):
            return
        self._seen.add(key)
        ours, theirs = _properties(before), _properties(after)
        at = next((place.pointer for place in after if place.get("properties")), after[0].pointer)
        for name, places in ours.items():
            if name in theirs:
                yield from self.of(places, theirs[name])
            elif not _takes(after, name):
                yield f"{at}/properties/{escape_token(name)}", f"the property {name!r} was removed"
        for keyword in ("items", "additionalProperties"):
            yield from self.of(_below(before, keyword), _below(after, keyword))
        for index in range(max(len(place.get("prefixItems") or ()) for place in before)):
            yield from self.of(_item(before, index), _item(after, index))


def _properties(places: tuple[Place, ...]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for place in places:
        for name, schema in place.named("properties").items():
            if schema.schema is not False:
                found.setdefault(name, []).append(schema)
    return found


def _takes(places: tuple[Place, ...], name: str) -> bool:
    """A name that isn't listed is still declared, by a pattern or as one of a map; or it is refused elsewhere."""
    return any(
        isinstance(place.get("additionalProperties"), dict)
        or name in (place.get("properties") or {})
        or any(matches(pattern, name) for pattern in place.get("patternProperties") or ())
        for place in places
    )


def _below(places: tuple[Place, ...], keyword: str) -> list[Place]:
    return [schema for place in places if (schema := place.below(keyword))]


def _item(places: tuple[Place, ...], index: int) -> list[Place]:
    found = (place.listed("prefixItems")[index:][:1] or _below((place,), "items") for place in places)
    return [schema for schemas in found for schema in schemas]
