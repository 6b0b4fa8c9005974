"""A worker's stream, from its first frame to its end."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from prometheus_client import REGISTRY

from stdworker.engine.broker.outbox import Outbox
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import decode_extensions

pytestmark = pytest.mark.anyio

LEAF = KindVersion("leaf")


def lease_of(task):
    return Lease(task.lease_token, task.claim_epoch)


# ---- the first frame ----


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (pb.WorkStreamClientMsg(heartbeat=pb.WorkHeartbeat()), "the first frame is heartbeat; expected Subscribe"),
        (pb.WorkStreamClientMsg(), "the first frame is empty; expected Subscribe"),
        (pb.WorkStreamClientMsg(subscribe=pb.Subscribe()), "Subscribe names no kind"),
        (pb.WorkStreamClientMsg(subscribe=pb.Subscribe(kinds=["No Kind"])), "'No Kind'"),
        (pb.WorkStreamClientMsg(subscribe=pb.Subscribe(kinds=["leaf"], kind_versions=[40_000])), "40000"),
    ],
)
async def test_a_stream_that_does_not_start_with_a_usable_subscribe_is_refused_with_the_reason(scene, message, told):
    worker = scene.worker()
    await worker.send_message(message)

    code, details = await worker.ended()

    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert told in details


async def test_a_frame_that_is_no_protobuf_ends_the_stream_with_the_reason(scene):
    worker = await scene.worker().subscribe()
    await worker.call.write(b"\xff\xff\xff\xff")

    code, details = await worker.ended()

    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "can't be decoded" in details


async def test_the_brokers_extensions_are_listed_before_anything_was_sent(scene):
    worker = scene.worker()

    listed = decode_extensions(await worker.call.initial_metadata())

    assert listed == {"batch", "cancel", "drain", "progress", "settled", "alive"}


async def test_a_version_that_is_absent_or_zero_means_version_one(scene):
    scene.engine.queue("a")
    worker = scene.worker(base=True)
    await worker.send(subscribe=pb.Subscribe(kinds=["other", "leaf"], kind_versions=[0], max_inflight=1))

    assert (await worker.task()).kind_version == 1


async def test_a_worker_is_known_by_the_name_it_gives_itself_made_fit_for_a_log(scene):
    scene.engine.queue("a")
    worker = scene.worker()
    info = pb.WorkerInfo(name="rack\n7", hostname="h", pid=1)
    await worker.send(subscribe=pb.Subscribe(kinds=["leaf"], max_inflight=1, worker_info=info))
    await worker.task()

    (session,) = scene.broker.sessions
    assert session.worker.startswith("rack?7#")


# ---- tasks and results ----


async def test_a_task_says_all_that_its_worker_must_know(scene):
    scene.engine.queue("a", spec=b'{"n": 1.0}', deadline_ms=30_000, manifest_version=7)
    worker = await scene.worker().subscribe()

    task = await worker.task()

    assert (task.kind, task.kind_version, task.stage, task.reaction) == ("leaf", 1, pb.STAGE_WORK, "work")
    assert (task.trigger, task.task_deadline_ms, task.manifest_version) == ("specChange", 30_000, 7)
    assert task.work_req.resource.name == "a"
    assert task.work_req.resource.spec == b'{"n": 1.0}'
    assert lease_of(task) in scene.engine.leases


async def test_a_worker_that_knows_only_the_base_contract_gets_single_tasks_and_nothing_else(scene):
    scene.engine.queue(*"abcde")
    worker = await scene.worker(base=True).subscribe()

    for task in await worker.tasks(5):
        await worker.complete(task, status=b"{}")
    await scene.engine.until(lambda: len(scene.engine.settled) == 5)

    assert {message.WhichOneof("body") for message in worker.received} == {"task"}


async def test_a_worker_that_knows_batches_gets_what_is_claimed_together_in_one_frame(scene):
    scene.engine.queue(*"abcde")
    worker = await scene.worker("batch").subscribe()

    await worker.tasks(5)

    assert [message.WhichOneof("body") for message in worker.received] == ["tasks"]


async def test_results_in_a_batch_are_settled_together_and_each_is_told_after_it_is_stored(scene):
    scene.engine.queue(*"abc")
    worker = await scene.worker().subscribe()
    tasks = await worker.tasks(3)

    completes = [
        pb.StageComplete(lease_token=task.lease_token, claim_epoch=task.claim_epoch, stage=task.stage, status=b"[1]")
        for task in tasks
    ]
    await worker.send(completes=pb.CompleteBatch(completes=completes))
    told = await worker.next("settled")

    assert set(told.lease_token) == {task.lease_token for task in tasks}
    assert [settlement.outcome.status for settlement in scene.engine.settled] == [b"[1]"] * 3


async def test_a_result_is_not_told_settled_while_the_store_is_away_and_is_when_it_is_back(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    scene.engine.failing = {"settle"}
    await worker.complete(task)
    await worker.send(progress=pb.TaskProgress(lease_token=task.lease_token))  # a later frame
    assert not scene.engine.settled

    scene.engine.failing = set()

    assert (await worker.next("settled")).lease_token == [task.lease_token]


@pytest.mark.parametrize(("both", "expected"), [(False, "the result can't be stored: the store failed"), (True, "")])
async def test_a_result_that_can_not_be_stored_fails_its_task_and_keeps_no_other_from_the_store(scene, both, expected):
    """Nor is anything kept from it if the failure can't be stored either: the lease expires then."""
    names = "abcdefg"
    scene.engine.queue(*names)
    worker = await scene.worker().subscribe()
    tasks = await worker.tasks(len(names))
    odd = lease_of(tasks[4])
    scene.engine.unstorable = lambda settlement: settlement.lease == odd and (both or not settlement.error)

    completes = [
        pb.StageComplete(lease_token=task.lease_token, claim_epoch=task.claim_epoch, stage=task.stage) for task in tasks
    ]
    await worker.send(completes=pb.CompleteBatch(completes=completes))
    told = await worker.next("settled")

    assert set(told.lease_token) == {task.lease_token for task in tasks}
    failed = {settlement.lease: settlement.error for settlement in scene.engine.settled}
    assert failed.pop(odd, "").startswith(expected)
    assert failed == {lease_of(task): "" for task in tasks if lease_of(task) != odd}


