"""Group commit: what arrives while a transaction runs is committed together in the next.

Calls come from the event loop and run on writer threads, one for each transaction that the database lets
write at a time. A batch that fails is run again call by call, so that each succeeds or fails alone, unless the
database can't be used: then all of it fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stdworker.engine.reconcile.clock import Clock
from stdworker.engine.reconcile.closing import Closing
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.health import Health
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.order import Order
from stdworker.engine.reconcile.positions import Positions
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.reconcile.watch import TOPICS, Hint, Watches, encode
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import catalog
from stdworker.engine.store.contract import Connection, Contended, Database
from stdworker.errors import StdworkerError, StoreUnavailable

log = logging.getLogger(__name__)

BATCH_WEIGHT_MAX = 4_000
RACES_MAX = 8
RACE_PAUSE_SECONDS = 0.005

A = TypeVar("A")


@dataclass(frozen=True, slots=True, eq=False)
class Verb(Generic[A]):
    """Something that the engine does in a transaction; a call of it is answered with an A.

    `run` takes the arguments of all calls that are made together and answers each. Verbs of one transaction
    run in the order of `rank`. `alone`: each call has a transaction of its own; `dry`: which is undone;
    `exclusive`: beside which no other writes, because all decide by what it changes; `in_turn`: of which one is
    under way at a time, in all engines. `by_actor`: its arguments begin with who asks, and what one asks for is
    written before the next is looked at.
    """

    name: str
    run: Callable[[UnitOfWork, list[Any]], Sequence[A]]
    rank: int = 0
    alone: bool = False
    dry: bool = False
    exclusive: bool = False
    in_turn: bool = False
    by_actor: bool = False

    def goes_with(self, argument: Any, other: Call) -> bool:
        """Can it be written at once with another call?"""
        return other.verb is self and not (self.by_actor and argument[0] != other.argument[0])


@dataclass(slots=True)
class Call:
    """One call of a verb, with what it weighs in a batch; nobody waits for one without an `answer`."""

    verb: Verb[Any]
    argument: Any
    weight: int
    answer: asyncio.Future[Any] | None


@dataclass(slots=True)
class Batcher:
    """The writers of one engine, and the calls that wait for them."""

    database: Database
    clock: Clock
    options: EngineOptions
    watches: Watches
    follow_up: Verb[bool]
    source: str
    """Marks what this engine announces, so that it does not listen to itself."""
    health: Health = field(default_factory=Health)
    commits: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _pending: deque[Call] = field(default_factory=deque)
    _arrived: threading.Condition = field(default_factory=threading.Condition)
    _following: bool = False
    _closed: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)
    _positions: Positions = field(default_factory=Positions)
    _kinds: Kinds = field(default_factory=Kinds)
    _now_ms: int = 0

    def start(self) -> None:
        """Raises StoreError when the database doesn't give every writer its connection."""
        for connection in self._connect():
            thread = threading.Thread(target=self._write, args=(connection,), name="engine-writer", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _connect(self) -> list[Connection]:
        with contextlib.ExitStack() as opening:
            try:
                opened = (contextlib.closing(self.database.connect()) for _ in range(self.database.writers))
                connections = [opening.enter_context(connection) for connection in opened]
            except StdworkerError:
                raise
            except Exception as error:
                raise self.database.explain(error) from error
            opening.pop_all()
        return connections

    def close(self) -> None:
        """Finish what is committed now; calls that were not started fail. `join` waits for it."""
        with self._arrived:
            self._closed = True
            self._fail_pending()
            self._arrived.notify_all()

    def join(self) -> None:
        """Wait until every writer has ended."""
        for thread in self._threads:
            thread.join()

    async def call(self, verb: Verb[A], argument: Any, weight: int = 1) -> A:
        """Have a verb run with an argument; its answer, after the commit. Raises what stood against this call alone."""
        answer: asyncio.Future[A] = self._loop.create_future()
        self._put(Call(verb, argument, weight, answer))
        return await answer

    def follow(self) -> None:
        """Have the follow-up verb run, unless it is about to."""
        with self._arrived:
            if not self._following and not self._closed:
                self._following = True
                self._put(Call(self.follow_up, None, 1, None))

    def _put(self, call: Call) -> None:
        with self._arrived:
            if self._closed:
                raise StoreUnavailable("the engine is closed", code="engine_closed")
            self._pending.append(call)
            self._arrived.notify()

    # ---- on a writer thread ----

    def _write(self, connection: Connection) -> None:
        while batch := self._take():
            try:
                self._run(connection, batch)
            except Exception:
                log.exception("a writer thread survived an error that it should not have seen")
        connection.close()

    def _take(self) -> list[Call]:
        with self._arrived:
            while not self._pending and not self._closed:
                self._arrived.wait()
            if self._closed:
                return []
            batch = self._together() if self.database.writers == 1 else self._of_one_verb()
            if batch[0].verb is self.follow_up:
                self._following = False
            return batch

    def _together(self) -> list[Call]:
        """The calls that come first, as many as may share a transaction."""
        batch = [self._pending.popleft()]
        weight = batch[0].weight
        while self._pending and not batch[0].verb.alone and not self._pending[0].verb.alone:
            weight += self._pending[0].weight
            if weight > BATCH_WEIGHT_MAX:
                break
            batch.append(self._pending.popleft())
        return batch

    def _of_one_verb(self) -> list[Call]:
        """The first call and all that ask for the same.

        Where several transactions write at a time, each locks its resources in one order and then their queue rows.
        A second verb would begin again.
        """
        first = self._pending.popleft()
        batch, weight = [first], first.weight
        if first.verb.alone:
            return batch
        others: deque[Call] = deque()
        for call in self._pending:
            fits = first.verb.goes_with(first.argument, call) and weight + call.weight <= BATCH_WEIGHT_MAX
            (batch if fits else others).append(call)
            weight += call.weight if fits else 0
        self._pending = others
        return batch

    def _fail_pending(self) -> None:
        closed = StoreUnavailable("the engine was closed before this was done", code="engine_closed")
        calls = [(call, closed) for call in self._pending]
        self._pending.clear()
        if calls:
            self._answer(calls, set())

    def _run(self, connection: Connection, batch: list[Call]) -> None:
        try:
            answers, hints, follow_up = self._transact(connection, batch)
        except Exception as error:
            told = error if isinstance(error, StdworkerError) else self.database.explain(error)
            if isinstance(told, StoreUnavailable):
                self.health.failed(told)
            elif len(batch) > 1:
                for call in batch:
                    self._run(connection, [call])
                return
            elif told is not error:
                log.error("%s failed", batch[0].verb.name, exc_info=error)
            answers, hints, follow_up = [(call, told) for call in batch], set(), False
        if follow_up:
            self.follow()
        self._answer(answers, hints)

    def _transact(self, connection: Connection, batch: list[Call]) -> tuple[list[tuple[Call, Any]], set[Hint], bool]:
        order = Order()
        for race in range(RACES_MAX):
            try:
                return self._try(connection, batch, order)
            except Exception as error:
                connection.rollback()
                if not self.database.is_retryable(error) or race == RACES_MAX - 1:
                    raise
                time.sleep(RACE_PAUSE_SECONDS * (race + 1))
        raise AssertionError("unreachable")

    def _try(
        self, connection: Connection, batch: list[Call], order: Order
    ) -> tuple[list[tuple[Call, Any]], set[Hint], bool]:
        by_verb: dict[Verb[Any], list[Call]] = {}
        for call in sorted(batch, key=lambda call: call.verb.rank):
            by_verb.setdefault(call.verb, []).append(call)
        answers: list[tuple[Call, Any]] = []
        hints: set[Hint] = set()
        follow_up = False
        self._begin(connection, batch[0].verb, order)
        kinds = self._fresh_kinds(connection)
        heard = TOPICS if self.database.shared else self.watches.heard
        closing = Closing()
        for verb, calls in by_verb.items():
            uow = UnitOfWork(connection, kinds, self._now(), self._positions, self.options, heard, closing, order)
            try:
                answers += zip(calls, verb.run(uow, [call.argument for call in calls]), strict=True)
                flush(uow)
            except Contended:
                order.need(uow.nodes, uow.tasks)
                raise
            hints |= uow.hints
            follow_up |= uow.follow_up
        closing.write(connection)
        if batch[0].verb.dry:
            connection.rollback()
            return answers, set(), False
        self.commits += connection.commit(encode(hints, self.source) if hints else "")
        # Who began to listen meanwhile may have read what was before the commit.
        hints |= {Hint(topic) for topic in self.watches.heard - heard}
        return answers, hints, follow_up

    def _begin(self, connection: Connection, verb: Verb[Any], order: Order) -> None:
        """What many wait for is taken before anything else."""
        connection.begin(exclusive=verb.exclusive)
        if verb.in_turn:
            connection.lock_rechecks()
        order.begin(connection)

    def _now(self) -> int:
        """The clock, but never backwards: what is queued now may run now."""
        self._now_ms = max(self._now_ms, self.clock.now_ms())
        return self._now_ms

    def _fresh_kinds(self, connection: Connection) -> Kinds:
        if catalog.revision(connection) != self._kinds.revision:
            self._kinds = Kinds.read(connection, self._kinds)
        return self._kinds

    def _answer(self, answers: list[tuple[Call, Any]], hints: set[Hint]) -> None:
        self._loop.call_soon_threadsafe(self._deliver, answers, hints)

    def _deliver(self, answers: list[tuple[Call, Any]], hints: set[Hint]) -> None:
        for call, result in answers:
            if call.answer is None or call.answer.done():
                continue
            if isinstance(result, Exception):
                call.answer.set_exception(result)
            else:
                call.answer.set_result(result)
        if hints:
            self.watches.publish(hints)
