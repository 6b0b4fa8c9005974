"""One stream to a broker: what is written in which order, and what is done with what is read.

A session ends when its stream does. It owns no task: the ledger keeps them, the next session goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.frames import complete_frame, completes_frame
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.ledger import Held, Ledger
from stdworker.worker.pace import Pace
from stdworker.worker.transport import Stream, Unreachable

BATCH_RESULTS_MAX = 256
BATCH_BYTES_MAX = 1024 * 1024
REASON_CHARACTERS_MAX = 500
COMPANY = 8  # results that are worth a frame, and unfinished tasks that may bring them
COMPANY_SHARE = 4  # where more run, a frame may wait for one result of every fourth
PATIENCE = 0.1  # of what a task took: how long its result may wait for company
PATIENCE_SECONDS_MIN = 0.001
PATIENCE_SECONDS_MAX = 0.05

log = logging.getLogger("stdworker.worker")


class Inbound(NamedTuple):
    """Who is handed what the broker sends."""

    task: Callable[[pb.StageTask], None]
    config: Callable[[pb.ProviderConfigUpdate], None]
    cancel: Callable[[Lease, str], None]


class Offer(NamedTuple):
    """What a pair takes: whether it is ready, how many tasks at a time, and why it is not ready."""

    ready: bool
    credit: int
    reason: str = ""


class Session:
    """`confirmed` is set once the broker said anything, `established` then or when the stream stood for a
    while (a base broker has nothing to say), `drain_noticed` when the broker is going away.

    `peer` holds the extensions that it listed; empty until they are known, and for a base broker for ever.
    """

    def __init__(self, stream: Stream, ledger: Ledger, inbound: Inbound, pace: Pace) -> None:
        self.peer: frozenset[str] = frozenset()
        self.established = asyncio.Event()
        self.confirmed = asyncio.Event()
        self.drain_noticed = asyncio.Event()
        self.carries_results = True
        self._stream = stream
        self._ledger = ledger
        self._inbound = inbound
        self._pace = pace
        self._control: deque[bytes] = deque()
        self._told: dict[KindVersion, Offer] = {}
        self._progress: dict[Lease, tuple[float | None, str]] = {}
        self._written: deque[tuple[float, Held]] = deque()
        self._last_heard = time.monotonic()
        self._wake = asyncio.Event()
        self._patience: asyncio.TimerHandle | None = None
        self._closing = False
        self._handlers: dict[str | None, Callable[[Any], None]] = {
            "task": inbound.task,
            "tasks": self._on_tasks,
            "config": inbound.config,
            "cancel": self._on_cancel,
            "drain": self._on_drain,
            "settled": self._on_settled,
        }

    # ---- what the worker tells ----

    def subscribe(self, offers: dict[KindVersion, Offer], total: int, info: pb.WorkerInfo) -> None:
        """The first frames: what is served, what still runs, and which pairs are not ready."""
        pairs = sorted(offers)
        held = [held.lease for held in self._ledger]
        frame = pb.Subscribe(
            kinds=[pair.kind for pair in pairs],
            kind_versions=[pair.version for pair in pairs],
            max_inflight=total,
            resumed=[pb.ResumedTask(lease_token=lease.token, claim_epoch=lease.epoch) for lease in held],
            worker_info=info,
            pair_inflight=[offers[pair].credit for pair in pairs],
        )
        self._send(pb.WorkStreamClientMsg(subscribe=frame))
        for pair in pairs:
            self._told[pair] = Offer(True, offers[pair].credit)
            self.offer(pair, offers[pair])

    def offer(self, pair: KindVersion, offer: Offer) -> None:
        """Tell a pair's readiness and credit if that is not what this broker was told last."""
        if self._told.get(pair) == offer:
            return
        self._told[pair] = offer
        frame = pb.Interest(
            kind=pair.kind,
            kind_version=pair.version,
            credit=offer.credit,
            has_worker=offer.ready,
            reason=offer.reason[:REASON_CHARACTERS_MAX],
        )
        self._send(pb.WorkStreamClientMsg(interest=frame))

    def progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        """Remember how far a task is; sent soon, and only the latest word of each task."""
        if "progress" in self.peer:
            self._progress[lease] = (fraction, message)

    def wake(self) -> None:
        """There may be something to write."""
        self._wake.set()

    def result(self, task_seconds: float) -> None:
        """There is one more result, of a task that took so long.

        A frame of one costs the broker a transaction to settle and one to claim, so while many other tasks run
        it waits a moment for company.
        """
        unfinished = self._ledger.unfinished
        company = max(COMPANY, unfinished // COMPANY_SHARE)
        alone = unfinished >= COMPANY and self._ledger.unsent < company and "batch" in self.peer
        patience_seconds = min(PATIENCE_SECONDS_MAX, task_seconds * PATIENCE) if alone else 0.0
        if patience_seconds < PATIENCE_SECONDS_MIN:
            self._wake.set()
        elif self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(patience_seconds, self._lose_patience)

    def _lose_patience(self) -> None:
        self._end_patience()
        self._wake.set()

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def finish(self) -> None:
        """Write what is left, then half-close."""
        self._closing = True
        self._wake.set()

    def settle_by_age(self) -> None:
        """A base broker never says `settled`: what the stream outlived for a while after the write is."""
        if "settled" in self.peer:
            self._written.clear()
            return
        oldest = time.monotonic() - self._pace.settle_seconds
        aged = []
        while self._written and self._written[0][0] <= oldest:
            aged.append(self._written.popleft()[1])
        if aged:
            self._ledger.settle_written(aged)

    # ---- its life ----

    async def run(self) -> None:
        """Until the broker ends the stream. Raises Unreachable when it is lost."""
        writer = asyncio.create_task(self._write_all())
        reader = asyncio.create_task(self._read_all())
        beat = asyncio.create_task(self._beat())
        extensions = asyncio.create_task(self._learn_extensions())
        try:
            parts = {reader, writer, beat}
            while not reader.done():
                done, parts = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                for part in (reader, writer, beat):  # the reader knows best why the stream ended
                    if part in done:
                        part.result()
        finally:
            self._end_patience()
            self._stream.cancel()
            everything = (writer, reader, beat, extensions)
            for part in everything:
                part.cancel()
            await asyncio.gather(*everything, return_exceptions=True)
            self.settle_by_age()
            self._ledger.lost(self)

    async def _learn_extensions(self) -> None:
        self.peer = await self._stream.extensions()
        if self.peer:
            self._confirm()

    async def _read_all(self) -> None:
        while (message := await self._stream.read()) is not None:
            self._last_heard = time.monotonic()
            self._confirm()
            name = message.WhichOneof("body")
            handler = self._handlers.get(name)
            if handler is not None:  # `alive`, and what a later broker may add, need none
                handler(getattr(message, name))

    def _confirm(self) -> None:
        self.confirmed.set()
        self.established.set()

    async def _write_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._control:
                await self._stream.write(self._control.popleft())
            await self._write_results()
            if self._control or (self._closing and self.carries_results and self._ledger.unsent):
                self._wake.set()
            elif self._closing:
                await self._stream.half_close()
                return

    async def _write_results(self) -> None:
        """Those that are there now; who comes while they are written may wait for company in turn."""
        self._end_patience()
        left = self._ledger.unsent
        while self.carries_results and left > 0 and not self._control:
            before = self._ledger.unsent
            count = BATCH_RESULTS_MAX if "batch" in self.peer else 1
            batch = self._ledger.take(self, count_max=min(count, left), bytes_max=BATCH_BYTES_MAX)
            left -= max(1, before - self._ledger.unsent)
            if batch:
                await self._write_batch(batch)

    async def _write_batch(self, batch: list[Held]) -> None:
        results = [held.result for held in batch]
        frame = completes_frame(results) if len(results) > 1 else complete_frame(results[0])
        await self._stream.write(frame)
        if "settled" not in self.peer:
            now = time.monotonic()
            self._written.extend((now, held) for held in batch)

    async def _beat(self) -> None:
        """Heartbeats, progress, and the watch over silence: a tick a second at most."""
        tick = min(self._pace.progress_seconds, self._pace.heartbeat_seconds)
        opened = time.monotonic()
        next_heartbeat = opened + self._pace.heartbeat_seconds
        while True:
            await asyncio.sleep(tick)
            if time.monotonic() - opened >= self._pace.stand_seconds:
                self.established.set()
            self._send_progress()
            if time.monotonic() < next_heartbeat:
                continue
            next_heartbeat += self._pace.heartbeat_seconds
            self.settle_by_age()
            self._send(pb.WorkStreamClientMsg(heartbeat=self._heartbeat()))
            silent = time.monotonic() - self._last_heard
            if "alive" in self.peer and silent > self._pace.silence_seconds:
                raise Unreachable(f"the broker has said nothing for {silent:.0f} s")

    def _heartbeat(self) -> pb.WorkHeartbeat:
        """Every lease whose task goes on or whose result isn't settled; none says that the stream is alive."""
        leases = [held.lease for held in self._ledger if held.writer is not self or "settled" in self.peer]
        return pb.WorkHeartbeat(
            lease_token=[lease.token for lease in leases], claim_epoch=[lease.epoch for lease in leases]
        )

    def _send_progress(self) -> None:
        told, self._progress = self._progress, {}
        for lease, (fraction, message) in told.items():
            if not self._ledger.is_open(lease):
                continue
            known = -1.0 if fraction is None else fraction
            frame = pb.TaskProgress(lease_token=lease.token, claim_epoch=lease.epoch, fraction=known, message=message)
            self._send(pb.WorkStreamClientMsg(progress=frame))

    def _send(self, message: pb.WorkStreamClientMsg) -> None:
        self._control.append(message.SerializeToString())
        self._wake.set()

    # ---- what the broker tells ----

    def _on_tasks(self, batch: pb.TaskBatch) -> None:
        take = self._inbound.task
        for message in batch.tasks:
            take(message)

    def _on_cancel(self, message: pb.CancelTask) -> None:
        self._inbound.cancel(Lease(message.lease_token, message.claim_epoch), message.reason)

    def _on_drain(self, message: pb.Drain) -> None:
        log.info("the broker is going away%s", f": {message.reason}" if message.reason else "")
        self.drain_noticed.set()

    def _on_settled(self, message: pb.Settled) -> None:
        self._ledger.settle(map(Lease, message.lease_token, message.claim_epoch))
