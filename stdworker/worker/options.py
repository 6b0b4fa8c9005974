"""What a caller of `run_worker` may choose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.registry import Collector

from stdworker.model.settings import WorkerSettings
from stdworker.wire.channel import MESSAGE_BYTES_MAX
from stdworker.worker.lanes import TaskObserver
from stdworker.worker.local_socket import runtime_folders
from stdworker.worker.pace import Pace


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker runs. `max_parallel` holds for each pair alone, `max_total` (None: no limit) over all.

    `drain_seconds` is what running tasks get to finish. `observer` is told of each task's start and end,
    `collectors` are added to `/metrics`. The first usable of `socket_folders` gets the socket for `stdworker
    status`; none, no socket.
    """

    max_parallel: int = 100
    max_total: int | None = None
    drain_seconds: float = 30.0
    health_address: tuple[str, int] | None = None
    observer: TaskObserver | None = None
    collectors: Sequence[Collector] = ()
    socket_folders: Sequence[Path] = ()
    message_bytes_max: int = MESSAGE_BYTES_MAX
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def of(
        cls, settings: WorkerSettings, *, observer: TaskObserver | None = None, collectors: Sequence[Collector] = ()
    ) -> WorkerOptions:
        return cls(
            max_parallel=settings.max_parallel,
            max_total=settings.max_total,
            drain_seconds=settings.drain_seconds,
            health_address=settings.health_address,
            observer=observer,
            collectors=collectors,
            socket_folders=runtime_folders(os.environ),
        )
