"""Turn any executable that speaks JSON lines into a kind of resource.

This module is what a plugin author imports. Each name is loaded on first use: a command starts quickly, and none of
them imports gRPC unless it is needed.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stdworker.errors import Retry, StdworkerError, Terminal
    from stdworker.hookspecs import hookimpl
    from stdworker.model.config import ProviderConfig, ProviderConfigSpec, effective_bundle, effective_config
    from stdworker.model.json_text import RawJson
    from stdworker.model.kind import KindVersion, Transition, Trigger
    from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome, ValueFlow
    from stdworker.model.resource import Operation, Ref, Resource
    from stdworker.model.task import Provider, ReactionRequest
    from stdworker.worker import WorkerOptions, run_worker, serve

# Read by grpc when it is first imported, wherever that happens: children are spawned beside live streams,
# never forked with them, and its notes about GOAWAY frames are not for a user's terminal.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

__version__ = "0.1.0"

__all__ = [
    "ChildSpec",
    "Condition",
    "DepEdge",
    "KindVersion",
    "Operation",
    "Outcome",
    "Provider",
    "ProviderConfig",
    "ProviderConfigSpec",
    "RawJson",
    "ReactionRequest",
    "Ref",
    "Resource",
    "Retry",
    "StdworkerError",
    "Terminal",
    "Transition",
    "Trigger",
    "ValueFlow",
    "WorkerOptions",
    "effective_bundle",
    "effective_config",
    "hookimpl",
    "run_worker",
    "serve",
]

_HOMES = {
    "errors": ("Retry", "StdworkerError", "Terminal"),
    "hookspecs": ("hookimpl",),
    "model.config": ("ProviderConfig", "ProviderConfigSpec", "effective_bundle", "effective_config"),
    "model.json_text": ("RawJson",),
    "model.kind": ("KindVersion", "Transition", "Trigger"),
    "model.outcome": ("ChildSpec", "Condition", "DepEdge", "Outcome", "ValueFlow"),
    "model.resource": ("Operation", "Ref", "Resource"),
    "model.task": ("Provider", "ReactionRequest"),
    "worker": ("WorkerOptions", "run_worker", "serve"),
}
_HOME = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
