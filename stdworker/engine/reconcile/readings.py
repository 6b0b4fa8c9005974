"""What is read from the store without changing it.

Pages hold at most `limit` and never more than `PAGE_MAX`; `cursor` is what the page before answered. What is not there
by its name raises NotFound, a cursor that no list has answered Invalid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import Any

import orjson

from stdworker.engine.reconcile import bindings as binding_decisions
from stdworker.engine.reconcile import configs as config_decisions
from stdworker.engine.reconcile import deliver, gates, present
from stdworker.engine.reconcile import revisions as revision_decisions
from stdworker.engine.reconcile.kinds import record
from stdworker.engine.reconcile.tokens import row_id
from stdworker.engine.store import catalog, lists, reactors, tasks
from stdworker.engine.store import edges as edge_store
from stdworker.engine.store import events as event_store
from stdworker.engine.store import members as member_store
from stdworker.engine.store import operations as operation_store
from stdworker.engine.store.claims import DefaultConfig, Leased
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.events import EventRow
from stdworker.engine.store.members import MemberRecord
from stdworker.engine.store.records import (
    AuditFilter,
    ConfigRecord,
    Edge,
    EventRecord,
    KindRecord,
    Page,
    ResourceFilter,
    ResourceRecord,
)
from stdworker.engine.store.rows import BindingRow, DeliveryRow, OperationRow
from stdworker.errors import Invalid, NotFound
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.resource import Ref
from stdworker.model.task import Lease

PAGE_MAX = 1_000
NUMBER_MAX = 1 << 62
DELIVERIES_COUNTED_MAX = 100_000

_CURSOR = re.compile(r"[0-9]{1,18}")


def get(db: Connection, ref: Ref) -> ResourceRecord:
    return present.record(db, present.existing(db, ref))


def find(db: Connection, where: ResourceFilter, limit: int, cursor: str | None) -> Page:
    limit = _bounded(limit)
    before = _number(cursor) if cursor is not None else None
    page = Page.cut(lists.find(db, where, limit + 1, before), limit, lambda seen: seen.node.id)
    page.items = [present.record(db, seen) for seen in page.items]
    return page


def summary(db: Connection) -> dict[str, Any]:
    return _summed(catalog.phase_counts(db))


def summary_below(db: Connection, ref: Ref) -> dict[str, Any]:
    return _summed(lists.phases_below(db, present.existing(db, ref).node.id))


def _summed(counts: Sequence[tuple[str, str, int]]) -> dict[str, Any]:
    totals: dict[str, int] = {}
    by_kind: dict[str, dict[str, int]] = {}
    for kind, phase, count in counts:
        totals[phase] = totals.get(phase, 0) + count
        by_kind.setdefault(kind, {})[phase] = count
    return {"totals": totals, "by_kind": by_kind}


def dependencies(db: Connection, ref: Ref, limit: int, cursor: str | None) -> Page:
    limit = _bounded(limit)
    found = edge_store.of_dependent(db, present.existing(db, ref).node.id, after(cursor), limit + 1)
    page = Page.cut(found, limit, lambda edge: edge.dependency_id)
    sources = {seen.node.id: seen for seen in lists.get_many(db, [edge.dependency_id for edge in page.items])}
    page.items = [
        (Edge(ref, source.node.ref, gates.flows_of(edge.flows)), present.record(db, source))
        for edge in page.items
        if (source := sources.get(edge.dependency_id)) is not None
    ]
    return page


def events(db: Connection, ref: Ref | None, since: int, limit: int) -> list[EventRecord]:
    return [_event(seq, row) for seq, row in event_store.read(db, ref, since, _bounded(limit))]


def audit(db: Connection, where: AuditFilter, limit: int, cursor: str | None) -> Page:
    limit = _bounded(limit)
    page = Page.cut(event_store.audit(db, where, _before(cursor), limit + 1), limit, itemgetter(0))
    page.items = [_event(seq, row) for seq, row in page.items]
    return page


def _event(seq: int, row: EventRow) -> EventRecord:
    return EventRecord(
        seq,
        Ref(row.kind, row.name) if row.uid is not None and row.kind is not None and row.name is not None else None,
        row.kind,
        row.name,
        row.uid,
        row.type,
        row.reason,
        row.message,
        row.actor,
        orjson.loads(row.detail),
        row.created_at,
    )


def revisions(db: Connection, ref: Ref, limit: int, cursor: str | None) -> Page:
    return revision_decisions.page(db, ref, _bounded(limit), _before(cursor))


def kinds(db: Connection) -> list[KindRecord]:
    return [record(row) for row in catalog.kinds(db)]


def kind(db: Connection, pair: KindVersion) -> KindRecord:
    row = catalog.kind(db, pair)
    if row is None:
        raise NotFound(f"the kind {pair} is not published")
    return record(row)


def default_configs(db: Connection, pairs: Sequence[KindVersion]) -> dict[KindVersion, DefaultConfig]:
    """Revisions are read first: a config may be newer than the one it says, never older."""
    revisions = catalog.default_revisions(db)
    return {pair: config_decisions.default(db, pair, revisions.get(pair, 0)) for pair in pairs}


def configs(db: Connection, pair: KindVersion | None, limit: int, cursor: str | None) -> Page:
    limit = _bounded(limit)
    page = Page.cut(catalog.list_configs(db, pair, cursor or "", limit + 1), limit, attrgetter("name"))
    page.items = [config_decisions.record(db, row) for row in page.items]
    return page


def config(db: Connection, name: str) -> ConfigRecord:
    return config_decisions.record(db, config_decisions.existing(db, name))


def members(db: Connection) -> list[MemberRecord]:
    return member_store.read(db)


def leased(db: Connection, leases: Sequence[Lease]) -> dict[Lease, Leased]:
    """What valid leases are for. A deadline is told whole: nobody knows when the task began."""
    by_id = {id: lease for lease in leases if (id := row_id(lease)) is not None}
    rows = tasks.read(db, list(by_id))
    kinds = {pair: catalog.kind(db, pair) for pair in {row.pair for row in rows}}
    found: dict[Lease, Leased] = {}
    for row in rows:
        kind = kinds[row.pair]
        if (row.token, row.epoch) == by_id[row.id] and row.stage is not None and kind is not None:
            deadline_ms = record(kind).policy.task_deadline_seconds * 1000
            found[by_id[row.id]] = Leased(row.pair, Stage(row.stage), deadline_ms)
    return found


def ping(db: Connection) -> None:
    catalog.revision(db)


def operations(db: Connection, ref: Ref, limit: int, cursor: str | None) -> Page:
    """The resource's operations, the newest first."""
    present.existing(db, ref)
    limit = _bounded(limit)
    return Page.cut(operation_store.of(db, ref, _before(cursor), limit + 1), limit, attrgetter("number"))


