"""A worker against a broker that knows the extensions, and against one that knows only the base contract."""

import asyncio
import threading

import pytest

from stdworker.errors import Released, Retry, Terminal
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.testing import make_request
from stdworker.wire.convert_task import encode_task
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker import session

BOTH = pytest.mark.parametrize("peer", [{}, {"extensions": ()}], ids=["extensions", "base"])
THING = KindVersion("thing")


def a_task(**parts):
    return make_request(THING, **parts)


@BOTH
def test_a_task_comes_back_as_a_result_that_echoes_its_lease(play, noop, peer):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        lease = await stream.send_task(a_task(name="ada"))
        result = await stream.result(lease)
        return result, lease, stream.results

    result, lease, (complete,) = play(scenario, **peer)
    assert result.outcome.status == b'{"done":"ada"}'
    assert (complete.lease_token, complete.claim_epoch, complete.stage) == (*lease, pb.STAGE_WORK)


def test_the_first_frame_says_what_is_served_in_sorted_order(play, noop):
    async def scenario(ground):
        ground.serve(noop("vm", version=2), noop("disk"), noop("vm"), max_parallel=7)
        return (await ground.stream()).subscribe

    subscribe = play(scenario)
    assert list(zip(subscribe.kinds, subscribe.kind_versions, strict=True)) == [("disk", 1), ("vm", 1), ("vm", 2)]
    assert list(subscribe.pair_inflight) == [7, 7, 7]
    assert subscribe.max_inflight == 21
    assert subscribe.worker_info.pid
    assert subscribe.worker_info.version


def test_a_ceiling_is_what_subscribe_asks_for_in_all(play, noop):
    async def scenario(ground):
        ground.serve(noop("a"), noop("b"), max_total=3)
        return (await ground.stream()).subscribe.max_inflight

    assert play(scenario) == 3


def test_a_provider_with_a_credit_of_its_own_takes_no_more(play, noop):
    async def scenario(ground):
        provider = noop()
        provider.credit = 2
        ground.serve(provider)
        stream = await ground.stream()
        provider.credit = 5
        await stream.until(lambda: ("thing@1", True, 5) in stream.interests)
        return list(stream.subscribe.pair_inflight)

    assert play(scenario) == [2]


def test_batches_are_used_both_ways_with_a_broker_that_knows_them(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        leases = await stream.send_tasks([a_task() for _ in range(50)])
        for lease in leases:
            await stream.result(lease)
        return [len(frame.completes.completes) for frame in stream.frames if frame.HasField("completes")]

    assert max(play(scenario)) > 1


def test_while_many_tasks_run_a_result_waits_for_company(play, noop, monkeypatch):
    monkeypatch.setattr(session, "PATIENCE", 1e9)
    monkeypatch.setattr(session, "PATIENCE_SECONDS_MAX", 60.0)

    async def scenario(ground):
        gates = {f"r{n}": asyncio.Event() for n in range(2 * session.COMPANY)}

        started = []

        async def work(request):
            started.append(request)
            await gates[request.resource.name].wait()
            return Outcome()

        ground.serve(noop(work=work))
        stream = await ground.stream()
        leases = [await stream.send_task(a_task(name=name)) for name in gates]
        await stream.until(lambda: len(started) == len(gates))
        for gate in list(gates.values())[: session.COMPANY]:
            gate.set()
            await asyncio.sleep(0)
        for lease in leases[: session.COMPANY]:
            await stream.result(lease)
        return [len(frame.completes.completes) for frame in stream.frames if frame.HasField("completes")]

    frames = play(scenario)
    assert sum(frames) == session.COMPANY
    assert len(frames) <= 2  # two when a heartbeat took the first ones along


def test_the_more_tasks_run_the_more_company_a_result_waits_for(play, noop, monkeypatch):
    monkeypatch.setattr(session, "PATIENCE", 1e9)
    monkeypatch.setattr(session, "PATIENCE_SECONDS_MAX", 60.0)
    count, done = 100, 100 // session.COMPANY_SHARE

    async def scenario(ground):
        gates = [asyncio.Event() for _ in range(count)]
        started = []

        async def work(request):
            started.append(request)
            await gates[len(started) - 1].wait()
            return Outcome()

        ground.serve(noop(work=work), max_parallel=count)
        stream = await ground.stream()
        leases = await stream.send_tasks([a_task() for _ in range(count)])
        await stream.until(lambda: len(started) == count)
        for gate in gates[:done]:
            gate.set()
            await asyncio.sleep(0)
        for lease in leases[:done]:
            await stream.result(lease)
        return [len(frame.completes.completes) for frame in stream.frames if frame.HasField("completes")]

    assert max(play(scenario)) > session.COMPANY


def test_a_base_broker_gets_single_results_and_no_extension_frames(play, noop):
    async def scenario(ground):
        def work(request):
            request.progress(0.5, "half")
            return Outcome()

        ground.serve(noop(work=work))
        stream = await ground.stream()
        for lease in [await stream.send_task(a_task()) for _ in range(20)]:
            await stream.result(lease)
        return {frame.WhichOneof("body") for frame in stream.frames}

    assert play(scenario, extensions=()) <= {"subscribe", "complete", "heartbeat", "interest"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: setattr(m, "kind", "cloud"), "cloud@1"),
        (lambda m: setattr(m, "kind_version", 9), "thing@9"),
        (lambda m: setattr(m, "stage", 99), "99"),
        (lambda m: m.ClearField("reaction"), "reaction"),
        (lambda m: m.ClearField("work_req"), "work_req"),
    ],
)
def test_a_task_that_makes_no_sense_is_terminal_and_names_what_is_wrong(play, noop, change, named):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        lease = ground.broker.new_lease()
        message = encode_task(lease, a_task())
        change(message)
        await stream.send(pb.WorkStreamServerMsg(task=message))
        result = await stream.result(lease)
        return result.failure, message.stage, stream.results[0].stage

    failure, sent, echoed = play(scenario)
    assert isinstance(failure, Terminal)
    assert named in failure.message
    assert sent == echoed


