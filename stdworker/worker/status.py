"""What a worker is doing now, as one JSON document for people and tools. Never a secret."""

from __future__ import annotations

import heapq
import os
import socket
import time
from hashlib import sha256
from typing import Any

import orjson

import stdworker
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.secrets import mask
from stdworker.worker.configs import NO_CONFIG
from stdworker.worker.connection import Connection
from stdworker.worker.ledger import Held
from stdworker.worker.watchdog import Watchdog
from stdworker.worker.worker import Worker

SLOWEST_TASKS_MAX = 10
HASH_DIGITS = 12


class Status:
    """Reads a worker from any thread."""

    def __init__(self, worker: Worker, connection: Connection, watchdog: Watchdog) -> None:
        self._worker = worker
        self._connection = connection
        self._watchdog = watchdog
        self._started = time.monotonic()

    def document(self) -> bytes:
        """The whole status as JSON."""
        inside = self._worker.read(self._loop_side)
        return orjson.dumps(self._process() | inside)  # in this order: a loop that didn't answer is known to be stuck

    def _process(self) -> dict[str, Any]:
        """What holds whatever the loop does."""
        silent = self._watchdog.silent_seconds if self._watchdog.blocked else 0.0
        return {
            "version": stdworker.__version__,
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "uptime_seconds": time.monotonic() - self._started,
            "loop": {"stuck_seconds": silent, "held_by": self._watchdog.culprit if silent else ""},
        }

    def _loop_side(self) -> dict[str, Any]:
        worker = self._worker
        return {
            "broker": self._connection.view(),
            "draining": worker.readiness.draining,
            "missing": worker.missing(),
            "results": {"buffered": worker.ledger.results, "dropped": worker.ledger.dropped},
            "kinds": [self._kind(pair) for pair in worker.providers],
            "slowest_tasks": self._slowest(),
        }

    def _kind(self, pair: KindVersion) -> dict[str, Any]:
        worker = self._worker
        lane, slot = worker.lanes[pair], worker.configs.slots[pair]
        return {
            "kind": pair.kind,
            "kind_version": pair.version,
            "origin": worker.providers.origin(pair),
            "ready": worker.readiness[pair],
            "reason": worker.readiness.reason(pair),
            "credit": lane.limit,
            "in_flight": lane.running,
            "waiting": lane.waiting,
            "outcomes": worker.metrics.of(pair).outcomes,
            "config": {"hash": _hash(slot.config), "changes": slot.changes},
            "provider": _encoded(worker.view(pair)),
        }

    def _slowest(self) -> list[dict[str, Any]]:
        running = [held for held in self._worker.ledger.open if held.run is not None]
        slowest = heapq.nsmallest(SLOWEST_TASKS_MAX, running, key=lambda held: held.started)
        return [_task(held, time.monotonic()) for held in slowest]


def _task(held: Held, now: float) -> dict[str, Any]:
    assert held.run is not None
    request = held.run.request
    fraction, message = held.progress
    return {
        "kind": held.pair.kind,
        "kind_version": held.pair.version,
        "name": request.resource.name,
        "stage": request.stage,
        "seconds": now - held.started,
        "progress": {"fraction": fraction, "message": message},
        "cancelled": held.run.cancel_reason,
    }


def _encoded(view: Any) -> Any:
    """What a provider shows is any plugin's: if it can't be written as JSON, that is told instead."""
    try:
        return orjson.Fragment(orjson.dumps(view, default=str))
    except TypeError as error:
        return {"error": str(error)}


def _hash(config: ProviderConfig) -> str:
    """Tells contents apart, without a secret in it to be guessed; "" when there is no config."""
    if config == NO_CONFIG:
        return ""
    spec = b"" if config.spec is None else mask(config.spec)
    return sha256(spec + b"\0" + (config.bundle or b"")).hexdigest()[:HASH_DIGITS]
