import pytest

from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.worker.ledger import Ledger


def task(number):
    return pb.StageTask(kind="thing", kind_version=1, stage=2, lease_token=f"t{number}", claim_epoch=number)


def done(ledger, number, result=b"r"):
    held = ledger.add(task(number), 0.0)
    ledger.finish(held, result)
    return held


def tokens(helds):
    return [held.lease.token for held in helds]


@pytest.fixture
def ledger():
    return Ledger()


def take(ledger, writer="w", count_max=100, bytes_max=1_000_000):
    return ledger.take(writer, count_max=count_max, bytes_max=bytes_max)


def test_results_are_taken_once_in_order(ledger):
    for number in range(3):
        done(ledger, number)
    assert tokens(take(ledger, count_max=2)) == ["t0", "t1"]
    assert tokens(take(ledger)) == ["t2"]
    assert take(ledger) == []


def test_a_batch_stays_below_its_bytes_but_always_takes_one(ledger):
    for number in range(3):
        done(ledger, number, b"x" * 60)
    assert len(take(ledger, bytes_max=100)) == 1
    assert len(take(ledger, bytes_max=10)) == 1


def test_what_a_lost_stream_wrote_comes_first_again(ledger):
    for number in range(3):
        done(ledger, number)
    take(ledger, "old", count_max=2)
    ledger.lost("old")
    assert tokens(take(ledger, "new")) == ["t0", "t1", "t2"]


def test_what_is_settled_does_not_come_again(ledger):
    done(ledger, 0)
    done(ledger, 1)
    take(ledger, "old")
    ledger.settle([Lease("t0", 0)])
    ledger.lost("old")
    assert tokens(take(ledger, "new")) == ["t1"]


def test_what_is_settled_before_it_was_written_again_is_not_written(ledger):
    done(ledger, 0)
    take(ledger, "old")
    ledger.lost("old")
    ledger.settle([Lease("t0", 0)])
    assert take(ledger, "new") == []


def test_another_streams_writes_stay_where_they_are(ledger):
    done(ledger, 0)
    take(ledger, "new")
    ledger.lost("old")
    assert take(ledger, "new") == []


def test_quiet_and_empty_follow_what_is_held(ledger):
    assert ledger.quiet.is_set()
    assert ledger.empty.is_set()
    held = ledger.add(task(0), 0.0)
    assert not ledger.quiet.is_set()
    ledger.finish(held, b"r")
    assert ledger.quiet.is_set()
    assert not ledger.empty.is_set()
    ledger.settle([held.lease])
    assert ledger.empty.is_set()


def test_forgotten_tasks_report_nothing(ledger):
    held = ledger.add(task(0), 0.0)
    ledger.forget(held)
    ledger.finish(held, b"late")
    assert len(ledger) == 0
    assert ledger.empty.is_set()


def test_a_lease_that_runs_is_not_taken_twice_and_one_that_is_done_is(ledger):
    held = ledger.add(task(0), 0.0)
    assert ledger.add(task(0), 1.0) is None
    ledger.finish(held, b"first stage")
    again = ledger.add(task(0), 2.0)
    assert again is not None
    assert take(ledger) == []
    ledger.finish(again, b"second stage")
    assert [h.result for h in take(ledger)] == [b"second stage"]


def test_an_aged_write_does_not_settle_the_next_stage_of_the_same_lease(ledger):
    first = done(ledger, 0)
    take(ledger)
    second = done(ledger, 0, b"second")
    ledger.settle_written([first])
    assert ledger.find(second.lease) is second


@pytest.mark.parametrize("limits", [{"results_max": 2}, {"results_bytes_max": 20}])
def test_overflow_drops_the_oldest_and_counts_it(limits):
    ledger = Ledger(**limits)
    for number in range(5):
        done(ledger, number, b"x" * 10)
    assert tokens(take(ledger)) == ["t3", "t4"]
    assert ledger.dropped == 3


def test_open_and_done_are_both_held(ledger):
    done(ledger, 0)
    ledger.add(task(1), 0.0)
    assert sorted(tokens(ledger)) == ["t0", "t1"]
    assert tokens(ledger.open) == ["t1"]
    assert ledger.results == 1
