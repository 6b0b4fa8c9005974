"""Whatever a provider does, one result comes out."""

import asyncio
import threading
import time

import pytest

from stdworker.errors import ConfigError, JsonError, Released, Retry, StdworkerError, Terminal
from stdworker.host import dispatch
from stdworker.host.dispatch import Dispatcher
from stdworker.host.threads import Threads
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest


class Doing:
    """A provider whose work is one function, sync or async."""

    kind = KindVersion("thing")

    def __init__(self, work):
        self.work = work

    def on_config(self, config):
        return None

    def ready(self):
        return True


def request(stage=Stage.WORK, *, status=None, seconds=None) -> ReactionRequest:
    resource = Resource("", "thing", "one", status_json=status)
    deadline = None if seconds is None else time.monotonic() + seconds
    return ReactionRequest(stage, Trigger.SPEC_CHANGE, "work", Doing.kind, resource, deadline=deadline)


def result_of(work, of=None):
    return asyncio.run(dispatch.run(Doing(work), of or request()))


def raising(error, *, sync):
    def work(request):
        raise error

    async def work_later(request):
        await asyncio.sleep(0)
        raise error

    return work if sync else work_later


def test_async_work_runs_on_the_loop():
    async def work(request):
        return Outcome(status=threading.current_thread() is threading.main_thread())

    assert result_of(work).outcome.status is True


def test_sync_work_runs_in_a_daemon_thread():
    def work(request):
        return Outcome(status=threading.current_thread().daemon)

    assert result_of(work).outcome.status is True


def test_a_sync_function_that_returns_an_awaitable_is_awaited_on_the_loop():
    async def later():
        return Outcome(status=7)

    assert result_of(lambda request: later()).outcome.status == 7


def test_nothing_returned_is_an_empty_outcome():
    assert result_of(lambda request: None).outcome == Outcome()


def test_anything_but_an_outcome_is_terminal():
    failure = result_of(lambda request: {"status": 1}).failure
    assert isinstance(failure, Terminal)
    assert "dict" in failure.message


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    ("error", "verdict", "reason", "told"),
    [
        (Terminal("no", reason="Never"), Terminal, "Never", "no"),
        (Retry("later", after=3), Retry, "", "later"),
        (Released("not mine"), Released, "", "not mine"),
        (ConfigError("is missing", path="/region"), Terminal, "BadConfig", "/region: is missing"),
        (JsonError("not JSON"), Terminal, "BadResponse", "not JSON"),
        (StdworkerError("hm", hint="do that"), Retry, "", "hm"),
        (ValueError("bad thing"), Retry, "ValueError", "ValueError: bad thing"),
        (KeyError(), Retry, "KeyError", "KeyError"),
        (SystemExit(3), Retry, "SystemExit", "SystemExit: 3"),
        (KeyboardInterrupt(), Retry, "KeyboardInterrupt", "KeyboardInterrupt"),
        (asyncio.CancelledError(), Retry, "CancelledError", "CancelledError"),
    ],
)
def test_the_table_of_verdicts(error, verdict, reason, told, sync):
    failure = result_of(raising(error, sync=sync)).failure
    assert type(failure) is verdict
    assert reason in failure.reason
    assert told in failure.message


def test_a_stray_stop_iteration_is_a_crash_like_any_other():
    assert result_of(raising(StopIteration(), sync=True)).failure.reason == "StopIteration"


def test_a_crash_names_the_places_but_not_the_hosts_own():
    failure = result_of(raising(ValueError("bad"), sync=True)).failure
    assert "test_dispatch.py" in failure.message
    assert "in work" in failure.message
    assert "dispatch.py:" not in failure.message.replace("test_dispatch.py:", "")


def test_a_crash_message_is_bounded():
    failure = result_of(raising(ValueError("x" * 1_000_000), sync=True)).failure
    assert len(failure.message) < 10_000


def test_an_exception_whose_text_cannot_be_made_is_still_a_verdict():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert "Mute" in result_of(raising(Mute(), sync=True)).failure.message


def test_a_single_failure_in_a_task_group_is_the_verdict():
    async def work(request):
        async with asyncio.TaskGroup() as group:
            group.create_task(raising(Terminal("no"), sync=False)(request))

    assert isinstance(result_of(work).failure, Terminal)


@pytest.mark.parametrize("stage", [Stage.WORK, Stage.ROLLUP])
def test_work_and_rollup_without_a_status_echo_the_incoming_one(stage):
    result = result_of(lambda request: Outcome(), request(stage, status=RawJson(b'{"a": 1.0}')))
    assert result.outcome.status == b'{"a": 1.0}'


def test_the_other_stages_do_not_echo():
    assert result_of(lambda request: None, request(Stage.REACT, status=RawJson(b"1"))).outcome.status is None


