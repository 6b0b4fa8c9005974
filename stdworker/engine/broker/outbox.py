"""What waits to be written to one worker. It holds nouns, not frames: what can be joined is joined when written."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from itertools import islice

from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.convert import encode_config_update
from stdworker.wire.frames import task_frame, tasks_frame
from stdworker.wire.generated import worker_pb2 as pb

BATCH_TASKS_MAX = 256
BATCH_BYTES_MAX = 1024 * 1024  # of tasks in one frame; a larger task travels alone
BATCH_LEASES_MAX = 4_096
SETTLED_SECONDS = 0.02  # a worker only forgets what it is told settled: that waits for more, one frame for many
SETTLED_AT_ONCE = 256
BACKLOG_MAX = 20_000  # entries; a worker that doesn't read isn't read from either


class Outbox:
    """Frames in the order that the contract asks for: a config always before the tasks claimed after its edit.

    Every part is bounded: configs by the pairs (the newest replaces), tasks and cancels by the credit, settled
    leases by `BACKLOG_MAX`, beyond which the session stops reading results.
    """

    def __init__(self, extensions: frozenset[str]) -> None:
        self.extensions = extensions
        self.closed = False
        self._configs: dict[KindVersion, ProviderConfig] = {}
        self._tasks: deque[bytes] = deque()
        self._cancels: dict[Lease, str] = {}
        self._settled: dict[Lease, None] = {}
        self._patience: asyncio.TimerHandle | None = None
        self._drain: str | None = None
        self._alive = False
        self._written = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def put_config(self, pair: KindVersion, config: ProviderConfig) -> None:
        """The default config of a pair; one that waits is replaced."""
        self._configs[pair] = config
        self._changed()

    def put_tasks(self, tasks: Iterable[bytes]) -> None:
        """Serialized StageTasks."""
        self._tasks.extend(tasks)
        self._changed()

    def put_cancel(self, lease: Lease, reason: str) -> None:
        """Have the worker stop a task, if it knows how to be told."""
        if "cancel" in self.extensions:
            self._cancels[lease] = reason
            self._changed()

    def put_settled(self, leases: Iterable[Lease]) -> None:
        """Told soon, together with what is settled until then."""
        if "settled" not in self.extensions:
            return
        self._settled.update(dict.fromkeys(leases))
        if len(self._settled) >= SETTLED_AT_ONCE or self.closed:
            self._tell_settled()
        elif self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(SETTLED_SECONDS, self._tell_settled)

    def will_tell_settled(self, lease: Lease) -> bool:
        """Does the worker wait to be told that this one is settled?"""
        return lease in self._settled

    def _tell_settled(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._changed()

    def put_drain(self, reason: str) -> None:
        """Have the worker move to another broker, if it knows how to be told."""
        if "drain" in self.extensions:
            self._drain = reason
            self._changed()

    def put_alive(self) -> None:
        """A sign of life, if the worker knows it."""
        if "alive" in self.extensions:
            self._alive = True
            self._changed()

    def close(self) -> None:
        """Let the writer finish what waits, then end."""
        self.closed = True
        self._tell_settled()

    async def next(self) -> bytes | None:
        """The next frame, a serialized WorkStreamServerMsg, waiting for one; None once closed and empty."""
        while True:
            frame = self._take()
            if frame is not None or self.closed:
                return frame
            self._written.clear()
            await self._written.wait()

    async def room(self) -> None:
        """Wait until the worker has read enough of what was written for it."""
        await self._room.wait()

    def _changed(self) -> None:
        self._written.set()
        if self.closed or len(self._settled) + len(self._tasks) < BACKLOG_MAX:
            self._room.set()
        else:
            self._room.clear()

    def _take(self) -> bytes | None:
        frame = self._take_frame()
        if not self._room.is_set():
            self._changed()
        return frame

    def _take_frame(self) -> bytes | None:
        goes_before_tasks = self._drain is not None or self._configs
        if self._tasks and not goes_before_tasks:
            return self._take_tasks()
        message = self._take_message()
        return message.SerializeToString() if message is not None else None

    def _take_message(self) -> pb.WorkStreamServerMsg | None:
        if self._drain is not None:
            reason, self._drain = self._drain, None
            return pb.WorkStreamServerMsg(drain=pb.Drain(reason=reason))
        if self._configs:
            pair = next(iter(self._configs))
            return pb.WorkStreamServerMsg(config=encode_config_update(pair, self._configs.pop(pair)))
        if self._cancels:
            lease, reason = self._cancels.popitem()
            return pb.WorkStreamServerMsg(
                cancel=pb.CancelTask(lease_token=lease.token, claim_epoch=lease.epoch, reason=reason)
            )
        if self._settled and self._patience is None:
            return self._take_settled()
        if self._alive:
            self._alive = False
            return pb.WorkStreamServerMsg(alive=pb.Alive())
        return None

    def _take_tasks(self) -> bytes:
        batch = [self._tasks.popleft()]
        size = len(batch[0])
        while self._tasks and "batch" in self.extensions and len(batch) < BATCH_TASKS_MAX:
            size += len(self._tasks[0])
            if size > BATCH_BYTES_MAX:
                break
            batch.append(self._tasks.popleft())
        return tasks_frame(batch) if len(batch) > 1 else task_frame(batch[0])

    def _take_settled(self) -> pb.WorkStreamServerMsg:
        leases = list(islice(self._settled, BATCH_LEASES_MAX))
        for lease in leases:
            del self._settled[lease]
        return pb.WorkStreamServerMsg(
            settled=pb.Settled(
                lease_token=[lease.token for lease in leases], claim_epoch=[lease.epoch for lease in leases]
            )
        )
