"""A run as one JSON object: what `call` prints of it and a record keeps of it. Documents keep their tokens."""

from __future__ import annotations

from typing import Any

from stdworker.bridge.result import BridgeResult
from stdworker.model.json_text import RawJson, dumps, join_elements, join_members
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome
from stdworker.model.resource import Ref

SUCCESS, TRANSIENT, TERMINAL = "success", "transient", "terminal"


def verdict(result: BridgeResult) -> str:
    """`success`, `transient` or `terminal`."""
    if result.failure is None:
        return SUCCESS
    return TERMINAL if result.failure.terminal else TRANSIENT


def result_members(result: BridgeResult) -> dict[str, RawJson]:
    """The members of the object, in order."""
    failure, ended = result.failure, result.exit
    return {
        "result": dumps(verdict(result)),
        "error": dumps(failure and {"message": str(failure), "reason": failure.reason}),
        "outcome": join_members(outcome_members(result)),
        "stray_lines": dumps(result.stray_lines),
        "exit": dumps(ended and {"code": ended.code, "signal": ended.signal, "killed_by": ended.killed_by}),
        "duration_ms": dumps(round(result.duration_seconds * 1_000)),
    }


def outcome_members(result: BridgeResult) -> dict[str, RawJson]:
    """What was handed back, spelled as the stdio protocol does; of a failure only the status that came with it."""
    outcome = result.outcome or Outcome(status=result.failure.status if result.failure else None)
    found: dict[str, RawJson] = {}
    if outcome.status is not None:
        found["status"] = dumps(outcome.status)
    if outcome.conditions:
        found["conditions"] = dumps([_condition(condition) for condition in outcome.conditions])
    if outcome.children:
        found["children"] = join_elements([_child(child) for child in outcome.children])
    if outcome.edges:
        found["edges"] = dumps([_edge(edge) for edge in outcome.edges])
    if outcome.configs:
        found["configs"] = join_elements([_with_spec(c.name, c.kind, c.kind_version, c.spec) for c in outcome.configs])
    found |= {name: dumps(True) for name in ("recompose", "allow_empty") if getattr(outcome, name)}
    if outcome.output is not None:
        found["output"] = dumps(outcome.output)
    return found


def _condition(condition: Condition) -> dict[str, str]:
    told = {"type": condition.type, "status": condition.status}
    told |= {name: value for name in ("reason", "message") if (value := getattr(condition, name))}
    return told


def _child(child: ChildSpec) -> RawJson:
    extra = {"labels": dict(child.labels), "provider_config_ref": child.provider_config_ref}
    more = {name: dumps(value) for name, value in extra.items() if value}
    return _with_spec(child.name, child.kind, child.kind_version, child.spec, more)


def _with_spec(name: str, kind: str, version: int, spec: Any, more: dict[str, RawJson] | None = None) -> RawJson:
    told = {"kind": dumps(kind), "kind_version": dumps(version), "name": dumps(name)}
    if spec is not None:
        told["spec"] = dumps(spec)
    return join_members(told | (more or {}))


def _edge(edge: DepEdge) -> dict[str, Any]:
    told: dict[str, Any] = {"from": _ref(edge.dependent), "to": _ref(edge.dependency)}
    if edge.values:
        told["values"] = [
            {"dependent_field": flow.dependent_field, "source_field": flow.source_field} for flow in edge.values
        ]
    return told


def _ref(ref: Ref) -> dict[str, str]:
    return {"kind": ref.kind, "name": ref.name}