def test_a_shared_outcome_is_not_changed_by_the_echo():
    shared = Outcome()
    result_of(lambda request: shared, request(status=RawJson(b"1")))
    assert shared.status is None


@pytest.mark.parametrize("sync", [True, False])
def test_the_deadline_answers_at_once_although_the_provider_goes_on(sync):
    release = threading.Event()

    def block(request):
        release.wait(30)
        return Outcome(status="late")

    async def ignore(request):
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return Outcome(status="late")

    async def scenario():
        results = []
        threads = Threads()
        ended = asyncio.Event()
        running = Dispatcher(Doing(block if sync else ignore), threads).start(
            request(seconds=0.02), lambda result: (results.append(result), ended.set())
        )
        await asyncio.wait_for(ended.wait(), 10)
        assert running.ended
        release.set()
        await asyncio.gather(*(t for t in asyncio.all_tasks() if t is not asyncio.current_task()))
        threads.close()
        return results

    (result,) = asyncio.run(scenario())
    assert isinstance(result.failure, Retry)
    assert result.failure.reason == "DeadlineExceeded"


def test_work_past_its_deadline_does_not_begin():
    begun = []
    assert result_of(begun.append, request(seconds=-1)).failure.reason == "DeadlineExceeded"
    assert begun == []


def test_a_deadline_sets_cancelled_for_work_that_looks():
    def work(request):
        assert request.cancelled.wait(10)

    asked = request(seconds=0.01)
    assert result_of(work, asked).failure.reason == "DeadlineExceeded"
    assert asked.cancelled.is_set()


def cancelled(work):
    async def scenario():
        ended = asyncio.get_running_loop().create_future()
        threads = Threads()
        running = Dispatcher(Doing(work), threads).start(request(), ended.set_result)
        await asyncio.sleep(0)
        running.cancel("superseded")
        result = await asyncio.wait_for(ended, 10)
        threads.close()
        return result

    return asyncio.run(scenario())


def test_a_cancelled_async_task_is_released():
    async def work(request):
        await asyncio.sleep(60)

    failure = cancelled(work).failure
    assert isinstance(failure, Released)
    assert "superseded" in failure.message


def test_a_cancelled_task_that_ends_well_all_the_same_reports_its_outcome():
    async def work(request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return Outcome(status="done")

    assert cancelled(work).outcome.status == "done"


def test_cancelling_sync_work_waits_for_it_so_that_it_never_runs_twice():
    def work(request):
        request.cancelled.wait(10)
        return Outcome(status="ended by itself")

    assert cancelled(work).outcome.status == "ended by itself"


def test_a_provider_that_ignores_a_cancel_is_given_up(monkeypatch):
    monkeypatch.setattr(dispatch, "CANCEL_SECONDS", 0.01)
    release = threading.Event()
    try:
        failure = cancelled(lambda request: release.wait(30)).failure
    finally:
        release.set()
    assert isinstance(failure, Released)
    assert "regardless" in failure.message


def test_calls_that_were_given_up_do_not_keep_later_ones_from_running():
    release = threading.Event()

    async def scenario():
        threads = Threads()
        dispatcher = Dispatcher(Doing(lambda request: release.wait(30)), threads)
        for _ in range(10):
            dispatcher.start(request(seconds=0.001), lambda result: None)
        ended = asyncio.get_running_loop().create_future()
        Dispatcher(Doing(lambda request: Outcome(status="ran")), threads).start(request(), ended.set_result)
        try:
            return await asyncio.wait_for(ended, 10)
        finally:
            release.set()
            threads.close()

    assert asyncio.run(scenario()).outcome.status == "ran"


def test_hundreds_of_blocking_calls_run_at_once():
    async def scenario():
        threads = Threads()
        barrier = threading.Barrier(200, timeout=20)
        calls = [dispatch.call(threads, barrier.wait) for _ in range(200)]
        indexes = await asyncio.gather(*calls)
        threads.close()
        return indexes

    assert sorted(asyncio.run(scenario())) == list(range(200))


def test_beyond_the_bound_calls_wait_their_turn():
    async def scenario():
        threads = Threads(count_max=2)
        names = await asyncio.gather(
            *(dispatch.call(threads, lambda: threading.current_thread().name) for _ in range(20))
        )
        threads.close()
        return set(names)

    assert len(asyncio.run(scenario())) <= 2


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), StopIteration()])
def test_what_a_called_method_raises_arrives(error):
    def method():
        raise error

    async def scenario():
        threads = Threads()
        try:
            await dispatch.call(threads, method)
        except BaseException as raised:
            return type(raised)
        finally:
            threads.close()

    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    assert asyncio.run(scenario()) is expected
