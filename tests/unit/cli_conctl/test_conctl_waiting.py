"""Why a resource waits, for those who look at it."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from stdworker.cli.conctl.client import Client, Connection
from stdworker.cli.conctl.waiting import why_untaken, why_waiting

NOBODY = Client(Connection("http://127.0.0.1:1"))  # no engine has this port


def worker(*, ready=True, reason="", silent=False, in_flight=0):
    kind = {"kind": "leaf", "kind_version": 1, "ready": ready, "reason": reason, "in_flight": in_flight}
    return {"name": "host/7#1", "silent": silent, "kinds": [kind | {"max_inflight": 2}]}


def member(*workers, status="up", unlisted=0):
    return {"status": status, "workers": workers, "unlisted_workers": unlisted}


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([member()], "no worker that is connected serves leaf@1 (`conctl cluster` shows what is served)"),
        ([member(worker(ready=False, reason="no route"))], "no worker is ready for leaf@1: no route"),
        ([member(worker(silent=True))], "no worker is ready for leaf@1: host/7#1 is not heard"),
        ([member(worker(in_flight=2), worker(in_flight=2))], "all workers for leaf@1 are busy: 4 tasks run"),
        ([member(), member(worker(), status="lost")], "no worker that is connected serves leaf@1"),
    ],
)
def test_what_keeps_a_task_from_being_taken_is_told(members, why):
    assert why_untaken("leaf", 1, members).startswith(why)


@pytest.mark.parametrize(
    "members",
    [
        [member(worker(ready=False, reason="no route"), worker())],
        [member(worker(in_flight=2)), member(worker(in_flight=1))],
        [member(unlisted=1)],
        [],
    ],
)
def test_nothing_is_told_when_a_worker_may_take_it_or_nobody_can_know(members):
    assert why_untaken("leaf", 1, members) == ""


def resource(*, claimed_by=None, due=timedelta(0)):
    work = {"claimed_by": claimed_by, "available_at": (datetime.now(UTC) + due).isoformat()}
    return {"kind": "leaf", "kind_version": 1, "work": work}


def test_a_task_that_is_not_due_says_when():
    assert re.fullmatch(r"due in \d+ s", why_waiting(NOBODY, resource(due=timedelta(hours=1))))


@pytest.mark.parametrize("seen", [resource(), resource(claimed_by="host/7#1"), resource() | {"work": None}])
def test_without_work_that_waits_or_an_answer_nothing_is_told(seen):
    assert why_waiting(NOBODY, seen) == ""