async def test_a_stale_result_is_told_settled_too_so_that_the_worker_may_forget_it(scene):
    worker = await scene.worker().subscribe()
    await worker.send(complete=pb.StageComplete(lease_token="long-gone", claim_epoch=3, stage=pb.STAGE_WORK))

    told = await worker.next("settled")

    assert (told.lease_token, told.claim_epoch) == (["long-gone"], [3])
    assert len(scene.engine.stale) == 1


async def test_landed_and_stale_results_are_counted_apart(scene):
    def counted(landed):
        return REGISTRY.get_sample_value("converge_results_total", {"landed": landed})

    before = counted("yes"), counted("stale")
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    for _ in range(3):
        await worker.complete(task)
        await worker.next("settled")

    assert (counted("yes"), counted("stale")) == (before[0] + 1, before[1] + 2)


@pytest.mark.parametrize("result", [{"status": b"{oops"}, {"status": b'{"a":1,"a":2}'}, {"output": b"NaN"}])
async def test_a_result_with_a_document_that_is_not_json_settles_as_a_terminal_failure(scene, result):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await worker.complete(await worker.task(), **result)
    await worker.next("settled")

    (settlement,) = scene.engine.settled
    assert settlement.terminal
    assert settlement.reason == "BadResult"
    assert "not JSON" in settlement.error


