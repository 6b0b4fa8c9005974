"""Descendants that left their program's group are found by their mark; nobody else's children are touched."""

import asyncio
import ctypes
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from stdworker.process import adoption, orphans, procfs
from stdworker.process.command import Command
from stdworker.process.orphans import MARK, Orphans
from stdworker.process.spawn import spawn

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaves_nothing")]

PATIENCE_SECONDS = 30.0


class Programs:
    """Starts bash scripts and ends them as the bridge does."""

    def __init__(self):
        self.leaked = []
        self.orphans = Orphans(self.leaked.extend)
        self.orphans.open()

    def start(self, script):
        mark = self.orphans.new_mark()
        variables = {"PATH": os.environ["PATH"], MARK: mark, "STDWORKER_KIND": "greeter"}
        process = spawn(Command("/bin/bash", ("-c", script), None, variables), asyncio.get_running_loop())
        self.orphans.started(process.pid, mark)
        return process

    async def end(self, process):
        process.signal_group(signal.SIGKILL)
        await process.exited
        process.close()
        self.orphans.ended(process.pid)


@pytest.fixture
async def programs():
    made = Programs()
    yield made
    await made.orphans.close()
    assert subreaper() == 0


def subreaper():
    found = ctypes.c_int()
    adoption.prctl(37, ctypes.addressof(found))
    return found.value


async def pids_of(process, count):
    """The numbers that a program prints, as pidfds."""
    text = bytearray()
    complete = asyncio.Event()

    def on_stdout(chunk):
        text.extend(chunk)
        if text.count(b"\n") == count:
            complete.set()

    process.read(on_stdout, lambda _: None, lambda: None)
    await asyncio.wait_for(complete.wait(), PATIENCE_SECONDS)
    return [os.pidfd_open(int(pid)) for pid in text.split()]


async def ended(*pidfds):
    for pidfd in pidfds:
        event = asyncio.Event()
        asyncio.get_running_loop().add_reader(pidfd, event.set)
        try:
            await asyncio.wait_for(event.wait(), PATIENCE_SECONDS)
        finally:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)


def children():
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


@pytest.fixture
def others():
    """Children that this process had before: servers that other tests share."""
    return children()


ESCAPED = "setsid bash -c 'echo $$; exec sleep 1000' & "


async def test_a_descendant_in_a_session_of_its_own_is_killed_reaped_and_named(others, programs, until):
    process = programs.start(ESCAPED + "wait")
    (escaped,) = await pids_of(process, 1)

    await programs.end(process)

    await ended(escaped)
    await until(lambda: children() <= others)
    assert [(leak.name, leak.kind) for leak in programs.leaked] == [("sleep", "greeter")]


async def test_a_descendant_of_one_that_lives_in_the_group_is_found_once_that_is_killed(programs):
    process = programs.start(f"({ESCAPED} wait) & wait")
    (escaped,) = await pids_of(process, 1)

    await programs.end(process)

    await ended(escaped)


async def test_a_tree_is_followed_to_its_leaves(programs):
    script = """
        level() { echo $BASHPID; (( $1 )) && setsid bash -c "$(declare -f level); level $(( $1 - 1 ))" & sleep 1000; }
        level 4
    """
    process = programs.start(script)
    tree = await pids_of(process, 5)

    await programs.end(process)

    await ended(*tree)
    assert len(programs.leaked) >= 4


async def test_one_that_emptied_its_environment_is_known_by_its_session(programs):
    process = programs.start("set -m; env -i bash -c 'echo $BASHPID; exec sleep 1000' & wait")
    (scrubbed,) = await pids_of(process, 1)

    await programs.end(process)

    await ended(scrubbed)
    assert [leak.name for leak in programs.leaked] == ["sleep"]


async def test_one_that_may_not_be_killed_is_told_once_and_waited_for_by_nobody(others, programs, monkeypatch, until):
    process = programs.start(ESCAPED + "wait")
    (escaped,) = await pids_of(process, 1)

    def refuse(*_):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", refuse)
        await programs.end(process)
        await until(lambda: programs.leaked)
        for _ in range(3):
            programs.orphans._seen.clear()
            assert not programs.orphans._look()

    assert [(leak.name, leak.killed) for leak in programs.leaked] == [("sleep", False)]
    signal.pidfd_send_signal(escaped, signal.SIGKILL)
    await ended(escaped)
    await until(lambda: children() <= others)