@BOTH
def test_a_deadline_is_answered_at_once_although_the_provider_goes_on(play, noop, peer):
    release = threading.Event()

    async def scenario(ground):
        ground.serve(noop(work=lambda request: release.wait(30)))
        stream = await ground.stream()
        try:
            result = await stream.run(a_task(), deadline_ms=20)
        finally:
            release.set()
        again = await stream.run(a_task())
        return result.failure, again.outcome, len(stream.results)

    failure, again, results = play(scenario, **peer)
    assert isinstance(failure, Retry)
    assert "deadline" in failure.message
    assert again is None or again.status is None
    assert results == 2


def test_the_deadline_runs_from_receipt_also_in_the_queue(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), max_parallel=1)
        stream = await ground.stream()
        first = await stream.send_task(a_task(), deadline_ms=0)
        second = await stream.send_task(a_task(), deadline_ms=1)
        await stream.until(lambda: len(stream.heartbeats) > 1)
        release.set()
        return await stream.result(first), await stream.result(second)

    first, second = play(scenario)
    assert first.failure is None
    assert "deadline" in second.failure.message


@BOTH
def test_heartbeats_name_every_task_running_and_queued_and_are_empty_when_idle(play, noop, peer):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop(work=work), max_parallel=1)
        stream = await ground.stream()
        await stream.until(lambda: [] in stream.heartbeats)
        leases = [await stream.send_task(a_task()) for _ in range(3)]
        tokens = [lease.token for lease in leases]
        await stream.until(lambda: tokens in stream.heartbeats)
        release.set()
        for lease in leases:
            await stream.result(lease)
        seen = len(stream.heartbeats)
        await stream.until(lambda: [] in stream.heartbeats[seen:])

    play(scenario, **peer)


def test_a_blocking_provider_does_not_stall_heartbeats(play, noop):
    release = threading.Event()

    async def scenario(ground):
        ground.serve(noop(work=lambda request: release.wait(30)))
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.until(lambda: sum([lease.token] == beat for beat in stream.heartbeats) >= 3)
        release.set()
        await stream.result(lease)

    play(scenario)


def test_progress_is_told_with_the_latest_word_only(play, noop):
    async def scenario(ground):
        release = threading.Event()

        def work(request):
            for step in range(100):
                request.progress(step / 100, f"step {step}")
            release.wait(10)

        ground.serve(noop(work=work))
        stream = await ground.stream()
        lease = await stream.send_task(a_task())

        def told():
            return [frame.progress for frame in stream.frames if frame.HasField("progress")]

        await stream.until(lambda: any(progress.message == "step 99" for progress in told()))
        release.set()
        await stream.result(lease)
        return told()

    told = play(scenario)
    assert told[-1].fraction == pytest.approx(0.99)
    assert len(told) < 50


def test_a_result_over_the_message_limit_is_terminal_and_names_both_sizes(play, noop):
    async def work(request):
        return Outcome(status="x" * 50_000)

    async def scenario(ground):
        ground.serve(noop(work=work), message_bytes_max=10_000)
        stream = await ground.stream()
        return (await stream.run(a_task())).failure

    failure = play(scenario)
    assert isinstance(failure, Terminal)
    assert failure.reason == "ResultTooLarge"
    assert "50" in failure.message
    assert "10000" in failure.message


def test_a_status_of_20_mib_passes(play, noop):
    async def work(request):
        return Outcome(status=request.resource.spec)

    async def scenario(ground):
        ground.serve(noop(work=work))
        stream = await ground.stream()
        return (await stream.run(a_task(spec="x" * (20 << 20)))).outcome.status

    assert len(play(scenario)) == (20 << 20) + 2


@pytest.mark.parametrize("limits", [{"max_parallel": 2}, {"max_total": 2}], ids=["pair", "ceiling"])
def test_no_more_tasks_run_than_the_limit_allows(play, noop, limits):
    async def scenario(ground):
        running, most = set(), []
        release = asyncio.Event()

        async def work(request):
            running.add(request.resource.name)
            most.append(len(running))
            await release.wait()
            running.discard(request.resource.name)

        ground.serve(noop(work=work), **limits)
        stream = await ground.stream()
        leases = [await stream.send_task(a_task(name=f"r{n}")) for n in range(6)]
        await stream.until(lambda: len(most) == 2)
        release.set()
        for lease in leases:
            await stream.result(lease)
        return max(most), len(most)

    assert play(scenario) == (2, 6)