def bindings(db: Connection, limit: int, cursor: str | None) -> Page:
    limit = _bounded(limit)
    return Page.cut(reactors.bindings(db, cursor or "", limit + 1), limit, attrgetter("name"))


def binding(db: Connection, name: str) -> BindingRow:
    return binding_decisions.existing(db, name)


def dead_letters(db: Connection, limit: int, cursor: str | None) -> Page:
    """Deliveries that were given up, the newest crossing first."""
    limit = _bounded(limit)
    return Page.cut(reactors.dead(db, _before(cursor), limit + 1), limit, attrgetter("id"))


def delivery_counts(db: Connection) -> dict[str, int]:
    return reactors.counts(db, DELIVERIES_COUNTED_MAX)


def dead_letter(db: Connection, id: int) -> DeliveryRow:
    return deliver.dead_letter(db, id)


def operation(db: Connection, ref: Ref, uid: str) -> OperationRow:
    found = operation_store.get(db, ref, uid)
    if found is None:
        raise NotFound(f"{ref} has no operation {uid}", hint="the oldest ones are forgotten")
    return found


def _bounded(limit: int) -> int:
    return max(1, min(limit, PAGE_MAX))


def _number(cursor: str) -> int:
    if not _CURSOR.fullmatch(cursor):
        raise Invalid.at("query/cursor", f"{cursor!r} is not a cursor of this list", code="bad_cursor")
    return int(cursor)


def after(cursor: str | None) -> int:
    """Where a page of a list begins that starts with the oldest. Raises Invalid for what no list has answered."""
    return _number(cursor) if cursor is not None else 0


def _before(cursor: str | None) -> int:
    """Where a page of a list begins that starts with the newest."""
    return _number(cursor) if cursor is not None else NUMBER_MAX
