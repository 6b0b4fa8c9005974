"""When a worker is killed, what it started is gone within seconds."""

import asyncio
import os
import select
import signal
import subprocess
import sys

import pytest

from stdworker.process.guardian import REMOVE_SECONDS, Guardian

PATIENCE_SECONDS = 30
HOST = """
import subprocess, sys
from stdworker.process.guardian import Guardian
guardian = Guardian("TEST_MARK=none-")
for script in sys.argv[1:]:
    child = subprocess.Popen(["bash", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
    guardian.add(child.pid)
    print(child.pid, flush=True)
print("up", flush=True)
sys.stdin.read()
"""
OBEDIENT = "echo up; exec sleep 1000"
STUBBORN = "trap '' TERM; echo up; while :; do sleep 1; done"


def host(*scripts):
    process = subprocess.Popen([sys.executable, "-c", HOST, *scripts], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in scripts]
    assert process.stdout.readline() == b"up\n"
    return process, [os.pidfd_open(pid) for pid in pids]


def has_ended(pidfd):
    readable, _, _ = select.select([pidfd], [], [], PATIENCE_SECONDS)
    os.close(pidfd)
    return bool(readable)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_groups_end_with_their_host_even_those_that_ignore_sigterm(number):
    process, groups = host(OBEDIENT, STUBBORN)

    process.send_signal(number)

    with process:
        assert [has_ended(group) for group in groups] == [True, True]


@pytest.fixture
def group():
    """A process group that nobody ends."""
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield child
    child.kill()
    child.wait()


@pytest.mark.anyio
async def test_a_group_that_was_removed_is_left_alone(group):
    guardian = Guardian("TEST_MARK=none-")
    guardian.add(group.pid)
    guardian.remove(group.pid)

    await guardian.close()

    assert group.poll() is None


KEEPS_RUNNING = """
import asyncio, sys
from stdworker.process.guardian import REMOVE_SECONDS, Guardian
async def main():
    guardian = Guardian("TEST_MARK=none-")
    for pid in map(int, sys.argv[1:]):
        guardian.add(pid)
    guardian.remove(int(sys.argv[1]))
    await asyncio.sleep(REMOVE_SECONDS * 3)
    print("up", flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


def test_a_group_that_was_removed_is_left_alone_also_when_its_host_is_killed(group):
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    command = [sys.executable, "-c", KEEPS_RUNNING, str(group.pid), str(other.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        host.kill()

    assert other.wait(PATIENCE_SECONDS) == -signal.SIGTERM
    assert group.poll() is None


@pytest.mark.anyio
async def test_what_was_removed_before_there_was_a_guardian_takes_nothing_off_its_list(group):
    guardian = Guardian("TEST_MARK=none-")
    guardian.remove(group.pid)
    guardian.add(group.pid)
    await asyncio.sleep(REMOVE_SECONDS * 3)

    await guardian.close()

    assert group.wait(PATIENCE_SECONDS) == -signal.SIGTERM


@pytest.mark.anyio
async def test_what_is_removed_is_told_with_what_is_added(monkeypatch):
    told = []
    monkeypatch.setattr("stdworker.process.guardian._write", lambda process, line: bool(told.append(line)) or True)
    guardian = Guardian("TEST_MARK=none-")
    for group in range(999_999_000, 999_999_003):
        guardian.add(group)
        guardian.remove(group)
    await guardian.close()

    _, *lines, last = told  # the first is all that it knows when it starts
    assert lines == [b"-999999000\n+999999001\n", b"-999999001\n+999999002\n"]
    assert last == b"=\n"


@pytest.mark.anyio
async def test_a_guardian_that_was_killed_is_replaced_by_one_that_knows_all(group):
    guardian = Guardian("TEST_MARK=none-")
    guardian.add(group.pid)
    assert guardian.pid is not None
    killed = os.pidfd_open(guardian.pid)
    os.kill(guardian.pid, signal.SIGKILL)
    assert has_ended(killed)

    guardian.add(999_999_999)
    await guardian.close()

    assert group.wait(PATIENCE_SECONDS) == -signal.SIGTERM


@pytest.mark.anyio
async def test_the_guardian_survives_what_ends_its_host(group):
    guardian = Guardian("TEST_MARK=none-")
    guardian.add(group.pid)
    assert guardian.pid is not None

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guardian.pid, number)
    guardian.remove(group.pid)
    first = guardian.pid
    guardian.add(group.pid)

    assert guardian.pid == first
    await guardian.close()
    assert group.wait(PATIENCE_SECONDS) == -signal.SIGTERM