async def test_a_result_of_a_stage_that_does_not_exist_settles_as_a_terminal_failure(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    task.stage = 77
    await worker.complete(task)
    await worker.next("settled")

    (settlement,) = scene.engine.settled
    assert settlement.terminal
    assert "stage 77" in settlement.error


async def test_a_failure_arrives_with_reason_delay_and_the_status_beside_it(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    await worker.complete(task, error_message="no quota", error_reason="Quota", retry_after_ms=1_500, status=b'{"n":1}')
    await worker.next("settled")

    (settlement,) = scene.engine.settled
    assert (settlement.error, settlement.reason, settlement.retry_after_ms) == ("no quota", "Quota", 1_500)
    assert (settlement.terminal, settlement.released, settlement.outcome.status) == (False, False, b'{"n":1}')


async def test_a_task_given_back_is_settled_as_released(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await worker.complete(await worker.task(), released=True, error_message="not ready")
    await worker.next("settled")

    assert scene.engine.settled[0].released


@pytest.mark.parametrize(("told", "known"), [(0.5, 0.5), (2.0, 1.0), (-1.0, None), (float("nan"), None)])
async def test_progress_of_a_held_task_reaches_the_engine_and_of_any_other_does_not(scene, told, known):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    await worker.send(progress=pb.TaskProgress(lease_token="other", claim_epoch=1, fraction=0.1))
    await worker.send(
        progress=pb.TaskProgress(
            lease_token=task.lease_token, claim_epoch=task.claim_epoch, fraction=told, message="half"
        )
    )
    await scene.engine.until(lambda: scene.engine.progressed)

    assert scene.engine.progressed == [(lease_of(task), known, "half")]


async def test_a_task_past_its_deadline_is_failed_by_the_broker_and_cancelled(scene):
    scene.engine.queue("a", deadline_ms=10_000)
    worker = await scene.worker().subscribe()
    task = await worker.task()

    scene.pass_time(10)
    assert not scene.engine.settled  # the worker reports its deadlines itself; this is the backstop
    scene.pass_time(10)
    cancel = await worker.next("cancel")
    await worker.next("settled")

    assert cancel.lease_token == task.lease_token
    (settlement,) = scene.engine.settled
    assert (settlement.reason, settlement.terminal) == ("DeadlineExceeded", False)


async def test_a_task_too_large_for_a_message_fails_terminally_with_both_sizes(scene, monkeypatch):
    monkeypatch.setattr("stdworker.engine.broker.dispatch.MESSAGE_BYTES_MAX", 1_000)
    scene.engine.queue("big", spec=b'"' + b"x" * 2_000 + b'"')
    scene.engine.queue("small")
    worker = await scene.worker().subscribe()

    task = await worker.task()
    await scene.engine.until(lambda: scene.engine.settled)

    assert task.work_req.resource.name == "small"
    (settlement,) = scene.engine.settled
    assert settlement.terminal
    assert "1000" in settlement.error


async def test_a_task_that_can_not_be_encoded_fails_terminally_and_the_others_go_on(scene):
    scene.engine.queue("bad", "good")
    scene.engine.queues[KindVersion("leaf", 1)][0].resource.uid = "no uuid"
    worker = await scene.worker().subscribe()

    task = await worker.task()
    await scene.engine.until(lambda: scene.engine.settled)

    assert task.work_req.resource.name == "good"
    (settlement,) = scene.engine.settled
    assert (settlement.terminal, settlement.reason) == (True, "Unsendable")


async def test_a_stream_whose_frames_can_not_be_made_ends_and_the_log_says_why(scene, monkeypatch, caplog):
    def broken(outbox):
        raise ZeroDivisionError

    worker = await scene.worker().subscribe()
    scene.engine.queue("a")
    await worker.task()
    monkeypatch.setattr(Outbox, "_take_frame", broken)
    scene.engine.queue("b")

    await worker.ended()

    assert "can't be said" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_large_tasks_travel_compressed_and_arrive_whole(scene):
    spec = b'"' + b"x" * 6_000_000 + b'"'
    scene.engine.queue("a", spec=spec)
    worker = await scene.worker(max_receive_message_length=64 * 1024 * 1024).subscribe()

    assert (await worker.task()).work_req.resource.spec == spec


async def test_large_results_arrive_whole(scene):
    scene.engine.queue("a")
    worker = await scene.worker(max_send_message_length=64 * 1024 * 1024).subscribe()
    status = b'"' + b"x" * 6_000_000 + b'"'
    await worker.complete(await worker.task(), status=status)
    await worker.next("settled")

    assert scene.engine.settled[0].outcome.status == status


# ---- cancel ----


async def test_a_lease_that_became_void_is_cancelled_on_the_stream_that_holds_it(scene):
    scene.engine.queue("a", "b")
    worker = await scene.worker().subscribe(most=1)
    other = await scene.worker().subscribe(most=1)
    task = await worker.task()
    await other.task()

    scene.engine.void(lease_of(task), "a newer generation")
    cancel = await worker.next("cancel")

    assert (cancel.lease_token, cancel.claim_epoch, cancel.reason) == (*lease_of(task), "a newer generation")
    assert not any(message.HasField("cancel") for message in other.received)


async def test_a_lease_that_became_void_before_its_task_was_on_the_stream_is_cancelled_after_it(scene):
    worker = await scene.worker().subscribe()
    scene.engine.queue("before")
    await worker.task()
    read, reading, go_on = scene.engine.default_configs, asyncio.Event(), asyncio.Event()

    async def slow_read(pairs):
        reading.set()
        await go_on.wait()
        return await read(pairs)

    scene.engine.default_configs = slow_read
    scene.engine.edit_config(LEAF, b'{"a":2}', told=False)
    scene.engine.queue("after")
    await reading.wait()
    *_, lease = scene.engine.leases
    scene.engine.void(lease, "a newer generation")
    await asyncio.sleep(0.01)  # time enough to tell it too early
    go_on.set()

    assert lease_of(await worker.task()) == lease
    assert (await worker.next("cancel")).lease_token == lease.token


async def test_void_leases_are_asked_for_only_while_a_task_runs(scene):
    scene.engine.edit_config(LEAF, b'{"a":1}')
    worker = await scene.worker().subscribe()
    await worker.next("config")
    lease = scene.engine.lease_elsewhere("lost")
    scene.engine.leases[lease] = scene.engine.leases[lease][0], scene.broker.id
    scene.engine.void(lease, "a newer generation")
    for _ in "ab":  # the second is followed after all that came with the first
        scene.engine.edit_config(LEAF, b'{"a":2}')
        await worker.next("config")
    assert len(scene.engine.voids) == 1

    scene.engine.queue("runs")
    task = await worker.task()
    scene.engine.void(lease_of(task), "a newer generation")
    await worker.next("cancel")
    assert not scene.engine.voids


# ---- life ----


async def test_a_heartbeat_attests_its_leases_and_a_void_one_is_cancelled(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()

    await worker.send(
        heartbeat=pb.WorkHeartbeat(lease_token=[task.lease_token, "gone"], claim_epoch=[task.claim_epoch, 9])
    )
    cancel = await worker.next("cancel")

    assert cancel.lease_token == "gone"
    assert [lease for lease, _ in scene.engine.attested] == [lease_of(task)]


async def test_a_worker_that_never_sent_a_heartbeat_attests_by_its_open_stream(scene):
    scene.engine.queue("a")
    worker = await scene.worker(base=True).subscribe()
    task = await worker.task()

    scene.pass_time(5)
    await scene.engine.until(lambda: scene.engine.attested)

    assert scene.engine.attested[0][0] == lease_of(task)


async def test_a_worker_that_never_sent_a_heartbeat_is_not_silent(scene):
    worker = await scene.worker(base=True).subscribe()
    scene.engine.queue("a")
    await worker.task()

    scene.pass_time(60)
    scene.engine.queue("b")

    assert (await worker.task()).work_req.resource.name == "b"


async def test_a_worker_that_sends_heartbeats_attests_only_by_them(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await worker.task()
    await worker.send(heartbeat=pb.WorkHeartbeat())
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["gone"], claim_epoch=[1]))
    await worker.next("cancel")

    scene.pass_time(6)
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["gone"], claim_epoch=[1]))
    await worker.next("cancel")

    assert not scene.engine.attested


async def test_a_worker_that_fell_silent_gets_no_task_until_it_is_heard(scene):
    worker = await scene.worker().subscribe()
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["gone"], claim_epoch=[1]))
    await worker.next("cancel")
    scene.pass_time(15)
    scene.engine.queue("a")
    lively = await scene.worker().subscribe()

    await lively.complete(await lively.task())
    scene.engine.queue("b")
    await lively.complete(await lively.task())
    assert not any(message.WhichOneof("body") in ("task", "tasks") for message in worker.received)

    await lively.half_close()
    await lively.ended()
    await worker.send(heartbeat=pb.WorkHeartbeat())
    scene.engine.queue("c")
    await worker.task()


