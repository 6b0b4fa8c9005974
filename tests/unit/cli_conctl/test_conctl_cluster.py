"""The members of an engine as conctl shows them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from stdworker.cli.conctl.cluster import cluster

THEN = (datetime.now(UTC) - timedelta(days=3, hours=1)).isoformat()
WORKER = {
    "name": "host/7#1",
    "version": "1.2",
    "hostname": "host",
    "pid": 7,
    "connected_since": THEN,
    "heartbeat_age": 1.2,
    "silent": False,
    "in_flight": 3,
    "max_inflight": 10,
    "kinds": [
        {"kind": "leaf", "kind_version": 1, "ready": True, "reason": "", "in_flight": 3, "max_inflight": 5},
        {"kind": "db", "kind_version": 2, "ready": False, "reason": "no route", "in_flight": 0, "max_inflight": 5},
    ],
}
MEMBER = {
    "member_id": "here:42",
    "version": "1.0",
    "hostname": "here",
    "pid": 42,
    "role": "broker",
    "status": "up",
    "started_at": THEN,
    "last_heartbeat": THEN,
    "heartbeat_age": 0.4,
    "in_flight": 3,
    "workers": [WORKER],
    "unlisted_workers": 0,
}


def shown(capsys, *members):
    cluster(members)
    return [line.split(maxsplit=7) for line in capsys.readouterr().out.splitlines()]


def test_each_process_is_a_line_and_each_kind_of_a_worker(capsys):
    _, member, _, _, leaf, db = shown(capsys, MEMBER)
    assert member == ["here:42", "broker", "up", "1.0", "3d", "0s", "1", "3"]
    assert leaf == ["host/7#1", "leaf@1", "yes", "3/5", "3d", "1s", "1.2"]
    assert db == ["host/7#1", "db@2", "no", "0/5", "3d", "1s", "1.2", "no route"]


def test_where_several_processes_have_workers_each_worker_is_listed_with_its_own(capsys):
    idle = MEMBER | {"member_id": "idle:1", "workers": []}
    there = MEMBER | {"member_id": "there:43", "workers": [WORKER | {"kinds": WORKER["kinds"][:1]}]}
    assert shown(capsys, MEMBER, idle)[4][0] == "WORKER"
    *_, headings, leaf, db, moved = shown(capsys, MEMBER, idle, there)
    assert headings[:3] == ["MEMBER", "WORKER", "KIND"]
    assert [line[:3] for line in (leaf, db, moved)] == [
        ["here:42", "host/7#1", "leaf@1"],
        ["here:42", "host/7#1", "db@2"],
        ["there:43", "host/7#1", "leaf@1"],
    ]


def test_a_process_of_a_version_without_roles_is_listed_too(capsys):
    older = {name: value for name, value in MEMBER.items() if name != "role"}
    for member in (older, MEMBER | {"role": ""}):
        assert shown(capsys, member)[1][:3] == ["here:42", "-", "up"]


def test_a_worker_that_is_not_heard_is_silent_whatever_it_said(capsys):
    silent = MEMBER | {"workers": [WORKER | {"silent": True}]}
    assert {row[2] for row in shown(capsys, silent)[4:]} == {"silent"}


def test_a_worker_of_a_lost_process_is_lost_whatever_it_said(capsys):
    assert {row[2] for row in shown(capsys, MEMBER | {"status": "lost"})[4:]} == {"lost"}


def test_an_engine_without_workers_has_one_table(capsys):
    assert len(shown(capsys, MEMBER | {"workers": []})) == 2


@pytest.mark.parametrize("words", [("cluster",), ("list", "members"), ("list", "nodes")])
def test_the_cluster_has_a_command_and_is_a_type(conctl, words):
    assert json.loads(conctl(*words, "-o", "json").stdout) == {"members": []}
    assert "No members found." in conctl(*words).stderr


def test_a_member_can_only_be_listed(conctl):
    done = conctl("get", "member", "x")
    assert done.exit_code == 2
    assert "conctl cluster" in done.stderr


def test_nobody_who_is_not_ready_needs_no_column_for_why(capsys):
    ready = MEMBER | {"workers": [WORKER | {"kinds": WORKER["kinds"][:1]}]}
    assert "WHY" not in str(shown(capsys, ready))
    assert "WHY" in str(shown(capsys, MEMBER))
