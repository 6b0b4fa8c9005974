"""The leases that a worker holds, from receipt until the broker has settled them.

A held task is queued, running, or done. A done one is kept as the serialized result until the broker says
`settled`; a broker that knows only the base contract never does, there it counts as settled when the stream
lived on for a while after the write. What was written on a stream that is lost is written again on the next:
the fence (token, epoch, stage) makes that safe.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Iterator

from stdworker.host.dispatch import Run
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.channel import MESSAGE_BYTES_MAX
from stdworker.wire.generated import worker_pb2 as pb

NO_PROGRESS: tuple[float | None, str] = None, ""
RESULTS_MAX = 65_536
RESULTS_BYTES_MAX = MESSAGE_BYTES_MAX  # the largest result always fits

log = logging.getLogger("stdworker.worker")


class Held:
    """One lease. `message` is there until the task runs, `run` while it does, `result` once it is done.

    `started` is when it began to run (monotonic), `progress` what it said last.
    """

    __slots__ = ("lease", "message", "pair", "progress", "received", "result", "run", "stage", "started", "writer")

    def __init__(self, message: pb.StageTask, received: float) -> None:
        self.lease = Lease(message.lease_token, message.claim_epoch)
        self.stage: int = message.stage
        self.pair = KindVersion(message.kind, message.kind_version)
        self.message: pb.StageTask | None = message
        self.received = self.started = received
        self.progress = NO_PROGRESS
        self.run: Run | None = None
        self.result: bytes = b""
        self.writer: object | None = None


class Ledger:
    """All held leases. `quiet` is set while nothing is queued or running, `empty` while nothing is held."""

    def __init__(self, *, results_max: int = RESULTS_MAX, results_bytes_max: int = RESULTS_BYTES_MAX) -> None:
        self.quiet = asyncio.Event()
        self.empty = asyncio.Event()
        self.dropped = 0
        self._results_max = results_max
        self._results_bytes_max = results_bytes_max
        self._open: dict[Lease, Held] = {}
        self._done: dict[Lease, Held] = {}
        self._done_bytes = 0
        self._unsent: deque[Held] = deque()
        self._note_idle()

    def __len__(self) -> int:
        return len(self._open) + len(self._done)

    def __iter__(self) -> Iterator[Held]:
        yield from self._open.values()
        yield from self._done.values()

    @property
    def open(self) -> list[Held]:
        """What is queued or running."""
        return list(self._open.values())

    @property
    def results(self) -> int:
        """How many results wait to be settled."""
        return len(self._done)

    @property
    def unsent(self) -> int:
        """How many results wait to be written."""
        return len(self._unsent)

    @property
    def unfinished(self) -> int:
        """How many tasks are queued or running."""
        return len(self._open)

    def add(self, message: pb.StageTask, now: float) -> Held | None:
        """Take a lease in; None if it already runs here. A lease that comes again after its result was
        written runs its next stage: the broker has the result."""
        held = Held(message, now)
        if held.lease in self._open:
            return None
        self._forget_done(held.lease)
        self._open[held.lease] = held
        self.quiet.clear()
        self.empty.clear()
        return held

    def is_open(self, lease: Lease) -> bool:
        """Is it queued or running?"""
        return lease in self._open

    def find(self, lease: Lease) -> Held | None:
        return self._open.get(lease) or self._done.get(lease)

    def finish(self, held: Held, result: bytes) -> None:
        """Keep the result of a task until it is settled. A lease that was forgotten meanwhile is ignored."""
        if self._open.get(held.lease) is not held:
            return
        del self._open[held.lease]
        held.message = held.run = None
        held.result = result
        self._done[held.lease] = held
        self._done_bytes += len(result)
        self._unsent.append(held)
        self._drop_overflow()
        if not self._open:
            self.quiet.set()

    def take(self, writer: object, *, count_max: int, bytes_max: int) -> list[Held]:
        """The next results to write, at least one if there are any; `writer` is who writes them."""
        taken: list[Held] = []
        size = 0
        while self._unsent and len(taken) < count_max:
            held = self._unsent[0]
            size += len(held.result)
            if taken and size > bytes_max:
                break
            self._unsent.popleft()
            if self._done.get(held.lease) is held:
                held.writer = writer
                taken.append(held)
        return taken

    def settle(self, leases: Iterable[Lease]) -> None:
        """The broker has stored, or refused as stale, the results of these."""
        for lease in leases:
            self._forget_done(lease)
        if not self._done:
            self._note_idle()

    def settle_written(self, written: Iterable[Held]) -> None:
        """The same for results that may have been replaced by a later task of the same lease."""
        self.settle(held.lease for held in written if self._done.get(held.lease) is held)

    def lost(self, writer: object) -> None:
        """The stream of `writer` is gone: what it wrote and nobody settled is written again."""
        again = [held for held in self._done.values() if held.writer is writer]
        for held in again:
            held.writer = None
        self._unsent.extendleft(reversed(again))

    def forget(self, held: Held) -> None:
        """Report nothing for a task: the end of its stream gives the lease back."""
        if self._open.get(held.lease) is held:
            del self._open[held.lease]
        self._note_idle()

    def _forget_done(self, lease: Lease) -> None:
        held = self._done.pop(lease, None)
        if held is not None:
            self._done_bytes -= len(held.result)

    def _drop_overflow(self) -> None:
        while len(self._done) > self._results_max or self._done_bytes > self._results_bytes_max:
            oldest = next(iter(self._done))
            self._forget_done(oldest)
            self.dropped += 1
            if self.dropped.bit_count() == 1:  # the 1st, 2nd, 4th …: a flood must not fill the log
                log.warning("results that no broker took are dropped, %d so far: too many are kept", self.dropped)

    def _note_idle(self) -> None:
        if not self._open:
            self.quiet.set()
            if not self._done:
                self.empty.set()
