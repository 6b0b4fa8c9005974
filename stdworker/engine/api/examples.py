"""An example of each answer, by the name of its shape, for the OpenAPI document."""

from __future__ import annotations

import http
from typing import Any

AT = "2026-01-31T12:00:00.000Z"
UID = "01a229b0-fde1-7c0e-8153-8366c853c8f3"
OPERATION_UID = "01a229b0-fdf5-78b4-941d-b6174a0acca9"
ACTOR = "spiffe://example.org/people/ada"

REF = {"kind": "greeter", "name": "ada"}
CREATED = {"created_at": AT, "updated_at": AT}


def _condition(type: str, reason: str) -> dict[str, Any]:
    observed = {"observed_generation": 1, "last_transition_at": AT}
    return {"type": type, "status": "True", "reason": reason, "message": "", **observed}


RESOURCE = {
    "uid": UID,
    "kind": "greeter",
    "kind_version": 1,
    "name": "ada",
    "owner": None,
    "root": None,
    "spec": {"name": "Ada"},
    "status": {"greeting": "Hello, Ada"},
    "labels": {"team": "analytics"},
    "generation": 1,
    "synced_gen": 1,
    "is_ready": True,
    "health_ok": True,
    "phase": "Ready",
    "conditions": [_condition("Synced", "ReconcileSuccess"), _condition("Ready", "Available")],
    "finalizers": [],
    "failure": None,
    "provider_config": {"name": "greeter"},
    "work": None,
    **CREATED,
}
NODE = {"ref": "greeter/ada", **REF, "owner": None, "phase": "Ready", "is_ready": True, "message": ""}
DEPENDENCY = {
    "kind": "city",
    "name": "london",
    "phase": "Ready",
    "is_ready": True,
    "health_ok": True,
    "updated_at": AT,
    "value_mappings": [{"dependent_field": "/city", "source_field": "/name"}],
}
EVENT = {
    "seq": 6,
    "resource": REF,
    "type": "PhaseChanged",
    "reason": "Ready",
    "message": "",
    "actor": "engine",
    "detail": {"previous": "Reconciling"},
    "created_at": AT,
}
AUDIT = {
    "seq": 5,
    "created_at": AT,
    "actor": ACTOR,
    "type": "SpecChanged",
    **REF,
    "uid": UID,
    "message": "",
    "detail": {"generation": 2},
}
OPERATION = {
    "uid": OPERATION_UID,
    "verb": "greet",
    "state": "pending",
    "input": {"loud": True},
    "output": None,
    "error": None,
    "attempts": 0,
    "requested_by": ACTOR,
    "created_at": AT,
    "started_at": None,
    "finished_at": None,
}
REVISION = {
    "generation": 1,
    "kind_version": 1,
    "actor": ACTOR,
    "size_bytes": 14,
    "is_live": True,
    "created_at": AT,
}
LEAF = {"path": "/settings/greeting", "value": "Hi", "layer": "override"}
EXPLANATION = {
    **REF,
    "kind_version": 1,
    "generation": 1,
    "synced_gen": 0,
    "phase": "Reconciling",
    "is_ready": False,
    "reasons": [
        {
            "code": "no_worker",
            "message": "no worker serves greeter@1",
            "hint": "start one",
            "about": None,
            "since": AT,
            "until": None,
        }
    ],
    "config": {
        "names": {"default": "greeter", "override": "casual"},
        "leaves": [{**LEAF, "replaced": [{"layer": "default", "value": "Hello"}]}],
        "spec": {"settings": {"greeting": "Hi"}},
        "bundle": None,
    },
}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
MANIFEST = {
    "kind": "greeter",
    "kind_version": 1,
    "description": "Says hello.",
    "spec_schema": SCHEMA,
    "reactions": [
        {"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]},
        {"name": "greet", "trigger": "operation", "verb": "greet", "emits": ["operationOutput"]},
    ],
}
PUBLISHED = {**MANIFEST, "manifest_version": 1_526_911_944_920_620}
POLICY = {
    "max_inflight": 8,
    "task_deadline_seconds": 60,
    "resync_interval_seconds": 0,
    "resync_recomposes": False,
    "orphan_grace_seconds": 0,
    "max_transient_attempts": 0,
    "retired": False,
}
CONFIG: dict[str, Any] = {
    "name": "greeter",
    "kind": "greeter",
    "kind_version": 1,
    "is_default": True,
    "labels": {},
    "owner": None,
    **CREATED,
}
BINDING = {
    "name": "tell-the-team",
    "watch_kind": "greeter",
    "watch_kind_version": None,
    "transition": "degraded",
    "reactor": "pager",
    "reactor_version": None,
    "label_match": {"team": "web"},
    "enabled": True,
    "labels": {},
    **CREATED,
    "waiting": {
        "deliveries": 2,
        "reason": {
            "code": "no_worker",
            "message": "no worker that is connected serves pager@1",
            "hint": "start one that does; conctl cluster shows what is served",
            "about": {"kind": "greeter", "name": "ada"},
            "since": None,
            "until": None,
        },
    },
}
SNAPSHOT = {name: RESOURCE[name] for name in ("uid", "kind", "kind_version", "name", "generation", "labels", "spec")}
DEAD_LETTER = {
    "id": 7,
    "binding": "tell-the-team",
    "transition": "degraded",
    "reactor": "pager",
    "reactor_version": None,
    "dedup_token": f"{UID}:degraded:1:1:tell-the-team",
    "reason": "Unreachable",
    "message": "the pager doesn't answer",
    "attempts": 5,
    "resource": {**SNAPSHOT, "phase": "Degraded", "status": {"greeting": ""}},
    "crossed_at": AT,
    "dead_since": AT,
}
PAIR = {"kind": "greeter", "kind_version": 1, "ready": True, "reason": "", "in_flight": 1, "max_inflight": 10}
WORKER = {
    "name": "greeters",
    "version": "0.1.0",
    "hostname": "node-1",
    "pid": 4242,
    "connected_since": AT,
    "heartbeat_age": 0.4,
    "silent": False,
    "in_flight": 1,
    "max_inflight": 10,
    "kinds": [PAIR],
}
MEMBER = {
    "member_id": "node-1:4241:5f2c",
    "version": "0.1.0",
    "hostname": "node-1",
    "pid": 4241,
    "role": "all",
    "status": "up",
    "started_at": AT,
    "last_heartbeat": AT,
    "heartbeat_age": 1.2,
    "in_flight": 1,
    "workers": [WORKER],
    "unlisted_workers": 0,
}
ANSWERS: dict[str, Any] = {
    "ResourceView": RESOURCE,
    "Resources": {"resources": [RESOURCE]},
    "Roots": {"roots": [{**RESOURCE, "resource_count": 0}]},
    "ChildrenView": {"owner": {"kind": "team", "name": "analytics"}, "resources": [RESOURCE]},
    "Summary": {"totals": {"Ready": 1}, "by_kind": {"greeter": {"Ready": 1}}},
    "Dependencies": {"dependencies": [DEPENDENCY]},
    "Events": {"events": [EVENT]},
    "WatchEvent": {"type": "MODIFIED", "event": EVENT, "uid": UID, "resource": RESOURCE},
    "Graph": {"owner": REF, "nodes": [NODE], "edges": [], "truncated": False},
    "Subgraph": {"resource": REF, "nodes": [{**NODE, "distance": 0}], "edges": [], "truncated": False},
    "ExplanationView": EXPLANATION,
    "Quarantined": {"quarantined": True},
    "Revisions": {"revisions": [REVISION]},
    "RolledBack": {"generation": 3},
    "BatchLine": {"line": 1, "result": "created", **REF, "generation": 1},
    "PlanLine": {"line": 1, "result": "created", "before": None, "after": {"name": "ada", "spec": {"name": "Ada"}}},
    "OperationView": OPERATION,
    "Operations": {"operations": [OPERATION]},
    "Kinds": {"kinds": [{"kind": "greeter", "versions": [1], "description": "Says hello."}]},
    "Manifests": {"manifests": [PUBLISHED]},
    "KindSchema": {
        "kind": "greeter",
        "kind_version": 1,
        "spec_schema": SCHEMA,
        "status_schema": None,
        "config_schema": None,
    },
    "PolicyView": POLICY,
    "ConfigView": {**CONFIG, "spec": {"command": "./greeter", "settings": {"greeting": "Hello"}}, "data": None},
    "Configs": {"providerconfigs": [{**CONFIG, "data_bytes": 0}]},
    "BindingView": BINDING,
    "Bindings": {"reactor_bindings": [BINDING]},
    "DeadLetterView": DEAD_LETTER,
    "DeadLetters": {"dead_letters": [DEAD_LETTER]},
    "Members": {"members": [MEMBER]},
    "Audit": {"audit": [AUDIT]},
    "Deleted": {"deleted": True},
    "DeletedConfig": {"deleted": True, "without_default": "greeter@1"},
    "DeletedResource": {
        "deleted": True,
        "below": 2,
        "dependents": 1,
        "first_dependents": [{"kind": "greeter", "name": "bob"}],
    },
    "VersionView": {"version": "0.1.0", "api_version": "v1", "python_version": "3.11.7", "store": "sqlite"},
}

_WRONG = {
    400: ("schema", "the spec breaks the schema of greeter@1", ("'Ada' was expected", "body/spec/name", "Eve")),
    403: ("foreign_origin", "writes from the origin 'https://page.example' are refused", None),
    404: ("not_found", "there is no resource greeter/ada", None),
    408: ("timeout", "greeter/ada is Reconciling, not ready", None),
    409: ("deleting", "greeter/ada is being deleted (wait until it is gone)", None),
    410: ("events_expired", "the changes after 7 are not kept; the youngest is 90210", None),
    412: ("precondition", "greeter/ada was changed meanwhile (get it again)", None),
    413: ("body_too_large", "the body is larger than 1,048,576 bytes", None),
    415: ("not_json", "the body's content-type is text/plain; send application/json", None),
    421: ("foreign_host", "the Host 'other.example' is not one of this engine", None),
    422: ("bad_body", "/name: it is required", ("it is required", "body/name", None)),
    429: ("too_many_requests", "more requests than API_RATE_LIMIT_RPS allows", None),
    503: ("store_full", "the disk is full", None),
}


def problem(status: int) -> dict[str, Any]:
    """What a refusal with this status may look like."""
    code, detail, violation = _WRONG[status]
    return {
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": [dict(zip(("message", "location", "value"), violation, strict=True))] if violation else [],
        "type": f"urn:converge:problem:{code}",
        "instance": "/api/v1/resources/greeter/ada",
    }