async def test_what_a_running_program_orphans_is_left_alone(others, programs, until):
    ending, running = programs.start(ESCAPED + "wait"), programs.start(f"({ESCAPED}) ; sleep 1000")
    (of_ending,) = await pids_of(ending, 1)
    (of_running,) = await pids_of(running, 1)
    await until(lambda: len(children() - others) >= 3)  # the orphan is ours by now

    await programs.end(ending)
    await ended(of_ending)

    assert signal.pidfd_send_signal(of_running, 0) is None
    await programs.end(running)
    await ended(of_running)


async def test_a_program_that_left_nothing_costs_no_look_at_anybody(others, programs, monkeypatch):
    looked_at = []
    monkeypatch.setattr(procfs, "environment", lambda pid: looked_at.append(pid) or b"")
    running = programs.start("exec sleep 1000")

    await programs.end(programs.start("exit 0"))
    programs.orphans._look()

    assert {int(pid) for pid in looked_at} <= others
    await programs.end(running)


async def test_children_that_others_started_keep_their_life_and_their_exit_status(programs, monkeypatch):
    monkeypatch.setattr(orphans, "ZOMBIE_SECONDS", 0.0)
    living = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    zombie = subprocess.Popen(["sh", "-c", "exit 7"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)

    process = programs.start(ESCAPED + "wait")
    (escaped,) = await pids_of(process, 1)
    await programs.end(process)
    await ended(escaped)
    for _ in range(3):
        programs.orphans._seen.clear()
        programs.orphans._look()

    assert (living.poll(), zombie.wait()) == (None, 7)
    living.kill()
    living.wait()


async def test_orphans_that_ended_unseen_are_reaped(others, programs, monkeypatch, until):
    monkeypatch.setattr(orphans, "ZOMBIE_SECONDS", 0.0)
    monkeypatch.setattr(orphans, "IDLE_LOOK_SECONDS", 0.01)
    process = programs.start("(setsid true & sleep 0 &); (exec sleep 0 &); exec sleep 1000")

    await until(lambda: procfs.name(process.pid) == "sleep")
    programs.orphans._look()
    programs.orphans._arm(0)

    await until(lambda: children() - others == {process.pid})
    await programs.end(process)


async def test_where_the_system_refuses_all_processes_are_searched(monkeypatch, caplog):
    def refuse(*_):
        raise OSError("refused")

    monkeypatch.setattr(adoption, "prctl", refuse)
    monkeypatch.setattr(orphans, "IDLE_LOOK_SECONDS", 0.01)
    others = Programs()
    ending, running = others.start(ESCAPED + "wait"), others.start(ESCAPED + "wait")
    (escaped,) = await pids_of(ending, 1)
    (kept,) = await pids_of(running, 1)

    await others.end(ending)
    await ended(escaped)

    assert signal.pidfd_send_signal(kept, 0) is None
    await others.end(running)
    await others.orphans.close()
    await ended(kept)
    assert caplog.text.count("refused") == 1


async def test_a_search_without_a_descriptor_finds_nobody_and_the_next_one_does(programs):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    search = adoption.AllProcesses()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert search.pids() == set()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert b"%d" % os.getpid() in search.pids()


async def test_closing_ends_whatever_is_left_and_gives_up_being_the_one_who_gets_orphans(programs):
    process = programs.start(ESCAPED + "wait")
    (escaped,) = await pids_of(process, 1)
    second = Programs()
    assert subreaper() == 1

    await second.orphans.close()
    assert subreaper() == 1  # the first still needs it
    process.signal_group(signal.SIGKILL)
    await process.exited
    process.close()
    await programs.orphans.close()

    await ended(escaped)
    assert subreaper() == 0


async def test_closing_waits_for_one_that_is_between_two_programs(programs, monkeypatch):
    process = programs.start(ESCAPED + "wait")
    (escaped,) = await pids_of(process, 1)
    process.signal_group(signal.SIGKILL)
    await process.exited
    process.close()
    looks = in_exec_at_first(monkeypatch)

    await programs.orphans.close()

    await ended(escaped)
    assert len(looks) > 1


def in_exec_at_first(monkeypatch):
    """In exec there is a moment without environment and arguments."""
    looks = []
    environment, command_line = procfs.environment, procfs.command_line

    def first_nothing(pid):
        looks.append(pid)
        return b"" if len(looks) == 1 else environment(pid)

    monkeypatch.setattr(procfs, "environment", first_nothing)
    monkeypatch.setattr(procfs, "command_line", lambda pid: b"" if len(looks) == 1 else command_line(pid))
    return looks


async def test_a_long_list_of_children_is_read_to_its_end(programs):
    many = [subprocess.Popen(["sleep", "1000"]) for _ in range(700)]
    try:
        assert {b"%d" % child.pid for child in many} <= programs.orphans._source.pids()
    finally:
        for child in many:
            child.kill()
        for child in many:
            child.wait()
