"""The conditions that handlers report, as they are stored, and the two that every resource has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from stdworker.engine.reconcile import state
from stdworker.engine.reconcile.texts import clean
from stdworker.engine.store.records import ConditionRecord
from stdworker.engine.store.rows import Node
from stdworker.model.outcome import Condition

CONDITIONS_MAX = 100
_NONE = "[]"

Conditions = list[ConditionRecord]


def read(text: str) -> Conditions:
    """Conditions as they are stored."""
    if text == _NONE:
        return []
    return [ConditionRecord(*row) for row in orjson.loads(text)]


def text(conditions: Sequence[ConditionRecord]) -> str:
    """Conditions to be stored."""
    if not conditions:
        return _NONE
    rows = [(c.type, c.status, c.reason, c.message, c.observed_generation, c.last_transition_at_ms) for c in conditions]
    return orjson.dumps(rows).decode()


def given(reported: Iterable[Condition], generation: int) -> Conditions:
    """What a stage reported. `Synced` is the engine's own and not taken from handlers; no status but three is known."""
    found = [
        ConditionRecord(
            clean(c.type),
            c.status if c.status in ("True", "False") else "Unknown",
            clean(c.reason),
            clean(c.message),
            generation,
        )
        for c in reported
        if c.type and c.type != "Synced"
    ]
    return found[:CONDITIONS_MAX]


def overlay(below: Conditions, above: Conditions) -> Conditions:
    """For each type the one that was reported later."""
    if not below or not above:
        return below or above
    by_type = {c.type: c for c in below}
    by_type.update((c.type, c) for c in above)
    return list(by_type.values())


def merged(stored: str, emitted: Conditions, *, replace: bool, now_ms: int) -> str:
    """Stored conditions after a stage; a type's transition time moves only when its status flips."""
    if stored == _NONE and not emitted:
        return _NONE
    before = {c.type: c for c in read(stored)}
    for condition in emitted:
        known = before.get(condition.type)
        same = known is not None and known.status == condition.status
        condition.last_transition_at_ms = known.last_transition_at_ms if known is not None and same else now_ms
    return text(emitted if replace else overlay(list(before.values()), emitted))


def say_healthy(stored: str) -> bool:
    """False when a handler said that the resource is not Ready."""
    return stored == _NONE or not any(c.type == "Ready" and c.status == "False" for c in read(stored))


def shown(node: Node, culprits: str) -> Conditions:
    """All conditions of a resource. `culprits` says which descendants keep it from being Ready."""
    synced, ready = state.verdict(node)
    stored = read(node.conditions)
    own = next((c for c in stored if c.type == "Ready"), None)
    others = [c for c in stored if c.type != "Ready"]
    return [_synced(node, synced), _ready(node, ready, own, culprits), *others]


def _synced(node: Node, status: str) -> ConditionRecord:
    reason, message = "ReconcileSuccess", ""
    if status == "False":
        reason, message = node.failure_reason, node.failure_message
    elif status == "Unknown":
        reason, message = ("Gated", node.gate_message) if node.gate != state.OPEN else ("Reconciling", "")
    return ConditionRecord("Synced", status, reason, message, _observed(node), node.synced_changed_at)


def _ready(node: Node, status: str, own: ConditionRecord | None, culprits: str) -> ConditionRecord:
    reason, message = {"True": "Available", "False": "Unavailable", "Unknown": "Pending"}[status], ""
    if state.is_failed(node):
        reason, message = node.failure_reason, node.failure_message
    elif status == "False" and node.gate == state.BLOCKED and not state.is_synced(node):
        reason, message = "Gated", node.gate_message
    elif status == "False" and node.health_ok:
        reason, message = "ChildrenNotReady", culprits
    elif own is not None and own.status == status:
        reason, message = own.reason or reason, own.message
    return ConditionRecord("Ready", status, reason, message, _observed(node), node.ready_changed_at)


def _observed(node: Node) -> int:
    """The generation that was run last: a failure is one of it as well."""
    return max(node.synced_gen, node.failure_gen)
