"""Running a provider: the one place where what it does, or fails to do, becomes a result."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from stdworker.errors import Released, Retry, TaskFailure, Terminal
from stdworker.host.threads import Threads
from stdworker.host.verdict import verdict
from stdworker.model.kind import Stage
from stdworker.model.outcome import Outcome
from stdworker.model.task import Provider, ReactionRequest, Result

CANCEL_SECONDS = 30.0  # a provider that ignores a cancel is given up after this
_ECHOES = (Stage.WORK, Stage.ROLLUP)  # without a new status they keep the incoming one


class Dispatcher:
    """Runs the tasks of one provider: on the loop if its `work` is async, else in a thread."""

    def __init__(self, provider: Provider, threads: Threads) -> None:
        self.provider = provider
        self.threads = threads
        self._begin = _on_loop if inspect.iscoroutinefunction(provider.work) else _in_thread

    def start(self, request: ReactionRequest, done: Callable[[Result], None]) -> Run:
        """Begin, and later call `done` exactly once, on the loop, at `request.deadline` at the latest.

        What is past its deadline already doesn't begin.
        """
        run = Run(request, done)
        if run.in_time():
            self._begin(self, run)
        return run


async def run(provider: Provider, request: ReactionRequest) -> Result:
    """Run one task and answer its result, whatever the provider does. Cancelling this cancels the task."""
    threads = Threads()
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
    work = Dispatcher(provider, threads).start(request, lambda result: _resolve(ended, result))
    try:
        return await ended
    finally:
        work.cancel("the caller is gone")
        threads.close()


async def call(threads: Threads, method: Callable[..., Any], *arguments: Any) -> Any:
    """Call a method that may be sync (then in a thread) or async, and answer what it returns or raises."""
    if inspect.iscoroutinefunction(method):
        return await method(*arguments)
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[Any] = loop.create_future()

    def call_it() -> None:
        try:
            value = method(*arguments)
        except BaseException as error:
            _tell(loop, _fail, returned, error)
        else:
            _tell(loop, _resolve, returned, value)

    threads.submit(call_it)
    value = await returned
    return await value if inspect.isawaitable(value) else value


class Run:
    """One task that runs. Ends once: with what the provider did, at the deadline, or given up after a cancel."""

    __slots__ = ("_done", "_loop", "_timer", "_work", "cancel_reason", "request")

    def __init__(self, request: ReactionRequest, done: Callable[[Result], None]) -> None:
        self.request = request
        self.cancel_reason = ""
        self._done: Callable[[Result], None] | None = done
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._work: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        return self._done is None

    def in_time(self) -> bool:
        """Watch the deadline from now on; False if it has passed."""
        deadline = self.request.deadline
        if deadline is None:
            return True
        self._timer = self._loop.call_at(deadline, self._expire)
        return deadline > self._loop.time()

    def cancel(self, reason: str) -> None:
        """Ask the provider to stop. The result follows when it does, or after CANCEL_SECONDS without it."""
        if self.ended or self.cancel_reason:
            return
        self.cancel_reason = reason
        self._stop_provider()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(CANCEL_SECONDS, self._give_up)

    def finish(self, result: Result) -> None:
        """The first result counts; later ones are dropped."""
        if self._done is None:
            return
        done, self._done = self._done, None
        if self._timer is not None:
            self._timer.cancel()
        done(result)

    def returned(self, value: Any) -> None:
        self.finish(_judge(value, self.request))

    def raised(self, error: BaseException) -> None:
        if self.cancel_reason and isinstance(error, asyncio.CancelledError):
            failure: TaskFailure = Released(f"cancelled: {self.cancel_reason}", reason="Cancelled")
        else:
            failure = verdict(error)
        self.finish(Result(failure=failure))

    def follow(self, awaitable: Awaitable[Any]) -> None:
        self._work = self._loop.create_task(self._await(awaitable))

    async def _await(self, awaitable: Awaitable[Any]) -> None:
        try:
            value = await awaitable
        except BaseException as error:  # SystemExit and KeyboardInterrupt would end the loop
            self.raised(error)
        else:
            self.returned(value)

    def _expire(self) -> None:
        text = "the task's deadline passed before its provider was done"
        self.finish(Result(failure=Retry(text, reason="DeadlineExceeded", code="deadline_exceeded")))
        self._stop_provider()

    def _give_up(self) -> None:
        text = f"cancelled: {self.cancel_reason}; its provider goes on regardless"
        self.finish(Result(failure=Released(text, reason="Cancelled")))

    def _stop_provider(self) -> None:
        self.request.cancelled.set()
        if self._work is not None:
            self._work.cancel()


def _on_loop(dispatcher: Dispatcher, run: Run) -> None:
    run.follow(dispatcher.provider.work(run.request))  # type: ignore[arg-type]


def _in_thread(dispatcher: Dispatcher, run: Run) -> None:
    loop = run._loop
    work = dispatcher.provider.work
    context = contextvars.copy_context()

    def call_it() -> None:
        if run.ended or run.cancel_reason:  # while it waited for a thread
            _tell(loop, run.raised, asyncio.CancelledError())
            return
        try:
            value = context.run(work, run.request)
        except BaseException as error:
            _tell(loop, run.raised, error)
        else:
            _tell(loop, run.follow if inspect.isawaitable(value) else run.returned, value)

    dispatcher.threads.submit(call_it)


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., Any], *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:  # the loop is closed: nobody is left to be told
        return


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)


def _judge(value: Any, request: ReactionRequest) -> Result:
    if value is None:
        value = Outcome()
    if not isinstance(value, Outcome):
        text = f"work returned {type(value).__name__}, expected an Outcome or None"
        return Result(failure=Terminal(text, reason="BadOutcome", code="bad_outcome"))
    if value.status is None and request.stage in _ECHOES and request.resource.status_json is not None:
        value = replace(value, status=request.resource.status_json)
    return Result(outcome=value)
