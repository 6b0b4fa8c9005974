"""Quarantine: a resource is frozen until someone releases it.

Edits, and whatever else asks for a run, are kept and held back in its queue row. A running task is told to
stop; what it still brings lands. To its owner a frozen child doesn't count. Deletion wins over it.
"""

from __future__ import annotations

from stdworker.engine.reconcile import schedule, state
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.errors import Conflict
from stdworker.model.resource import Ref


def freeze(uow: UnitOfWork, ref: Ref) -> None:
    """Nothing of the resource runs from now on. Raises NotFound, and Conflict for one that is being deleted."""
    node = uow.named(ref)
    if state.is_deleting(node):
        raise Conflict(f"{ref} is being deleted", hint="a deletion goes on whatever happens", code="deleting")
    if state.is_quarantined(node):
        return
    node.frozen_until = FOREVER_MS
    node.wanted = True  # of an orphan its owner's composer says anew, at the release, whether it is
    uow.touch(node)
    uow.audit(node, "Quarantined")
    uow.request(node, 0)


def release(uow: UnitOfWork, ref: Ref) -> None:
    """Run what is due. Its owner composes again, for which the child was out of reach (decision 6)."""
    node = uow.named(ref)
    if not state.is_quarantined(node):
        return
    node.frozen_until = None
    uow.touch(node)
    uow.audit(node, "Unquarantined")
    uow.request(node, schedule.SPEC)
    for owner in uow.lock([node.owner_id] if node.owner_id is not None else []):
        if not state.is_deleting(owner):
            schedule.compose_again(uow, owner)
