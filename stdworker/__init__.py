"""Turn any executable that speaks JSON lines into a kind of resource.

This module is what a plugin author imports. What needs gRPC (`serve`, `run_worker`) loads on first use.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stdworker.errors import Retry, StdworkerError, Terminal
from stdworker.hookspecs import hookimpl
from stdworker.model.config import ProviderConfig, ProviderConfigSpec, effective_bundle, effective_config
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Transition, Trigger
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Operation, Ref, Resource
from stdworker.model.task import Provider, ReactionRequest

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name in ("WorkerOptions", "run_worker", "serve"):
        return getattr(import_module("stdworker.worker"), name)  # by name: no import of the root imports grpc
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
