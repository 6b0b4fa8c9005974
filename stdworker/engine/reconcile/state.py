"""What a resource's members mean together. Pure: reads and changes nothing but the node it is given."""

from __future__ import annotations

from stdworker.engine.reconcile.texts import clean
from stdworker.engine.store.rows import Node
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.model.kind import Phase

# `due`: stages owed at the same generation, without which the resource is not synced.
COMPOSE_DUE, ROLLUP_DUE = 1, 2

# `gate`: OPEN, or what its dependencies keep a resource from. A BLOCKED one counts as settled: nothing moves
# until a dependency that is stuck moves (decision 2). MISFIT is a failure of the flow, not of the resource: a value
# has no place in the spec or breaks its schema, and it ends when one fits.
OPEN, WAITING, BLOCKED, MISFIT = 0, 1, 2, 3

Verdict = tuple[str, str]
"""The status of the Synced and the Ready condition: "True", "False" or "Unknown"."""

Snapshot = tuple[Phase, Verdict, int, int, int]
"""What is compared to tell how a resource changed: phase, verdict, gate, generation, synced generation."""


def is_deleting(node: Node) -> bool:
    return node.deletion_requested_at is not None


def may_run(node: Node) -> bool:
    """Does neither a dependency nor a freeze keep it from running?"""
    return node.gate == OPEN and node.frozen_until is None


def is_quarantined(node: Node) -> bool:
    """Frozen until someone releases it."""
    return node.frozen_until == FOREVER_MS and not is_deleting(node)


def is_failed(node: Node) -> bool:
    """Failed at this generation, whether it is tried again or not."""
    return node.failure_gen == node.generation


def is_stopped(node: Node) -> bool:
    """Failed for good at this generation."""
    return node.failure_terminal and is_failed(node)


def has_work_failed(node: Node) -> bool:
    """Did a whole run fail for good? Nothing that only follows from it runs then."""
    return is_stopped(node) and node.worked_gen < node.generation


def is_synced(node: Node) -> bool:
    """Its own stages succeeded at this generation, and nothing below it moves."""
    return node.synced_gen >= node.generation and not node.unsettled and not node.due


def is_healthy(node: Node) -> bool:
    """Neither a handler nor a child says otherwise."""
    return bool(node.health_ok) and not node.unready


def phase(node: Node) -> Phase:
    """The same as the database's derived column `schema.PHASE`."""
    if node.deletion_requested_at is not None:
        return Phase.DELETING
    if node.frozen_until == FOREVER_MS:
        return Phase.QUARANTINED
    if node.failure_gen == node.generation:
        return Phase.FAILED
    if node.frozen_until is not None:
        return Phase.ORPHANED
    if node.synced_gen < node.generation or node.unsettled or node.due:
        return Phase.RECONCILING
    return Phase.READY if node.health_ok and not node.unready else Phase.DEGRADED


def verdict(node: Node, phase: Phase | None = None) -> Verdict:
    """`phase`, when it is known, often says it all."""
    if phase is Phase.READY:
        return "True", "True"
    if node.failure_gen == node.generation:
        return "False", "False"
    if node.synced_gen < node.generation or node.unsettled or node.due:
        return "Unknown", "False" if node.gate == BLOCKED else "Unknown"
    return "True", "True" if node.health_ok and not node.unready else "False"


def snapshot(node: Node) -> Snapshot:
    """What there is to compare of a resource."""
    now = phase(node)
    return now, verdict(node, now), node.gate, node.generation, node.synced_gen


def is_settled(node: Node) -> bool:
    """Nothing in its subtree moves: synced, failed, or blocked by a dependency.

    One that waits may be about to run: a value may flow into it, even if it is synced now.
    """
    if node.unsettled:
        return False
    if is_failed(node):
        return True
    if node.gate == WAITING:
        return False
    worked = node.worked_gen >= node.generation and not node.due
    return worked or node.gate == BLOCKED


def contribution(node: Node) -> tuple[bool, bool]:
    """Does the node's owner count it as unsettled, and as not Ready?

    A frozen child and one that its composer dropped don't count; one that is wanted while it is deleted is
    pending, because it will be made again (decision 6).
    """
    if node.frozen_until is not None or not node.wanted:
        return False, False
    if is_deleting(node):
        return True, True
    return not is_settled(node), phase(node) is not Phase.READY


def count_child(owner: Node, child: Node) -> bool:
    """Bring the owner's counts up to date with one child; did anything change?"""
    unsettled, unready = contribution(child)
    if (unsettled, unready) == (child.counted_unsettled, child.counted_unready):
        return False
    owner.unsettled += unsettled - child.counted_unsettled
    owner.unready += unready - child.counted_unready
    child.counted_unsettled, child.counted_unready = unsettled, unready
    return True


def fold(node: Node) -> None:
    """Own stages done and nothing below moves: the resource is synced."""
    if node.worked_gen > node.synced_gen and not node.unsettled and not node.due:
        node.synced_gen = node.worked_gen


def bump(node: Node) -> None:
    """A new generation: what failed before is stale."""
    node.generation += 1


def succeed(node: Node) -> None:
    """A success ends every failure."""
    if not node.failure_gen:
        return
    node.failure_gen = 0
    node.failure_terminal = False
    node.failure_attempts = 0
    node.failure_reason = node.failure_message = ""


def fail(node: Node, reason: str, message: str, *, terminal: bool, counted: bool = True) -> None:
    """A failure at this generation; `terminal`: it is not tried again. One that isn't `counted` is no attempt."""
    node.failure_attempts = node.failure_attempts + counted if is_failed(node) else int(counted)
    node.failure_gen = node.generation
    node.failure_terminal = terminal
    node.failure_reason = clean(reason)
    node.failure_message = clean(message)
