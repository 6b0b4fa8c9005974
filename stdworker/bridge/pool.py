"""The requests to one persistent program: who takes the next one, and who must wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from stdworker.bridge.flight import Lost
from stdworker.bridge.peer import Peer
from stdworker.bridge.places import Places
from stdworker.bridge.program import Program
from stdworker.bridge.result import BridgeResult
from stdworker.bridge.socket_connection import Connections
from stdworker.bridge.stream import Processes
from stdworker.bridge.view import PoolView
from stdworker.bridge.waiters import Waiters
from stdworker.errors import Released, Retry, StdworkerError
from stdworker.model.json_text import RawJson
from stdworker.model.task import ReactionRequest


class Pool:
    """Shares requests out among the processes of a program, or the connections to one."""

    def __init__(self, program: Program, ready_changed: Callable[[], None]) -> None:
        self.program = program
        self.ready_changed = ready_changed
        self.used_at = time.monotonic()
        source = Connections(program) if program.launch.mode == "socket" else Processes(program)
        self._places = Places(program, source, self)
        self._waiters = Waiters(self._pick)
        self._running = 0
        self._closing = False

    @property
    def busy(self) -> bool:
        return self._running > 0

    @property
    def not_ready_reason(self) -> str:
        """Why the kind should get no tasks now; "" when it should."""
        return self._places.not_ready_reason

    async def run(self, request: ReactionRequest, program: Program) -> BridgeResult:
        """Run one request under its own settings. Raises ConfigError or a TaskFailure when nobody can take it."""
        self._running += 1
        self.used_at = time.monotonic()
        try:
            for alone in (False, True):
                peer = await self._acquire(request, alone)
                result = await peer.ask(request, program)
                if not isinstance(result, Lost):
                    return result
            text = "the program's answers can't be told apart"
            raise Retry(
                text, reason="BadResponse", code="lost", hint="echo the request's id in each answer, answer once"
            )
        finally:
            self._running -= 1
            self.used_at = time.monotonic()

    def start(self) -> None:
        """Let the program run before the first request comes, the one that its file holds now."""
        self._places.look_for_change()
        self._places.start()

    def tell_config(self, settings: RawJson | None) -> None:
        """Hand new settings of the kind to all that asked for them."""
        for peer in (*self._places.working, *self._places.spares):
            peer.tell_config(settings)

    def view(self, *, default: bool) -> PoolView:
        places = self._places
        return PoolView(
            default=default,
            wanted=self.program.launch.processes,
            running=len(places.working),
            spares=len(places.spares),
            restarts=places.restarts,
            in_flight=sum(peer.load for peer in places.working),
            waiting=len(self._waiters),
            breaker_open=places.breaker_open,
            processes=tuple(peer.view() for peer in (*places.working, *places.spares)),
        )

    async def close(self) -> None:
        """Give waiting and running requests back, ask every peer to end, and wait until they did."""
        self._closing = True
        self._waiters.fail(_stopped())
        await self._places.close(_stopped())

    # ---- room for requests ----

    async def _acquire(self, request: ReactionRequest, alone: bool) -> Peer:
        """Room in a peer; one that retired between the grant and now is given back."""
        while True:
            peer = await self._room(request, alone)
            if not peer.retired:
                return peer
            peer.unreserve()

    async def _room(self, request: ReactionRequest, alone: bool) -> Peer:
        if self._closing:
            raise _stopped()
        self._places.look_for_change()
        self._places.start()
        if not self._waiters:
            peer = self._pick(alone)
            if peer is not None:
                peer.reserve(alone=alone)
                return peer
        if self._places.deserted:
            raise Released(self.not_ready_reason, reason="NotReady", code="kind_not_ready")
        return await self._waiters.wait(alone, request.deadline)

    def _pick(self, alone: bool) -> Peer | None:
        """The free peer with the least to do, among those that want work if any does."""
        willing = [peer for peer in self._places.working if peer.ready.ready]
        chosen: Peer | None = None
        for peer in willing or self._places.working:
            if peer.free and (chosen is None or peer.load < chosen.load):
                chosen = peer
        return None if chosen is None or (alone and chosen.load) else chosen

    # ---- what the places report ----

    def freed(self) -> None:
        self._waiters.serve()

    def unavailable(self, failure: StdworkerError) -> None:
        self._waiters.fail(failure)


def _stopped() -> Released:
    return Released("the program is being stopped", reason="ShuttingDown", code="shutting_down")