async def test_the_broker_says_that_it_is_alive_every_ten_seconds_to_those_who_know_the_word(scene):
    worker = await scene.worker("alive").subscribe()
    scene.engine.queue("a")
    await worker.task()

    scene.pass_time(10)

    await worker.next("alive")


# ---- the end ----


async def test_after_a_goodbye_what_the_worker_holds_is_free_at_once_and_not_counted(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()

    await worker.half_close()
    code, _ = await worker.ended()
    await scene.engine.until(lambda: scene.engine.released)

    assert code is grpc.StatusCode.OK
    assert scene.engine.released == [(lease_of(task), False)]


async def test_results_sent_just_before_a_goodbye_are_stored_and_told(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()

    await worker.complete(task)
    await worker.half_close()

    assert (await worker.next("settled")).lease_token == [task.lease_token]
    assert (await worker.ended())[0] is grpc.StatusCode.OK
    assert not scene.engine.released


async def test_a_worker_lost_without_a_goodbye_keeps_its_leases_for_the_reconnect_window(scene, until):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    await worker.cut()
    await until(lambda: not scene.broker.sessions)

    scene.pass_time(4.9)
    assert not scene.engine.released
    scene.pass_time(0.2)
    await scene.engine.until(lambda: scene.engine.released)

    assert scene.engine.released == [(lease_of(task), True)]


async def test_a_worker_that_returns_in_time_resumes_its_task_which_uses_its_credit(scene, until):
    scene.engine.queue("a", "b")
    worker = await scene.worker().subscribe(most=1)
    task = await worker.task()
    await worker.cut()
    await until(lambda: not scene.broker.sessions)

    again = await scene.worker().subscribe(most=1, resumed=[lease_of(task)])
    await scene.engine.until(lambda: scene.engine.attested)
    scene.pass_time(60)
    await again.complete(task)
    second = await again.task()

    assert scene.engine.settled[0].lease == lease_of(task)
    assert second.work_req.resource.name == "b"
    assert not scene.engine.released


async def test_a_task_of_another_broker_counts_for_its_pair(scene):
    lease = scene.engine.lease_elsewhere("far")
    worker = await scene.worker().subscribe(most=10, each=[2], resumed=[lease])
    scene.engine.queue("a", "b")

    first = await worker.task()
    (session,) = scene.broker.sessions
    assert session.credit(LEAF) == 0
    await worker.complete(first)
    assert (await worker.task()).work_req.resource.name == "b"


async def test_a_task_of_another_broker_ends_at_its_deadline(scene):
    lease = scene.engine.lease_elsewhere("far", deadline_ms=10_000)
    worker = await scene.worker().subscribe(resumed=[lease])
    await scene.engine.until(lambda: scene.engine.attested)
    await worker.send(heartbeat=pb.WorkHeartbeat(lease_token=["mark"], claim_epoch=[1]))
    await worker.next("cancel")  # the lease was looked up before this

    scene.pass_time(16)
    assert (await worker.next("cancel")).lease_token == lease.token
    await worker.next("settled")

    assert [(settled.lease, settled.reason) for settled in scene.engine.settled] == [(lease, "DeadlineExceeded")]


async def test_a_task_of_another_broker_is_identified_when_the_store_is_back(scene, until):
    scene.engine.failing.add("leased")
    lease = scene.engine.lease_elsewhere("far")
    worker = await scene.worker().subscribe()
    beat = pb.WorkHeartbeat(lease_token=[lease.token], claim_epoch=[lease.epoch])
    await worker.send(heartbeat=beat)
    await scene.engine.until(lambda: scene.engine.attested)
    (session,) = scene.broker.sessions
    scene.engine.failing.clear()
    await worker.send(heartbeat=beat)

    await until(lambda: session.pairs[LEAF].used == 1)


async def test_a_resumed_lease_that_is_void_is_answered_with_cancel(scene):
    worker = await scene.worker().subscribe(resumed=[Lease("void", 4)])

    cancel = await worker.next("cancel")

    assert (cancel.lease_token, cancel.claim_epoch) == ("void", 4)


async def test_a_task_that_moved_to_a_new_stream_survives_the_goodbye_of_the_old_one(scene):
    scene.engine.queue("a")
    old = await scene.worker().subscribe()
    task = await old.task()
    new = await scene.worker().subscribe(resumed=[lease_of(task)])
    await scene.engine.until(lambda: scene.engine.attested)

    await old.half_close()
    await old.ended()
    await new.complete(task)
    await new.next("settled")

    assert scene.engine.settled[0].lease == lease_of(task)
    assert not scene.engine.released


async def test_a_claim_whose_stream_ended_meanwhile_goes_back_at_once(scene, until):
    claiming, go_on = asyncio.Event(), asyncio.Event()
    claim = scene.engine.claim

    async def slow_claim(wants, broker):
        claims = await claim(wants, broker)
        if claims:
            claiming.set()
            await go_on.wait()
        return claims

    scene.engine.claim = slow_claim
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await claiming.wait()
    await worker.cut()
    await until(lambda: not scene.broker.sessions)
    go_on.set()
    await scene.engine.until(lambda: scene.engine.released)

    assert [counted for _, counted in scene.engine.released] == [False]


# ---- drain ----


async def test_a_drain_hands_out_nothing_more_lets_results_land_and_ends_the_streams(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()

    draining = asyncio.create_task(scene.broker.drain(60, asyncio.Event()))
    await worker.next("drain")
    scene.engine.queue("b")
    await worker.complete(task)
    await worker.next("settled")
    await draining

    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE
    assert len(scene.engine.queues[task.kind, 1]) == 1
    assert not scene.engine.released


async def test_what_is_not_finished_when_the_drain_is_over_is_released_uncounted(scene):
    scene.engine.queue("a")
    worker = await scene.worker(base=True).subscribe()
    task = await worker.task()

    await scene.broker.drain(0.01, asyncio.Event())

    assert scene.engine.released == [(lease_of(task), False)]
    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE


async def test_results_received_before_the_end_of_a_drain_are_stored_although_the_store_is_slow(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    scene.engine.failing = {"settle"}
    await worker.complete(await worker.task())
    draining = asyncio.create_task(scene.broker.drain(0.01, asyncio.Event()))
    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE

    scene.engine.failing = set()
    await draining

    assert len(scene.engine.settled) == 1


async def test_an_aborted_drain_does_not_wait(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await worker.task()
    abort = asyncio.Event()
    abort.set()

    await scene.broker.drain(3_600, abort)

    assert [counted for _, counted in scene.engine.released] == [False]


async def test_a_claim_under_way_when_the_drain_begins_is_given_back(scene):
    claiming, go_on = asyncio.Event(), asyncio.Event()
    claim = scene.engine.claim

    async def slow_claim(wants, broker):
        claims = await claim(wants, broker)
        claiming.set()
        await go_on.wait()
        return claims

    scene.engine.queue("a")
    scene.engine.claim = slow_claim
    worker = await scene.worker().subscribe()
    await claiming.wait()
    draining = asyncio.create_task(scene.broker.drain(60, asyncio.Event()))
    await asyncio.sleep(0)  # the drain begins
    go_on.set()
    await draining

    assert [counted for _, counted in scene.engine.released] == [False]
    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE
    assert not any(message.WhichOneof("body") in ("task", "tasks") for message in worker.received)


async def test_a_drain_ends_although_the_store_is_away_for_good(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    await worker.task()
    scene.engine.failing = {"release"}

    await scene.broker.drain(0.01, asyncio.Event())

    assert (await worker.ended())[0] is grpc.StatusCode.UNAVAILABLE


async def test_a_draining_broker_takes_no_new_stream(scene):
    await scene.broker.drain(60, asyncio.Event())

    code, details = await (await scene.worker().subscribe()).ended()

    assert (code, details) == (grpc.StatusCode.UNAVAILABLE, "the broker is shutting down")


async def test_a_stopping_server_refuses_new_streams_as_unavailable_and_keeps_the_open_ones(scene):
    scene.engine.queue("a")
    worker = await scene.worker().subscribe()
    task = await worker.task()
    stopping = asyncio.create_task(scene.server.stop(60))
    draining = asyncio.create_task(scene.broker.drain(60, asyncio.Event()))
    await worker.next("drain")

    late = scene.worker()
    assert (await late.ended())[0] is grpc.StatusCode.UNAVAILABLE

    await worker.complete(task)
    await worker.next("settled")
    await draining
    await stopping
