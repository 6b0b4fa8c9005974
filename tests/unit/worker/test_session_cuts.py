"""Connections cut at every point: nothing is lost, nothing is settled twice."""

import asyncio
import logging
from dataclasses import replace

import pytest

from stdworker.errors import Released
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.model.task import Lease
from stdworker.testing import make_request
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.pace import Backoff

BOTH = pytest.mark.parametrize("peer", [{}, {"extensions": ()}], ids=["extensions", "base"])
THING = KindVersion("thing")


def a_task(**parts):
    return make_request(THING, **parts)


def resumed(stream):
    return [Lease(task.lease_token, task.claim_epoch) for task in stream.subscribe.resumed]


class Gate:
    """A provider's work that waits until the test opens it."""

    def __init__(self):
        self.started = []
        self.open = asyncio.Event()

    async def work(self, request):
        self.started.append(request.resource.name)
        await self.open.wait()
        return Outcome(status=request.resource.name)


@BOTH
def test_cut_before_subscribe_was_taken(play, noop, peer):
    async def scenario(ground):
        ground.broker.cut_at("subscribe")
        ground.serve(noop())
        stream = await ground.stream()
        return (await stream.run(a_task())).failure

    assert play(scenario, **peer) is None


@BOTH
def test_cut_while_tasks_run_and_wait(play, noop, peer):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work), max_parallel=1)
        old = await ground.stream()
        leases = [await old.send_task(a_task(name=f"r{n}")) for n in range(3)]
        await old.until(lambda: any(len(beat) == 3 for beat in old.heartbeats))
        old.cut()
        new = await ground.stream(1)
        listed = resumed(new)
        gate.open.set()
        results = [await new.result(lease) for lease in leases]
        return leases, listed, [r.outcome.status for r in results], gate.started, old.results

    leases, listed, statuses, started, lost = play(scenario, **peer)
    assert listed == leases
    assert statuses == [b'"r0"', b'"r1"', b'"r2"']
    assert started == ["r0", "r1", "r2"]
    assert lost == []


@BOTH
def test_heartbeats_go_on_for_resumed_tasks(play, noop, peer):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.until(lambda: bool(gate.started) or [lease.token] in old.heartbeats)
        old.cut()
        new = await ground.stream(1)
        await new.until(lambda: [lease.token] in new.heartbeats)
        gate.open.set()
        await new.result(lease)

    play(scenario, **peer)


@BOTH
def test_cut_instead_of_taking_the_result(play, noop, peer):
    async def scenario(ground):
        ground.broker.cut_at("complete")
        ground.serve(noop())
        old = await ground.stream()
        lease = await old.send_task(a_task(name="ada"))
        new = await ground.stream(1)
        result = await new.result(lease)
        return old.results, resumed(new), lease, result.outcome.status

    lost, listed, lease, status = play(scenario, **peer)
    assert lost == []
    assert listed == [lease]
    assert status == b'{"done":"ada"}'


def test_a_result_that_was_written_but_not_settled_is_sent_again(play, noop):
    async def scenario(ground):
        ground.broker.settles = False
        ground.serve(noop())
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.result(lease)
        await old.until(lambda: [lease.token] in old.heartbeats)
        old.cut()
        new = await ground.stream(1)
        await new.result(lease)
        await new.settle(lease)
        await new.until(lambda: [] in new.heartbeats)
        new.cut()
        return resumed(await ground.stream(2))

    assert play(scenario) == []


