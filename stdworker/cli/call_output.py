"""What `stdworker call` prints of one task: an object for machines, or text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stdworker.bridge import BridgeResult
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_elements, join_members
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome
from stdworker.model.resource import Ref

SUCCESS, TRANSIENT, TERMINAL = "success", "transient", "terminal"
EXIT_STATUS = {SUCCESS: 0, TRANSIENT: 1, TERMINAL: 2}


def exit_status(result: BridgeResult) -> int:
    return EXIT_STATUS[_class(result)]


def as_json(result: BridgeResult) -> str:
    """One line of ASCII; the program's documents keep their tokens."""
    ended = result.exit
    line = join_members(
        {
            "result": dumps(_class(result)),
            "error": dumps(_error(result)),
            "outcome": join_members(_members(result.outcome or _partial(result))),
            "stray_lines": dumps(result.stray_lines),
            "exit": dumps(ended and {"code": ended.code, "signal": ended.signal, "killed_by": ended.killed_by}),
            "duration_ms": dumps(round(result.duration_seconds * 1_000)),
        }
    )
    return ascii_line(line).decode("ascii")


def as_text(result: BridgeResult) -> str:
    return "\n".join(_lines(result))


def _class(result: BridgeResult) -> str:
    if result.failure is None:
        return SUCCESS
    return TERMINAL if result.failure.terminal else TRANSIENT


def _error(result: BridgeResult) -> dict[str, str] | None:
    failure = result.failure
    return None if failure is None else {"message": str(failure), "reason": failure.reason}


def _partial(result: BridgeResult) -> Outcome:
    """A status that came with a failure."""
    return Outcome(status=result.failure.status if result.failure else None)


# ---- the outcome, spelled as the stdio protocol does ----


def _members(outcome: Outcome) -> dict[str, RawJson]:
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
    if outcome.output is not None:
        found["output"] = dumps(outcome.output)
    return found


def _condition(condition: Any) -> dict[str, str]:
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


# ---- for people ----


def _lines(result: BridgeResult) -> Iterator[str]:
    yield f"{_class(result)} in {result.duration_seconds * 1_000:.0f} ms"
    if result.failure is not None:
        reason = f" ({result.failure.reason})" if result.failure.reason else ""
        yield f"  error{reason}: {result.failure}"
    for name, document in _members(result.outcome or _partial(result)).items():
        yield f"  {name}: {document.decode()}"
    if result.stray_lines:
        yield f"  stray lines: {result.stray_lines}"
    if result.exit is not None and result.failure is not None:
        yield f"  program: {result.exit}"
