"""Tasks, the requests in them, and the results that settle them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from stdworker.errors import TaskFailure
from stdworker.model.config import ProviderConfig, effective_bundle, effective_config, merge
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Operation, Resource

T = TypeVar("T")

_NO_CONFIG = ProviderConfig()
_CREATION = threading.Lock()


class Lease(NamedTuple):
    """The right to run one stage of one resource: an unguessable token and the epoch of its claim."""

    token: str
    epoch: int


def _no_progress(fraction: float | None, message: str) -> None:
    return None


class Transcript(Protocol):
    """Who writes down what a program is sent for a request, and what it says."""

    def sent(self, line: bytes) -> None: ...

    def received(self, line: bytes, redact: Callable[[str], str]) -> None: ...


@dataclass(slots=True)
class ReactionRequest:
    """One reaction to run on one resource.

    `kind` is the kind that the provider serves; `resource` is the resource, which for a reactor is the
    watched one. `deadline` is an instant of `time.monotonic()`, None when there is no limit.
    """

    stage: Stage
    trigger: Trigger
    reaction: str
    kind: KindVersion
    resource: Resource
    observed: Sequence[Resource] = ()
    descendants: Sequence[Resource] = ()
    operation: Operation | None = None
    transition: Transition | None = None
    dedup_token: str = ""
    default: ProviderConfig = _NO_CONFIG
    override: ProviderConfig = _NO_CONFIG
    deadline: float | None = None
    report_progress: Callable[[float | None, str], None] = _no_progress
    transcript: Transcript | None = field(default=None, repr=False, compare=False)
    _cancelled: threading.Event | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def cancelled(self) -> threading.Event:
        """Set when nobody waits for the outcome any more; for sync work to look at, or to wait for."""
        if self._cancelled is None:  # most tasks never ask, and an event costs as much as the rest of a request
            with _CREATION:
                self._cancelled = self._cancelled or threading.Event()
        return self._cancelled

    @property
    def finalizer(self) -> str:
        """What the success of a delete strips; "" when the resource carries none or several."""
        return self.resource.finalizers[0] if len(self.resource.finalizers) == 1 else ""

    @property
    def config_json(self) -> RawJson | None:
        """The effective config, verbatim."""
        return merge(self.default.spec, self.override.spec)

    @overload
    def config(self) -> Any: ...
    @overload
    def config(self, into: type[T]) -> T: ...
    def config(self, into: Any = None) -> Any:
        """The effective config (default ⊕ override); see `effective_config`."""
        return effective_config(self.default.spec, self.override.spec, into)

    def bundle(self) -> bytes | None:
        """The effective bundle: the override's, else the default's."""
        return effective_bundle(self.default.bundle, self.override.bundle)

    def progress(self, fraction: float | None = None, message: str = "") -> None:
        """Tell the engine how far this task is; `fraction` from 0 to 1. Safe from any thread."""
        self.report_progress(fraction, message)


@dataclass(slots=True)
class Task:
    """A leased request, as a worker holds it."""

    lease: Lease
    stage: Stage
    kind: KindVersion
    request: ReactionRequest


@dataclass(slots=True)
class Result:
    """How a task ended: an outcome or a failure, never both."""

    outcome: Outcome | None = None
    failure: TaskFailure | None = None


@runtime_checkable
class Provider(Protocol):
    """What serves a kind. Each method may be sync (run in a thread) or async (run on the loop).

    `on_config` is called once at start, also without config, then whenever the default changed; never
    concurrently. `ready` is polled every two seconds.

    A provider may have more: `credit`, how many tasks it runs at once (None: as many as the worker allows);
    `readiness_reason`, a text for when it isn't ready; `on_ready_change`, set by the worker and to be called,
    from any thread, when `ready` may answer something else; `counters`, a dataclass of numbers for the metrics;
    `view()`, a dataclass that `stdworker status` shows; and `close()`, awaited at the end of the drain.
    """

    @property
    def kind(self) -> KindVersion: ...

    def work(self, request: ReactionRequest) -> Outcome | Awaitable[Outcome | None] | None: ...

    def on_config(self, config: ProviderConfig) -> Awaitable[None] | None: ...

    def ready(self) -> bool | Awaitable[bool]: ...