def test_a_pair_that_is_full_never_holds_up_another(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            await release.wait()

        ground.serve(noop("slow", work=work), noop("quick"), max_parallel=1)
        stream = await ground.stream()
        slow = [await stream.send_task(make_request(KindVersion("slow"))) for _ in range(5)]
        await stream.run(make_request(KindVersion("quick")))
        await stream.send_config(KindVersion("quick"), make_request(THING, config={"a": 1}).default)
        assert (await stream.run(make_request(KindVersion("quick")))).failure is None
        release.set()
        for lease in slow:
            await stream.result(lease)

    play(scenario)


def test_below_the_ceiling_lanes_take_turns(play, noop):
    async def scenario(ground):
        order = []

        async def work(request):
            order.append(request.kind.kind)
            await asyncio.sleep(0)

        ground.serve(noop("a", work=work), noop("b", work=work), max_total=1)
        stream = await ground.stream()
        requests = [make_request(KindVersion(kind)) for kind in "aaabbb"]
        for lease in await stream.send_tasks(requests):
            await stream.result(lease)
        return order

    assert play(scenario)[:4].count("b") >= 1


@BOTH
def test_a_second_delivery_of_a_running_lease_is_ignored(play, noop, peer):
    async def scenario(ground):
        release = asyncio.Event()
        started = []

        async def work(request):
            started.append(request.resource.name)
            await release.wait()

        ground.serve(noop(work=work))
        stream = await ground.stream()
        lease = await stream.send_task(a_task(name="one"))
        await stream.send_task(a_task(name="one"), lease=lease)
        other = await stream.send_task(a_task(name="other"))
        await stream.until(lambda: "other" in started)
        release.set()
        await stream.result(other)
        await stream.result(lease)
        return started, len(stream.results)

    assert play(scenario, **peer) == (["one", "other"], 2)


def test_a_lease_that_comes_again_after_its_result_runs_the_next_stage(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.result(lease)
        await stream.send_task(make_request(THING, stage="rollup"), lease=lease)
        await stream.until(lambda: len(stream.results) == 2)
        return [complete.stage for complete in stream.results]

    assert play(scenario, extensions=()) == [pb.STAGE_WORK, pb.STAGE_ROLLUP]


def test_a_cancelled_task_is_stopped_and_released(play, noop):
    async def scenario(ground):
        async def work(request):
            await asyncio.sleep(60)

        ground.serve(noop(work=work))
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.send_cancel(lease, "superseded")
        return (await stream.result(lease)).failure

    failure = play(scenario)
    assert isinstance(failure, Released)
    assert "superseded" in failure.message


def test_a_task_cancelled_in_the_queue_is_released_without_running(play, noop):
    async def scenario(ground):
        release = asyncio.Event()
        started = []

        async def work(request):
            started.append(request.resource.name)
            await release.wait()

        ground.serve(noop(work=work), max_parallel=1)
        stream = await ground.stream()
        running = await stream.send_task(a_task(name="running"))
        queued = await stream.send_task(a_task(name="queued"))
        await stream.send_cancel(queued)
        failure = (await stream.result(queued)).failure
        release.set()
        await stream.result(running)
        return failure, started

    failure, started = play(scenario)
    assert isinstance(failure, Released)
    assert started == ["running"]


def test_a_cancel_of_a_lease_that_nobody_holds_is_ignored(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        await stream.send_cancel(ground.broker.new_lease())
        return (await stream.run(a_task())).failure

    assert play(scenario) is None


def test_hooks_see_each_task_start_and_end_and_may_fail(play, noop):
    class Observer:
        def __init__(self):
            self.seen = []

        def task_started(self, task):
            self.seen.append(("started", task.request.resource.name))
            raise RuntimeError("a bad hook")

        def task_finished(self, task, result):
            self.seen.append(("finished", result.outcome.status))
            raise RuntimeError("a bad hook")

    observer = Observer()

    async def scenario(ground):
        ground.serve(noop(), observer=observer)
        return (await (await ground.stream()).run(a_task(name="ada"))).failure

    assert play(scenario) is None
    assert observer.seen == [("started", "ada"), ("finished", {"done": "ada"})]


def test_progress_is_kept_from_a_broker_that_knows_the_base_contract_only(play, noop):
    async def scenario(ground):
        ground.serve(noop(work=lambda request: request.progress(0.5, "half way")))
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        failure = (await stream.result(lease)).failure
        beats = len(stream.heartbeats)
        await stream.until(lambda: len(stream.heartbeats) > beats + 2)
        return failure, {frame.WhichOneof("body") for frame in stream.frames}

    assert play(scenario, extensions=()) == (None, {"subscribe", "complete", "heartbeat"})
