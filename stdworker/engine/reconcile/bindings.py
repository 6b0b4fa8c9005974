"""Reactor bindings: which reactor is told of what. Edited by people, and kept whole by what they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stdworker.engine.reconcile import labels as labels_of
from stdworker.engine.reconcile import preconditions
from stdworker.engine.reconcile.deliver import pair_text
from stdworker.engine.reconcile.kinds import Violations
from stdworker.engine.reconcile.unit import Named, UnitOfWork
from stdworker.engine.store import reactors
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.declarations import BindingDeclaration, given
from stdworker.engine.store.records import revision
from stdworker.engine.store.rows import BindingRow
from stdworker.errors import Conflict, Invalid, NotFound
from stdworker.model.json_text import dumps, loads
from stdworker.model.kind import RESOURCE_NAME, RESOURCE_NAME_RULE, KindVersion, Transition


def put(uow: UnitOfWork, document: BindingDeclaration) -> tuple[str, BindingRow]:
    """Create or edit a binding; says which, or that nothing changed. Raises Invalid with all that is wrong."""
    known = reactors.binding(uow.db, document.name)
    row = _row(uow, document, known)
    found = list(_violations(uow, row))
    if found:
        told = "; ".join(sentence for _, sentence in found)
        raise Invalid(told, found, code="bad_binding")
    what = f"reactor binding {document.name}"
    preconditions.check(what, _revision(known), document.only_if, only_new=document.only_new)
    if row == known:
        return "unchanged", row
    if known is not None:
        row.updated_at = max(uow.now_ms, known.updated_at + 1)  # tells any two states apart
    reactors.save_binding(uow.db, row)
    _tell(uow, "BindingChanged" if known else "BindingCreated", row)
    return "configured" if known else "created", row


def _row(uow: UnitOfWork, document: BindingDeclaration, known: BindingRow | None) -> BindingRow:
    """The binding as it is to be: what the document leaves out is as it was, or as it is of a new one."""
    new = BindingRow(document.name, "", None, "", "", None, "{}", True, uow.now_ms, uow.now_ms)
    old = known or new
    label_match = given(document.label_match, loads(old.label_match.encode())) or {}
    return BindingRow(
        document.name,
        document.watch_kind,
        given(document.watch_kind_version, old.watch_kind_version),
        document.transition,
        document.reactor,
        given(document.reactor_version, old.reactor_version),
        dumps(dict(sorted(label_match.items()))).decode(),
        given(document.enabled, old.enabled),
        old.created_at,
        old.updated_at,
        labels_of.kept(document.labels, old.labels),
    )


def _revision(row: BindingRow | None) -> str | None:
    return revision(row.name, row.updated_at) if row is not None else None


def remove(uow: UnitOfWork, name: str, only_if: Sequence[str] | None = None) -> None:
    """Nothing new is delivered for it; what waits is."""
    row = existing(uow.db, name)
    preconditions.check(f"reactor binding {name}", _revision(row), only_if)
    reactors.remove_binding(uow.db, name)
    _tell(uow, "BindingDeleted", row)


def existing(db: Connection, name: str) -> BindingRow:
    """Raises NotFound."""
    row = reactors.binding(db, name)
    if row is None:
        raise NotFound(f"there is no reactor binding {name}")
    return row


def _tell(uow: UnitOfWork, what: str, row: BindingRow) -> None:
    watched = pair_text(row.watch_kind, row.watch_kind_version)
    message = f"{row.name}: {row.transition} {watched} → {pair_text(row.reactor, row.reactor_version)}"
    uow.audit(
        Named(row.reactor, row.name), what, message, enabled=row.enabled, label_match=loads(row.label_match.encode())
    )


# ---- what is wrong ----


def _violations(uow: UnitOfWork, row: BindingRow) -> Iterator[tuple[str, str]]:
    if not RESOURCE_NAME.fullmatch(row.name):
        yield "/name", f"{row.name!r} is not a name: {RESOURCE_NAME_RULE}"
    if row.transition not in list(Transition):
        yield "/transition", f"{row.transition!r} is no transition; it is one of {', '.join(Transition)}"
    yield from _label_violations(row)
    yield from _watch_violations(uow, row)
    yield from _reactor_violations(uow, row)


def _label_violations(row: BindingRow) -> Violations:
    return [(f"/label_match{place}", why) for place, why in labels_of.faults(loads(row.label_match.encode()))]


def _watch_violations(uow: UnitOfWork, row: BindingRow) -> Iterator[tuple[str, str]]:
    watched = [kind for kind in uow.kinds if kind.pair.kind == row.watch_kind]
    if not watched:
        yield "/watch_kind", f"the kind {row.watch_kind} is not published; publish it first"
    elif all(kind.manifest.is_reactor_kind for kind in watched):
        yield "/watch_kind", f"{row.watch_kind} is a reactor kind, which has no resources to watch"
    elif row.watch_kind_version not in (None, *(kind.pair.version for kind in watched)):
        versions = ", ".join(str(kind.pair.version) for kind in watched)
        yield "/watch_kind_version", f"{row.watch_kind} has no such version; it has {versions}"


def _reactor_violations(uow: UnitOfWork, row: BindingRow) -> Iterator[tuple[str, str]]:
    if uow.kinds.reactor(row.reactor, row.reactor_version) is not None:
        return
    published = [kind for kind in uow.kinds if kind.pair.kind == row.reactor]
    reacting = ", ".join(str(kind.pair.version) for kind in published if kind.reactor)
    if reacting:
        told = f"does not react at version {row.reactor_version}; it does at {reacting}"
        yield "/reactor_version", f"{row.reactor} {told}"
    elif published:
        yield "/reactor", f"{row.reactor} has no reaction with the trigger reactor; publish it with one"
    else:
        yield "/reactor", f"the kind {row.reactor} is not published; publish it, with a reactor reaction"


# ---- what kinds must keep ----


def take_over(uow: UnitOfWork, pair: KindVersion) -> None:
    """A version that reacts is published: if it is the newest, it takes what waits for the newest."""
    newest = uow.kinds.reactor(pair.kind, None)
    if newest is None or newest < pair:
        reactors.move(uow.db, pair)


def let_go(uow: UnitOfWork, pair: KindVersion, *, watched: bool) -> None:
    """A kind version stops reacting, or goes (then it can't be watched either). Raises Conflict while it is needed.

    Deliveries for the newest version go to another one, if there is one that reacts.
    """
    others = [kind.pair for kind in uow.kinds if kind.reactor and kind.pair.kind == pair.kind and kind.pair != pair]
    for binding in uow.kinds.bindings:
        row = binding.row
        told = binding.reactor == pair and (row.reactor_version is not None or not others)
        if told or (watched and (row.watch_kind, row.watch_kind_version) == pair):
            used = f"{pair} is used by the reactor binding {row.name}"
            raise Conflict(used, hint="change or delete it first", code="kind_in_use")
    if others:
        reactors.move(uow.db, max(others))
        uow.hint("work", max(others))
    if reactors.is_awaited(uow.db, pair):
        waits = f"there are deliveries that {pair} has not taken yet"
        raise Conflict(waits, hint="wait until its workers have taken them", code="kind_in_use")
