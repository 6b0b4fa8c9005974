"""What the kernel says about memory: evidence of kills, and the groups that hold limits."""

import os

import pytest

from stdworker.process import memory
from stdworker.process.confinement import Confinement
from stdworker.process.exits import Exit
from stdworker.process.memory import Memory, OomKills

KILLED = Exit.from_returncode(-9)


@pytest.fixture
def clock():
    class Clock:
        now = 100.0

        def __call__(self):
            return self.now

    return Clock()


class Group:
    """A folder with the files of a control group; the kernel's part is played by the test."""

    def __init__(self, path):
        self.path = path
        path.mkdir(exist_ok=True)
        self.kills = 0
        for name, text in {
            "cgroup.controllers": "cpu memory",
            "cgroup.subtree_control": "",
            "memory.max": "max",
        }.items():
            (path / name).write_text(text)

    @property
    def kills(self):
        raise AttributeError

    @kills.setter
    def kills(self, count):
        (self.path / "memory.events").write_text(f"low 0\nhigh 0\nmax 7\noom 3\noom_kill {count}\noom_group_kill 0\n")


@pytest.fixture
def group(tmp_path):
    return Group(tmp_path / "worker.service")


def test_a_kill_that_the_kernel_counted_since_the_last_note_is_evidence_with_the_limit(group, clock):
    (group.path / "memory.max").write_text("536870912\n")
    kills = OomKills(group.path, clock)
    clock.now += 12
    group.kills = 1

    assert kills.evidence() == (
        "out of memory: in the last 12 s the kernel killed 1 process in this worker's cgroup (limit 536870912 bytes)"
    )


def test_a_kill_before_the_last_note_is_no_evidence(group, clock):
    kills = OomKills(group.path, clock)
    group.kills = 1
    clock.now += memory.NOTE_SECONDS
    kills.note()

    assert kills.evidence() == ""


def test_the_limit_that_counts_is_the_nearest_above(tmp_path, clock):
    (tmp_path / "memory.max").write_text("1000\n")
    group = Group(tmp_path / "leaf")
    kills = OomKills(group.path, clock)
    group.kills = 2

    assert "killed 2 processes in this worker's cgroup (limit 1000 bytes)" in kills.evidence()


def test_where_no_group_counts_the_host_does(tmp_path, monkeypatch, clock):
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free_pages 1\noom_kill 4\n")
    monkeypatch.setattr(memory, "VMSTAT", vmstat)
    kills = OomKills(None, clock)
    vmstat.write_text("nr_free_pages 1\noom_kill 5\n")

    assert kills.evidence() == "out of memory: in the last 1 s the kernel killed 1 process on this host"


def test_where_nobody_counts_nothing_is_claimed(tmp_path, monkeypatch, clock):
    monkeypatch.setattr(memory, "VMSTAT", tmp_path / "none")

    assert OomKills(None, clock).evidence() is None


def test_a_program_with_a_memory_limit_gets_a_group_and_its_death_there_is_certain(group):
    known = Memory(group.path, lambda: {os.getpid()})

    confinement, own = known.confine(Confinement(memory_bytes=1 << 20), "n-1")

    assert (own.path / "memory.max").read_text() == "1048576"
    assert f"{own.path}/cgroup.procs" in " ".join(confinement.launcher)
    assert "ulimit -d" not in " ".join(confinement.launcher)
    (own.path / "memory.events").write_text("oom_kill 1\n")
    assert known.explain(confinement, own, KILLED) == (
        "out of memory: the kernel killed it at limits.memory_bytes (1048576)"
    )


def test_the_worker_moves_to_a_leaf_before_it_hands_out_memory(group):
    Memory(group.path, lambda: {os.getpid()}).confine(Confinement(memory_bytes=1 << 20), "n-1")

    assert (group.path / "stdworker" / "cgroup.procs").read_text() == str(os.getpid())
    assert (group.path / "cgroup.subtree_control").read_text() == "+memory"


def test_a_group_that_can_t_be_used_leaves_the_limit_to_the_launcher(tmp_path):
    known = Memory(tmp_path / "gone", lambda: set())

    confinement, own = known.confine(Confinement(memory_bytes=1 << 20), "n-1")

    assert own is None
    assert "ulimit -d 1024" in " ".join(confinement.launcher)


@pytest.mark.parametrize(
    ("confinement", "words"),
    [
        (None, "the kernel has killed nobody for lack of memory: somebody sent it"),
        (Confinement(cpu_seconds=3), "the kernel does this 5 s after limits.cpu_seconds (3)"),
        (Confinement(memory_bytes=4096), "it may have had no more memory: limits.memory_bytes is 4096"),
    ],
)
def test_a_kill_that_the_kernel_did_not_count_is_a_limit_s_or_somebody_s(group, confinement, words):
    assert Memory(group.path, set).explain(confinement, None, KILLED) == words


def test_only_a_kill_is_explained_by_a_lack_of_memory(group):
    known = Memory(group.path, lambda: set())
    group.kills = 1

    assert "out of memory" in known.explain(None, None, KILLED)
    assert "out of memory" in known.explain(None, None, Exit.from_returncode(137))
    assert known.explain(None, None, Exit.from_returncode(1)) == ""
    assert known.explain(None, None, Exit.from_returncode(-11)) == ""
