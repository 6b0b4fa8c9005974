"""Who a line of a persistent program belongs to: the state of every request in one process, as a table.

                    answer            give up,            give up,           out of
                                      cancel announced    cancel unknown     patience
    ------------------------------------------------------------------------------------
    IN_FLIGHT       deliver           → CANCELLING, ask   replace            –
    CANCELLING      free              –                   –                  replace

*Deliver* hands the answer to the caller, *free* drops it (the caller was told long ago) and makes room for the
next request, *ask* sends the cancel line, *replace* retires the process. In every other cell nothing happens.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Generic, TypeVar

T = TypeVar("T")


class State(Enum):
    IN_FLIGHT = auto()
    CANCELLING = auto()


class Event(Enum):
    ANSWER = auto()
    GIVE_UP_ANNOUNCED = auto()
    GIVE_UP = auto()
    OUT_OF_PATIENCE = auto()


class Action(Enum):
    NONE = auto()
    DELIVER = auto()
    FREE = auto()
    ASK = auto()
    REPLACE = auto()


TABLE: dict[tuple[State, Event], tuple[State | None, Action]] = {
    (State.IN_FLIGHT, Event.ANSWER): (None, Action.DELIVER),
    (State.IN_FLIGHT, Event.GIVE_UP_ANNOUNCED): (State.CANCELLING, Action.ASK),
    (State.IN_FLIGHT, Event.GIVE_UP): (None, Action.REPLACE),
    (State.CANCELLING, Event.ANSWER): (None, Action.FREE),
    (State.CANCELLING, Event.OUT_OF_PATIENCE): (None, Action.REPLACE),
}


class Session(Generic[T]):
    """The requests that one process holds, each with its owner of type T.

    `doubtful` is set once a request ended without an answer of its own, or an answer came without id that no request
    waited for: from then on an answer without id could belong to another one, so it is never believed again.
    """

    def __init__(self) -> None:
        self.cancel_announced = False
        self.doubtful = False
        self._states: dict[str, State] = {}
        self._owners: dict[str, T] = {}

    def __len__(self) -> int:
        return len(self._states)

    @property
    def owners(self) -> list[T]:
        """Those whose caller still waits, oldest first."""
        return [owner for request_id, owner in self._owners.items() if self._states[request_id] is State.IN_FLIGHT]

    @property
    def held(self) -> list[T]:
        """All of them, oldest first."""
        return list(self._owners.values())

    def send(self, request_id: str, owner: T) -> None:
        self._states[request_id] = State.IN_FLIGHT
        self._owners[request_id] = owner

    def meant(self, request_id: str | None) -> str | None:
        """The request that an answer with this id, or without any, can only be for; None for nobody's."""
        if request_id is not None:
            return request_id if request_id in self._states else None
        if len(self._states) == 1 and not self.doubtful:
            return next(iter(self._states))
        return None

    def owner(self, request_id: str) -> T:
        return self._owners[request_id]

    def answer(self, request_id: str) -> Action:
        return self._step(request_id, Event.ANSWER)

    def give_up(self, request_id: str) -> Action:
        """The caller waits no longer: deadline or cancel."""
        self.doubtful = self.doubtful or request_id in self._states
        return self._step(request_id, Event.GIVE_UP_ANNOUNCED if self.cancel_announced else Event.GIVE_UP)

    def out_of_patience(self, request_id: str) -> Action:
        """The program had its grace period after a cancel line."""
        return self._step(request_id, Event.OUT_OF_PATIENCE)

    def fail(self, request_id: str | None) -> list[T]:
        """End one request, or all of them for None, without an answer; says who still waited."""
        failed = [request_id] if request_id is not None else list(self._states)
        waiting = [self._owners[each] for each in failed if self._states[each] is State.IN_FLIGHT]
        for each in failed:
            del self._states[each], self._owners[each]
        self.doubtful = self.doubtful or (request_id is None and bool(failed))
        return waiting

    def _step(self, request_id: str, event: Event) -> Action:
        state = self._states.get(request_id)
        if state is None or (state, event) not in TABLE:
            return Action.NONE
        following, action = TABLE[state, event]
        if following is None:
            del self._states[request_id], self._owners[request_id]
        else:
            self._states[request_id] = following
        return action
