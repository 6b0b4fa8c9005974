"""The specs that a resource has had: looked up, and copied forward.

A revision holds from its generation on, until the next one: generations that changed something else have the
spec of the revision before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from stdworker.engine.reconcile import present, schedule
from stdworker.engine.reconcile.apply import check_appliable, check_revision, check_spec
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import revisions
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.records import Page
from stdworker.engine.store.rows import Node, RevisionRow
from stdworker.errors import NotFound
from stdworker.model.json_text import equal
from stdworker.model.resource import Ref


def roll_back(uow: UnitOfWork, ref: Ref, generation: int, only_if: Sequence[str] | None = None) -> int:
    """Give a resource the spec that it had at a generation, as a new one; answers the generation that it is at now.

    Version, labels and provider config stay, and a spec that is the live one changes nothing. Raises NotFound,
    Conflict for what is owned, being deleted or another than was seen, Invalid when the schema that holds now
    refuses the spec.
    """
    node = uow.named(ref)
    check_revision(node, only_if)
    check_appliable(uow, node)
    spec = _at(uow.db, node, generation).spec
    if equal((spec or "{}").encode(), (node.spec or "{}").encode()):
        return node.generation
    check_spec(uow.kinds.by_pair[node.pair], spec or "{}")
    uow.respecify(node, spec, node.kind_version)
    uow.audit(node, "RolledBack", f"to the spec of generation {generation}", generation=node.generation)
    uow.request(node, schedule.SPEC)
    return node.generation


def at(db: Connection, ref: Ref, generation: int) -> RevisionRow:
    """The revision that a resource had at a generation. Raises NotFound when it is not kept, or not there yet."""
    return _at(db, present.existing(db, ref).node, generation)


def page(db: Connection, ref: Ref, limit: int, before: int) -> Page:
    """The youngest first, from the one before a generation on; the live one is the youngest of all."""
    node = present.existing(db, ref).node
    live = [_live(node)] if node.spec_gen < before else []
    found = live + revisions.before(db, node.id, min(node.spec_gen, before), limit + 1 - len(live))
    return Page.cut(found, limit, attrgetter("generation"))


def _at(db: Connection, node: Node, generation: int) -> RevisionRow:
    if generation > node.generation:
        raise NotFound(f"{node.ref} is at generation {node.generation}, {generation} is yet to come")
    if generation >= node.spec_gen:
        return _live(node)
    found = revisions.before(db, node.id, generation + 1, 1)
    if not found:
        told = f"the spec of {node.ref} at generation {generation} is not kept"
        raise NotFound(told, hint="its history says which are")
    return found[0]


def _live(node: Node) -> RevisionRow:
    return RevisionRow(node.id, node.spec_gen, node.kind_version, node.spec, node.spec_by, node.spec_at)
