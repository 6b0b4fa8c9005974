"""One persistent end that answers requests, a process of ours or a connection to somebody else's."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from stdworker.bridge.conversation import Conversation
from stdworker.bridge.flight import Lost
from stdworker.bridge.program import Program
from stdworker.bridge.result import BridgeResult
from stdworker.bridge.view import PeerView
from stdworker.errors import TaskFailure, Terminal
from stdworker.framing.messages import Ready
from stdworker.model.json_text import RawJson
from stdworker.model.task import ReactionRequest
from stdworker.process.command import Signature
from stdworker.process.exits import Exit


class Owner(Protocol):
    """Who must know what happens to a peer: the pool's places."""

    def freed(self) -> None:
        """There may be room for another request."""

    def answered(self) -> None:
        """A request got its answer."""

    def ready_changed(self) -> None:
        """The program said whether it wants work."""

    def retired(self, peer: Peer) -> None:
        """The peer takes no more requests."""

    def ended(self, peer: Peer, lost: set[str]) -> None:
        """The peer is gone; `lost` are the uids of the resources whose requests it held."""


class Source(Protocol):
    """Where the peers of a pool come from.

    `owned` peers are started whenever they are needed. Those that aren't live by themselves: before there is one,
    nobody can be asked.
    """

    owned: bool

    def signature(self) -> Signature:
        """Of what a new peer would be started from. Raises ConfigError when it isn't there."""

    async def start(self, owner: Owner) -> Peer:
        """Raises ConfigError for what an operator must mend, a TaskFailure for what passes by itself."""


class Peer(ABC):
    """Room for requests, their way through the conversation, and retirement. How it ends is for subclasses."""

    def __init__(
        self, program: Program, owner: Owner, write: Callable[[bytes], None], *, silent_hint: str, signature: Signature
    ) -> None:
        self.signature = signature
        self.retired = False
        self.diagnosis = ""
        self._program = program
        self._owner = owner
        self._said = Conversation(program, write, self, silent_hint)
        self._started_at = time.monotonic()
        self._answered = 0
        self._reserved = 0
        self._alone = False
        self._half_closed = False
        self._killed_by: str | None = None
        self._stopping = False

    # ---- room ----

    @property
    def load(self) -> int:
        return self._reserved + len(self._said)

    @property
    def free(self) -> bool:
        return not (self.retired or self._alone or self._half_closed) and self.load < self._program.launch.concurrency

    def reserve(self, *, alone: bool) -> None:
        """Keep room for one request, or the whole peer for it."""
        self._reserved += 1
        self._alone = alone

    def unreserve(self) -> None:
        self._reserved -= 1
        self.made_room()

    def made_room(self) -> None:
        if self._alone and not self.load:
            self._alone = False
        if self.retired:
            self._stop_if_done()
        else:
            self._owner.freed()

    # ---- requests ----

    async def ask(self, request: ReactionRequest, program: Program) -> BridgeResult | Lost:
        """Run one request, for which room was reserved, under its own settings."""
        try:
            flight = self._said.send(request, program)
        except Terminal:
            self.unreserve()
            raise
        self._reserved -= 1
        try:
            landed = await flight.landed
        except asyncio.CancelledError:
            self._said.give_up(flight, "cancel")
            raise
        if isinstance(landed, bytes):
            result = await program.read(landed, request, self._said.sideband)
        elif isinstance(landed, TaskFailure):
            result = BridgeResult(failure=landed)
        else:
            return landed
        result.stray_lines = self._said.sideband.stray_lines - flight.stray_before
        result.exit = self.exit
        return result

    def tell_config(self, settings: RawJson | None) -> None:
        """Hand new settings of the kind to a program that asked for them."""
        self._said.tell_config(settings)

    @property
    def ready(self) -> Ready:
        return self._said.ready

    def answered(self) -> None:
        self._answered += 1
        self._owner.answered()

    def ready_changed(self) -> None:
        self._owner.ready_changed()

    # ---- what differs ----

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Until the end was noticed."""

    @property
    def exit(self) -> Exit | None:
        """How its process ended, if it is ours and did."""
        return None

    @abstractmethod
    def kill(self, killed_by: str) -> None:
        """End now, whatever is in flight."""

    @abstractmethod
    async def _stop(self) -> None:
        """End politely, or at once if `_killed_by` says that it is at fault. Bounded."""

    @abstractmethod
    def _where(self) -> tuple[int | None, str | None]:
        """Its process id, or its address."""

    # ---- the end ----

    @property
    def uptime_seconds(self) -> float:
        return time.monotonic() - self._started_at

    def retire(self, *, killed_by: str | None = None) -> None:
        """Take no more requests; end when those in flight have ended.

        `killed_by` says that the peer is at fault and why: then it gets no chance to end politely.
        """
        if self.retired:
            return
        self.retired = True
        self._killed_by = killed_by
        self._owner.retired(self)
        self._stop_if_done()

    def shut(self, reason: TaskFailure) -> None:
        """End now: requests still in flight fail with `reason`."""
        self.retire()
        self._said.fail(None, reason)
        self._stop_if_done()

    def view(self) -> PeerView:
        pid, address = self._where()
        return PeerView(pid, address, self.uptime_seconds, in_flight=self.load, answered=self._answered)

    def _stop_if_done(self) -> None:
        done = self.retired and not self._reserved and not self._said.flights
        if done and self.alive and not self._stopping:
            self._stopping = True
            self._program.runtime.background(self._stop())

    def _end(self, diagnosis: str, failure: TaskFailure | Lost) -> None:
        """It is gone. `failure` is for the requests that it held; one that was granted room only now goes elsewhere."""
        self.retired = True
        self.diagnosis = diagnosis
        lost = {flight.request.resource.uid for flight in self._said.held}
        self._said.fail(None, failure)
        self._owner.ended(self, lost)
