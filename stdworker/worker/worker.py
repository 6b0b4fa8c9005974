"""A worker: providers on one side, a broker on the other, and what must hold between them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from typing import Any

import stdworker
from stdworker.bridge import ProgramView
from stdworker.errors import Released, Terminal
from stdworker.host import dispatch
from stdworker.host.dispatch import Dispatcher
from stdworker.host.registry import Registry
from stdworker.host.threads import Threads
from stdworker.host.verdict import verdict
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease, Result
from stdworker.wire.convert_result import encode_result
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.configs import Configs, ConfigSlot
from stdworker.worker.lanes import Ceiling, Lane
from stdworker.worker.ledger import Held, Ledger
from stdworker.worker.loop_reader import LoopReader
from stdworker.worker.metrics import KindReading, Metrics
from stdworker.worker.options import WorkerOptions
from stdworker.worker.readiness import Readiness
from stdworker.worker.session import Inbound, Offer, Session
from stdworker.worker.waiting import within

FRAME_BYTES = 64  # what a frame adds around a result, rounded up

log = logging.getLogger("stdworker.worker")


class Worker:
    """The parts of a worker that outlive every session. `session` is the one that results go to, if any."""

    def __init__(self, providers: Registry, options: WorkerOptions) -> None:
        self.providers = providers
        self.options = options
        self.pace = options.pace
        self.threads = Threads()
        self.ledger = Ledger()
        counters = [counted for p in providers.values() if (counted := getattr(p, "counters", None)) is not None]
        self.metrics = Metrics(options.collectors, counters)
        self.session: Session | None = None
        slots = {pair: ConfigSlot(pair, provider, self.threads, self.pace) for pair, provider in providers.items()}
        self.configs = Configs(slots, self.pace)
        self.ceiling = Ceiling(options.max_total)
        self.lanes = {pair: self._lane(pair, slot) for pair, slot in slots.items()}
        self.readiness = Readiness(providers, slots, self.threads, self.pace, self._offer)
        self.read = LoopReader()
        self._loop = asyncio.get_running_loop()
        self._result_bytes_max = options.message_bytes_max - FRAME_BYTES
        self._add_gauges()

    def _lane(self, pair: KindVersion, slot: ConfigSlot) -> Lane:
        dispatcher = Dispatcher(self.providers[pair], self.threads)
        observer = self.options.observer
        return Lane(pair, dispatcher, slot, self.ceiling, self.metrics, self._report, self._progress, observer)

    def _add_gauges(self) -> None:
        self.metrics.kinds = lambda: self.read(lambda: [self._reading(pair) for pair in self.providers])
        self.metrics.gauges |= {
            "stdworker_connected": ("1 while a session is up", lambda: float(self.connected)),
            "stdworker_results_buffered": ("Results that no broker has settled yet", lambda: self.ledger.results),
        }
        self.metrics.totals |= {
            "stdworker_results_dropped": ("Results given up because too many were kept", lambda: self.ledger.dropped),
        }

    def _reading(self, pair: KindVersion) -> KindReading:
        lane, view = self.lanes[pair], self.view(pair)
        processes = breaker_open = None
        if isinstance(view, ProgramView):
            processes = lane.running if view.mode == "oneshot" else _processes(view)
            breaker_open = view.breaker_open
        return KindReading(pair, self.readiness[pair], lane.waiting, processes, breaker_open)

    # ---- tasks ----

    @property
    def inbound(self) -> Inbound:
        return Inbound(self._receive, self.configs.push, self._cancel)

    def _receive(self, message: pb.StageTask) -> None:
        held = self.ledger.add(message, time.monotonic())
        if held is None:
            return
        lane = self.lanes.get(held.pair)
        if lane is None:
            text = f"this worker serves no {held.pair}"
            self._report(held, Result(failure=Terminal(text, reason="UnknownKind", code="unknown_kind")))
        elif self.readiness.draining:
            self._release(held)
        else:
            lane.submit(held)

    def _cancel(self, lease: Lease, reason: str) -> None:
        held = self.ledger.find(lease)
        if held is None:
            return
        if held.run is not None:
            held.run.cancel(reason or "the lease is void")
        elif held.result:
            self.ledger.settle([lease])
        else:
            self.lanes[held.pair].withdraw(held, reason)

    def _report(self, held: Held, result: Result) -> None:
        """Settle a held lease: keep its result, and have it written."""
        frame = encode_result(held.lease, held.stage, result).SerializeToString()
        if len(frame) > self._result_bytes_max:
            frame = self._too_large(held, len(frame))
        self.ledger.finish(held, frame)
        if self.session is not None:
            self.session.result(time.monotonic() - held.received)

    def _too_large(self, held: Held, size: int) -> bytes:
        text = f"the result has {size} bytes, a message may have {self.options.message_bytes_max}"
        failure = Terminal(text, reason="ResultTooLarge", hint="report less status, or compose fewer children")
        return encode_result(held.lease, held.stage, Result(failure=failure)).SerializeToString()

    def _release(self, held: Held) -> None:
        """Give a task back that never started. A base broker would count a report as an attempt; to it the
        end of the stream says the same."""
        if self.session is not None and self.session.peer:
            self._report(held, Result(failure=Released("the worker drains", reason="Draining")))
        else:
            self.ledger.forget(held)

    def _progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        """Safe from any thread."""
        self._loop.call_soon_threadsafe(self._note_progress, lease, fraction, message)

    def _note_progress(self, lease: Lease, fraction: float | None, message: str) -> None:
        held = self.ledger.find(lease)
        if held is not None:
            held.progress = fraction, message
        if self.session is not None:
            self.session.progress(lease, fraction, message)

    # ---- sessions ----

    @property
    def connected(self) -> bool:
        return self.session is not None and self.session.established.is_set()

    def subscribe(self, session: Session) -> None:
        """Write the first frames of a session."""
        offers = self._offers()
        total = sum(offer.credit for offer in offers.values())
        session.subscribe(offers, min(total, self.options.max_total or total), _info())

    def adopt(self, session: Session) -> None:
        """From now on results and readiness go to this session."""
        self.session = session
        session.carries_results = True
        session.wake()
        for pair, offer in self._offers().items():
            session.offer(pair, offer)

    def leave(self, session: Session) -> None:
        """A session has ended; what it left unsettled goes to the one in use."""
        if self.session is session:
            self.session = None
        elif self.session is not None:
            self.session.wake()

    def _offers(self) -> dict[KindVersion, Offer]:
        readiness = self.readiness
        return {pair: Offer(readiness[pair], lane.limit, readiness.reason(pair)) for pair, lane in self.lanes.items()}

    def _offer(self, pair: KindVersion, ready: bool, reason: str) -> None:
        lane = self.lanes[pair]
        lane.ready = ready
        lane.limit = self._limit(pair)
        lane.pump()
        if self.session is not None:
            self.session.offer(pair, Offer(ready, lane.limit, reason))

    def _limit(self, pair: KindVersion) -> int:
        credit = getattr(self.providers[pair], "credit", None)
        return min(self.options.max_parallel, credit) if credit else self.options.max_parallel

    def view(self, pair: KindVersion) -> Any:
        """What the pair's provider shows of itself, if it does; a plugin's may fail."""
        view = getattr(self.providers[pair], "view", None)
        try:
            return view() if view is not None else None
        except Exception as error:
            return {"error": str(verdict(error))}

    def missing(self) -> list[str]:
        """What keeps this worker from taking tasks, for /readyz."""
        absent = {
            "not connected to a broker": self.connected,
            "no config was read from a broker yet": self.configs.primed,
            f"no kind is ready: {'; '.join(map(self._unready, self.providers))}": self.readiness.ready_pairs > 0,
            "draining": not self.readiness.draining,
        }
        return [sentence for sentence, there in absent.items() if not there]

    def _unready(self, pair: KindVersion) -> str:
        reason = self.readiness.reason(pair)
        return f"{pair} ({reason})" if reason else str(pair)

    # ---- its end ----

    def drain(self) -> None:
        """Take no more tasks, and give back those that have not started."""
        self.readiness.drain()
        for lane in self.lanes.values():
            lane.release_queued(self._release)

    async def stop_running(self, timeout_seconds: float) -> None:
        """Stop what runs and report nothing for it: the end of the stream gives the leases back."""
        for held in self.ledger.open:
            self.ledger.forget(held)
            if held.run is not None:
                held.run.cancel("the worker stops")
        await within(timeout_seconds, self.ceiling.idle.wait())

    async def close(self, timeout_seconds: float) -> None:
        """Close every provider that can be closed, and whatever this worker started."""
        await self.readiness.close()
        await self.configs.close()
        closing = [asyncio.create_task(self._close_provider(pair)) for pair in self.providers]
        if closing:
            _, late = await asyncio.wait(closing, timeout=timeout_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self.threads.close()

    async def _close_provider(self, pair: KindVersion) -> None:
        close = getattr(self.providers[pair], "close", None)
        if close is None:
            return
        try:
            await dispatch.call(self.threads, close)
        except asyncio.CancelledError:
            log.warning("%s: close() has not returned and is left behind", pair)
            raise
        except BaseException as error:
            log.error("%s: close() failed: %s", pair, verdict(error))


def _processes(view: ProgramView) -> int:
    return 0 if view.mode == "socket" else sum(pool.running + pool.spares for pool in view.pools)


def _info() -> pb.WorkerInfo:
    host = socket.gethostname()
    return pb.WorkerInfo(name=f"{host}/{os.getpid()}", version=stdworker.__version__, hostname=host, pid=os.getpid())
