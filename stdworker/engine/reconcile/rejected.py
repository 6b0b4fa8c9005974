"""The verdict on a composer's result that can't be applied."""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.engine.reconcile.texts import clean

PROBLEMS_TOLD_MAX = 5


class Rejected(Exception):
    """The composer's result can't be applied; `waits_for` names what would change that, `passes`: time will."""

    def __init__(
        self, reason: str, problems: Sequence[str], waits_for: Sequence[str] = (), *, passes: bool = False
    ) -> None:
        told = "; ".join(problems[:PROBLEMS_TOLD_MAX])
        more = len(problems) - PROBLEMS_TOLD_MAX
        self.reason = reason
        self.message = clean(f"{told}; and {more} more" if more > 0 else told)
        self.waits_for = list(waits_for)
        self.terminal = not passes
        super().__init__(self.message)
