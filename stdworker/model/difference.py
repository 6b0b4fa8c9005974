"""Where two objects differ, leaf by leaf, as verbatim JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stdworker.model.json_text import RawJson, equal, escape_token, members

__all__ = ["Difference", "differences"]


class Difference(NamedTuple):
    """One leaf at an RFC 6901 pointer; None where a side has nothing."""

    path: str
    before: RawJson | None
    after: RawJson | None


def differences(before: Mapping[str, RawJson], after: Mapping[str, RawJson], path: str = "") -> Iterator[Difference]:
    """Every member that is not `equal`, in the order of `after`; objects are descended into, arrays are leaves."""
    for key in [*after, *(key for key in before if key not in after)]:
        old, new = before.get(key), after.get(key)
        if equal(old, new):
            continue
        inner = f"{path}/{escape_token(key)}"
        old_members, new_members = members(old or b""), members(new or b"")
        if old_members is not None and new_members is not None:
            yield from differences(old_members, new_members, inner)
        else:
            yield Difference(inner, old, new)