def test_to_a_base_broker_a_young_result_is_sent_again_and_an_old_one_is_not(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        old = await ground.stream()
        settled = await old.send_task(a_task())
        await old.result(settled)
        beats = len(old.heartbeats)
        await old.until(lambda: len(old.heartbeats) > beats + 8)  # the stream outlives settle_seconds
        young = await old.send_task(a_task())
        await old.result(young)
        old.cut()
        new = await ground.stream(1)
        await new.result(young)
        return resumed(new), young

    listed, young = play(scenario, extensions=())
    assert listed == [young]


def test_results_that_come_while_nobody_listens_are_kept(play, noop):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        leases = [await old.send_task(a_task()) for _ in range(5)]
        await old.until(lambda: any(len(beat) == 5 for beat in old.heartbeats))
        await ground.broker.stop()
        gate.open.set()
        await ground.broker.start()
        new = await ground.stream(1)
        for lease in leases:
            await new.result(lease)
        return resumed(new) == leases

    assert play(scenario)


def test_a_resumed_lease_that_the_broker_refuses_is_stopped(play, noop):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.until(lambda: [lease.token] in old.heartbeats)
        old.cut()
        new = await ground.stream(1)
        await new.send_cancel(lease, "claimed by another worker")
        return (await new.result(lease)).failure

    assert isinstance(play(scenario), Released)


def test_a_cancel_of_a_result_that_waits_to_be_settled_means_that_it_is(play, noop):
    async def scenario(ground):
        ground.broker.settles = False
        ground.serve(noop())
        stream = await ground.stream()
        lease = await stream.send_task(a_task())
        await stream.result(lease)
        await stream.send_cancel(lease)
        beats = len(stream.heartbeats)
        await stream.until(lambda: [] in stream.heartbeats[beats:])
        return len(stream.results)

    assert play(scenario) == 1


@BOTH
def test_a_broker_that_ends_the_stream_in_order_is_dialled_again(play, noop, peer):
    async def scenario(ground):
        ground.serve(noop())
        (await ground.stream()).end()
        return (await (await ground.stream(1)).run(a_task())).failure

    assert play(scenario, **peer) is None


def test_a_broker_is_dialled_until_it_is_back_with_one_line_in_the_log(play, noop, caplog):
    caplog.set_level(logging.INFO, "stdworker.worker")

    async def scenario(ground):
        ground.serve(noop())
        old = await ground.stream()
        ground.broker.refuses = True
        old.cut()
        await ground.broker.until(lambda: ground.broker.refused >= 3)
        ground.broker.refuses = False
        await (await ground.stream(1)).run(a_task())

    play(scenario)
    assert sum("no broker" in record.message for record in caplog.records) == 1
    assert sum("connected" in record.message for record in caplog.records) == 2


def test_a_worker_waits_for_its_first_broker(play, noop, logged):
    async def scenario(ground):
        await ground.broker.stop()
        ground.serve(noop())
        await logged("no broker")
        await ground.broker.start()
        return (await (await ground.stream()).run(a_task())).failure

    assert play(scenario) is None


def test_a_broker_that_promised_to_be_alive_and_falls_silent_is_left(play, noop):
    async def scenario(ground):
        ground.pace = replace(ground.pace, silence_seconds=0.2)
        ground.serve(noop())
        old = await ground.stream()
        await ground.stream(1)
        await old.until(old.ended.is_set)

    play(scenario)


def test_alive_frames_keep_a_session(play, noop):
    async def scenario(ground):
        ground.pace = replace(ground.pace, silence_seconds=0.2)
        ground.serve(noop())
        stream = await ground.stream()
        for beat in range(12):  # three times the silence that would end it
            await stream.send(pb.WorkStreamServerMsg(alive=pb.Alive()))
            await stream.until(lambda beat=beat: len(stream.heartbeats) > beat)
        return len(ground.broker.streams)

    assert play(scenario) == 1


def test_a_base_broker_that_answers_no_pull_is_left(play, noop):
    async def scenario(ground):
        ground.pace = replace(ground.pace, pull_base_seconds=0.05, pull_answer_seconds=0.1)
        ground.serve(noop())
        await ground.stream()
        ground.broker.pulls_wait_for = asyncio.Event()
        await ground.stream(1)
        ground.broker.pulls_wait_for.set()

    play(scenario, extensions=())


def test_when_a_broker_drains_the_worker_moves_with_its_tasks(play, noop):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        lease = await old.send_task(a_task(name="ada"))
        await old.until(lambda: [lease.token] in old.heartbeats)
        await old.send(pb.WorkStreamServerMsg(drain=pb.Drain(reason="rolling update")))
        new = await ground.stream(1)
        still_open = not old.half_closed
        await old.until(lambda: old.half_closed)
        gate.open.set()
        result = await new.result(lease)
        return resumed(new) == [lease], still_open, result.outcome.status, old.results

    assert play(scenario) == (True, True, b'"ada"', [])


def test_while_no_other_broker_takes_it_a_worker_stays_with_the_one_that_drains(play, noop):
    async def scenario(ground):
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.until(lambda: [lease.token] in old.heartbeats)
        ground.broker.refuses = True
        await old.send(pb.WorkStreamServerMsg(drain=pb.Drain()))
        await ground.broker.until(lambda: ground.broker.refused >= 2)
        gate.open.set()
        await old.result(lease)
        ground.broker.refuses = False
        new = await ground.stream(1)
        return (await new.run(a_task())).failure

    assert play(scenario) is None


def test_a_result_the_draining_broker_did_not_settle_goes_to_the_next(play, noop):
    async def scenario(ground):
        ground.broker.settles = False
        ground.serve(noop())
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.result(lease)
        await old.send(pb.WorkStreamServerMsg(drain=pb.Drain()))
        new = await ground.stream(1)
        await new.result(lease)
        await new.settle(lease)
        await old.until(lambda: old.half_closed)

    play(scenario)


def test_the_hurry_ends_when_the_broker_no_longer_keeps_the_leases(play, noop, monkeypatch):
    dials = []
    after = Backoff.next

    def note(self, *, hurried):
        dials.append(hurried)
        return after(self, hurried=hurried)

    monkeypatch.setattr(Backoff, "next", note)

    async def scenario(ground):
        ground.pace = replace(ground.pace, hurry_for_seconds=0.2)
        gate = Gate()
        ground.serve(noop(work=gate.work))
        old = await ground.stream()
        lease = await old.send_task(a_task())
        await old.until(lambda: [lease.token] in old.heartbeats)
        ground.broker.refuses = True
        old.cut()
        await ground.broker.until(lambda: dials.count(False) >= 2)
        ground.broker.refuses = False
        gate.open.set()
        await (await ground.stream(1)).result(lease)

    play(scenario)
    assert dials[0] is True
    assert dials == sorted(dials, reverse=True)
