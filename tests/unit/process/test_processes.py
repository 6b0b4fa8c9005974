"""A program runs in a group of its own, sees nothing of its host, and always ends."""

import asyncio
import os
import signal

import pytest

from stdworker.process.pipes import READ_BYTES
from stdworker.process.spawn import default_signals
from stdworker.process.stop import Step, stop, terminate

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 30.0  # for what is about to happen; tests end long before


class Output:
    """What a process wrote."""

    def __init__(self, process):
        self.stdout = self.stderr = b""
        self.ended = asyncio.Event()
        self.grew = asyncio.Event()
        process.read(self._on_stdout, self._on_stderr, self.ended.set)

    def _on_stdout(self, chunk):
        self.stdout += chunk
        self.grew.set()

    def _on_stderr(self, chunk):
        self.stderr += chunk

    async def text(self):
        await asyncio.wait_for(self.ended.wait(), PATIENCE_SECONDS)
        return self.stdout.decode()

    async def wait_for(self, text):
        while text not in self.stdout:
            self.grew.clear()
            await asyncio.wait_for(self.grew.wait(), PATIENCE_SECONDS)


async def test_a_program_leads_a_session_of_its_own(start):
    process = start("cat")

    assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid


async def test_a_program_has_no_descriptor_of_its_host(start, tmp_path):
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        output = Output(start(f"[ -e /proc/self/fd/{secret.fileno()} ] && echo open; echo done"))

        assert await output.text() == "done\n"


async def test_a_program_has_default_signals_even_if_its_host_ignores_or_blocks_them(start):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        with default_signals():
            output = Output(start("grep -E 'SigIgn|SigBlk' /proc/self/status"))
            text = await output.text()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    libc_own = 0b11 << 31  # signals 32 and 33: no program can change them, and some launchers leave them blocked
    assert [int(line.split()[1], 16) & ~libc_own for line in text.splitlines()] == [0, 0]


async def test_a_host_that_ignores_sigchld_still_learns_the_exit_status(start):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with default_signals():
            process = start("exit 7")
            assert (await process.exited).code == 7
    finally:
        signal.signal(signal.SIGCHLD, before)


async def test_the_exit_tells_code_or_signal(start):
    assert (await start("exit 3").exited).code == 3
    assert (await start("kill -USR1 $$").exited).signal == "SIGUSR1"


async def test_megabytes_flow_both_ways_at_once(start):
    process = start("cat")
    output = Output(process)
    content = os.urandom(READ_BYTES * 12)

    process.stdin.write_last(content)
    await asyncio.wait_for(output.ended.wait(), PATIENCE_SECONDS)

    assert output.stdout == content


async def test_what_is_written_in_one_turn_keeps_its_order(start):
    process = start("cat")
    output = Output(process)

    for number in range(100):
        process.stdin.write(b"%d\n" % number)
    process.stdin.write_last(b"end\n")

    assert (await output.text()).split() == [*map(str, range(100)), "end"]


async def test_a_program_that_doesn_t_read_its_input_is_no_error(start):
    process = start("exec <&-; echo closed; read -r _ </dev/zero")
    output = Output(process)
    await output.wait_for(b"closed")

    process.stdin.write_last(b"x" * 1_000_000)

    assert process.stdin.closed


async def test_a_program_that_obeys_is_only_asked(start):
    process = start("trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done")
    await Output(process).wait_for(b"up")

    assert await stop(process, [terminate(process, PATIENCE_SECONDS)], killed_by="deadline")
    assert process.exited.result().code == 0


async def test_a_program_that_ignores_sigterm_is_killed(start):
    process = start("trap '' TERM; echo up; while :; do sleep 0.01; done")
    await Output(process).wait_for(b"up")

    assert await stop(process, [terminate(process, 0.05)], killed_by="deadline")
    assert process.exited.result().signal == "SIGKILL"
    assert process.exited.result().killed_by == "deadline"


async def test_steps_are_skipped_once_the_program_has_ended(start):
    process = start("read -r _; echo got; exit 0")
    Output(process)
    asked = []

    def close_stdin():
        asked.append("eof")
        process.stdin.close()

    await stop(process, [Step(close_stdin, PATIENCE_SECONDS), Step(lambda: asked.append("term"), PATIENCE_SECONDS)])

    assert asked == ["eof"]


async def test_the_whole_group_ends_with_its_leader(start):
    process = start("(trap '' TERM; exec sleep 1000) & echo $!; wait")
    output = Output(process)
    await output.wait_for(b"\n")
    descendant = os.pidfd_open(int(output.stdout))

    await stop(process, [terminate(process, PATIENCE_SECONDS)])

    await readable(descendant)
    os.close(descendant)


async def test_what_a_leader_left_of_its_group_ends_as_soon_as_it_is_given_back(start):
    process = start("sleep 1000 & echo $!")
    output = Output(process)
    await output.wait_for(b"\n")
    descendant = os.pidfd_open(int(output.stdout))
    await process.exited

    process.close()

    await readable(descendant)
    os.close(descendant)


async def readable(fd):
    """A pidfd becomes readable when its process has ended."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(fd, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)
    finally:
        asyncio.get_running_loop().remove_reader(fd)
