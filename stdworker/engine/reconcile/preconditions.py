"""Who changes something may ask that it still be what was seen, or not be there: RFC 9110, 13.1."""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.errors import Conflict


def check(what: str, revision: str | None, only_if: Sequence[str] | None, *, only_new: bool = False) -> None:
    """`revision` is that of `what`, None when it isn't there; `only_if` are those that will do.

    None given asks for nothing, an empty one that it be there; `only_new`, that it not be there. Raises Conflict.
    """
    if only_new and revision is not None:
        raise Conflict(f"{what} is there already", code="precondition")
    if only_if is None:
        return
    if revision is None:
        raise Conflict(f"there is no {what}", code="precondition")
    if only_if and revision not in only_if:
        raise Conflict(f"{what} was changed meanwhile", hint="get it again", code="precondition")
