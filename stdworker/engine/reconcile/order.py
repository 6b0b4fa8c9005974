"""The order in which a transaction takes what others may hold: resources by their ids, then queue rows by theirs.

So nobody waits in a circle. What turns out late to be needed, and comes before what is held, is taken only if
it is free. Else the transaction is undone and begins again with all that it needed, taken in the order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from stdworker.engine.store import nodes, tasks
from stdworker.engine.store.contract import Connection

_BEYOND = 1 << 63


@dataclass(slots=True)
class Order:
    """What a transaction has come to, and what it begins with when it is run again."""

    resources: set[int] = field(default_factory=set)
    owners: set[int] = field(default_factory=set)
    """Resources that are held with all that they own."""
    rows: set[int] = field(default_factory=set)
    _resource: int = 0
    _row: int = 0

    def begin(self, db: Connection) -> None:
        """Take first what an earlier run of the transaction needed."""
        self._resource = nodes.hold(db, self.resources, self.owners) if self.resources else 0
        self._row = max(self.rows) if tasks.lock(db, self.rows) else 0

    def need(self, resources: Collection[int], rows: Collection[int]) -> None:
        """The transaction can't go on: it begins again with these as well."""
        self.resources.update(resources)
        self.rows.update(rows)

    @property
    def is_new(self) -> bool:
        """Is nothing held yet?"""
        return not self._resource and not self._row

    def hold(self, db: Connection, resources: Collection[int], owners: Collection[int]) -> None:
        """Lock resources and all that some of them own before any of them is read, unless this begins with them."""
        self.owners.update(owners)
        if self.is_new:
            self._resource = nodes.hold(db, resources, owners)

    def reach(self, resources: Sequence[int]) -> bool:
        """May these, in rising order, be waited for?"""
        is_next = resources[0] > self._resource and not self._row
        self._resource = max(self._resource, resources[-1])
        if not is_next:
            self.resources.update(resources)
        return is_next

    def reach_rows(self, rows: Sequence[int]) -> bool:
        is_next = rows[0] > self._row
        self._row = max(self._row, rows[-1])
        if not is_next:
            self.rows.update(rows)
        return is_next

    def end(self) -> None:
        """Queue rows are held that nobody asked for in the order: nothing is waited for any more."""
        self._row = _BEYOND
