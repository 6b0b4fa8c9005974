"""The event sequence as changes of resources, and which of them a filter lets through.

A change is told with the resource as it is when it is read: at least as new as its event. Of a resource that is
gone, the event of its removal keeps what filters ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from stdworker.engine.reconcile import present, readings
from stdworker.engine.store import events, lists
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.records import EventRecord, ResourceFilter, ResourceRecord
from stdworker.engine.store.rows import Node
from stdworker.errors import RequestError
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.resource import Ref

EVENTS_READ_MAX = 500
RESOURCES_READ_MAX = 50
"""Resources held at a time: each may be large."""

REMOVED = "Deleted"


class Traits(NamedTuple):
    """What filters ask of a resource; of one that is gone, what was so at its end."""

    pair: KindVersion
    name: str
    phase: Phase
    owner: Ref | None
    labels: Mapping[str, str]


class Change(NamedTuple):
    """An event about a resource; `resource` is None once that is gone."""

    event: EventRecord
    ref: Ref
    traits: Traits
    resource: ResourceRecord | None


class Changes(NamedTuple):
    """The changes among the next events up to `last`; `whole`: there were no later ones."""

    last: int
    found: Iterator[Change]
    whole: bool


def last(db: Connection) -> int:
    """The place of the youngest event."""
    return events.last(db)


def after(db: Connection, seq: int, wanted: Callable[[Ref], bool]) -> Changes:
    """The next changes of resources that are wanted. They are read while one goes through them.

    Raises RequestError `events_expired` when an event after `seq` is no longer kept, or `seq` isn't there yet.
    """
    youngest = events.last(db)
    rows = readings.events(db, None, seq, EVENTS_READ_MAX)
    end = rows[-1].seq if rows else max(youngest, seq)
    if end - seq != len(rows) or seq > youngest:
        raise RequestError(
            f"the changes after {seq} are not kept; the youngest is {youngest}",
            hint="list the resources, then watch from now on",
            code="events_expired",
        )
    about = [(row.ref, row) for row in rows if row.ref is not None and wanted(row.ref)]
    return Changes(end, _changes(db, about), len(rows) < EVENTS_READ_MAX)


def _changes(db: Connection, about: Sequence[tuple[Ref, EventRecord]]) -> Iterator[Change]:
    rest = iter(about)
    while piece := list(islice(rest, RESOURCES_READ_MAX)):
        seen = lists.get_uids(db, {event.uid for _, event in piece if event.uid})
        records = {one.node.uid: present.record(db, one) for one in seen}
        gone = {ref for ref, event in piece if event.uid not in records}
        kept = {row.uid: row.detail for row in events.of_type(db, REMOVED, gone)} if gone else {}
        for ref, event in piece:
            record = records.get(event.uid or "")
            traits = _traits(record) if record else _traits_at_the_end(ref, orjson.loads(kept.get(event.uid, "{}")))
            yield Change(event, ref, traits, record)


# ---- what filters ask for ----


def _traits(record: ResourceRecord) -> Traits:
    pair = KindVersion(record.kind, record.kind_version)
    return Traits(pair, record.name, record.phase, record.owner, record.labels)


def tombstone(node: Node, owner: Node | None) -> dict[str, Any]:
    """What is kept of a resource with the event of its removal."""
    labels = orjson.loads(node.labels)
    return {"kind_version": node.kind_version, "owner": str(owner.ref) if owner else None, "labels": labels}


def _traits_at_the_end(ref: Ref, kept: Mapping[str, Any]) -> Traits:
    owner = kept.get("owner")
    pair = KindVersion(ref.kind, kept.get("kind_version", 1))
    return Traits(pair, ref.name, Phase.DELETING, Ref.parse(owner) if owner else None, kept.get("labels", {}))


def may_match(where: ResourceFilter, ref: Ref) -> bool:
    """Can a resource of this name be let through? Asked before it is read."""
    kinds = {*where.kinds} | {pair.kind for pair in where.pairs}
    return (not kinds or ref.kind in kinds) and where.name.lower() in ref.name.lower()


def matches(where: ResourceFilter, traits: Traits) -> bool:
    """The rule of lists (`store.lists`), for a resource that was read."""
    return (
        (not where.kinds or traits.pair.kind in where.kinds)
        and (not where.pairs or traits.pair in where.pairs)
        and (not where.owners or traits.owner in where.owners)
        and (not where.phases or traits.phase in where.phases)
        and where.name.lower() in traits.name.lower()
        and where.labels.items() <= dict(traits.labels).items()
    )
