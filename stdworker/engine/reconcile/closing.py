"""What a transaction writes last: rows that all others want too, and that it holds until it ends.

Whoever has written them locks nothing more, so nobody who waits for them holds what their holder needs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from stdworker.engine.store import catalog, edges, events
from stdworker.engine.store.contract import Connection


@dataclass(slots=True)
class Closing:
    """Collected by all units of work of one transaction."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By how much the number of resources of each kind and phase changes."""
    rechecks: set[tuple[int, int]] = field(default_factory=set)
    rechecked: set[tuple[int, int]] = field(default_factory=set)
    configs: set[str] = field(default_factory=set)
    """Provider configs that lost a reference, or their owner."""
    sweeps: set[str] = field(default_factory=set)
    events: list[events.EventRow] = field(default_factory=list)

    def write(self, db: Connection) -> None:
        """Events come last: see `store.events.add`."""
        if self.configs:
            catalog.drop_configs(db, self.configs)
        for subject in sorted(self.sweeps):
            catalog.start_sweep(db, subject)
        moved = [id for what, id in self.rechecks if what == edges.SOURCE]
        if self.rechecks:
            edges.recheck(db, self.rechecks, dependents_of=moved)
        if done := self.rechecked - self.rechecks:
            edges.end_rechecks(db, done, but_dependents_of=moved)
        if counts := [(*key, change) for key, change in self.counts.items() if change]:
            catalog.count_phases(db, counts)
        if self.events:
            events.add(db, self.events)
