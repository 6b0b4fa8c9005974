"""Each way to die reads differently: a task's failure says what killed its program."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from stdworker.host import dispatch
from stdworker.process import memory

pytestmark = pytest.mark.anyio

HOG = "x = []\nwhile True: x.append(bytearray(1 << 20))"


def bash(text: str) -> dict:
    return {"command": "bash", "args": ["-c", text]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kill -9 $$", "killed by SIGKILL, not by this worker; the kernel has killed nobody for lack of memory"),
        (
            "exit 137",
            "exit status 137 (how a shell says that its command was killed by SIGKILL); the kernel has killed",
        ),
        ("exit 143", "exit status 143 (how a shell says that its command was killed by SIGTERM)"),
        ("kill -TERM $$", "killed by SIGTERM"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("kill -XCPU $$", "killed by SIGXCPU"),
        ("exit 126", "exit status 126 (how a shell or env says that a command is not executable)"),
        ("exit 3", "exit status 3"),
    ],
)
async def test_a_death_is_told_by_status_and_signal(provide, text, words):
    message = (await (await provide(**bash(text))).run()).failure.message

    assert message.removeprefix("the program failed: ").startswith(words)


async def test_a_death_at_the_deadline_is_ours(provide):
    result = await (await provide(**bash("sleep 1000"), timeout_seconds=0.2)).run()

    assert (result.failure.reason, result.exit.killed_by) == ("DeadlineExceeded", "deadline")
    assert "killed by SIGTERM by this worker (deadline)" in result.failure.message
    assert "memory" not in result.failure.message


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_a_task_that_a_worker_ends_at_its_deadline_still_tells_what_stderr_said(provide, mode):
    program = await provide(
        **bash("read -r _; echo waiting for the lock >&2; sleep 1000"), mode=mode, grace_seconds=0.1
    )

    failure = (await dispatch.run(program.provider, program.request(seconds=2))).failure

    assert (failure.code, failure.message.partition("\n")[0][-20:]) == ("deadline_exceeded", "waiting for the lock")


async def test_a_death_by_cancel_is_ours(provide, runtime, until):
    program = await provide(**bash("sleep 1000"))
    running = asyncio.create_task(program.run())
    await until(lambda: runtime.processes)
    (process,) = runtime.processes

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert str(process.exited.result()) == "killed by SIGTERM by this worker (cancel)"


@pytest.fixture
def memory_group():
    """A control group of this machine, of whatever version, with a limit of 32 MiB."""
    folder = next((path for path in (memory.MOUNT / "memory", memory.MOUNT) if (path / "cgroup.procs").exists()), None)
    path = Path(folder or memory.MOUNT) / f"stdworker-test-{os.getpid()}"
    try:
        path.mkdir()
        file = next(path / name for name in ("memory.limit_in_bytes", "memory.max") if (path / name).exists())
        file.write_text(str(32 << 20))
    except (OSError, StopIteration) as error:
        if path.exists():
            path.rmdir()
        pytest.skip(f"this machine lets nobody make a memory group: {error!r}")
    yield path
    path.rmdir()


@pytest.mark.parametrize("ran_by", ["exec", "its shell"])
async def test_a_kill_for_lack_of_memory_is_told_from_other_kills(provide, memory_group, ran_by):
    hog = f"{sys.executable} -I -S -c '{HOG}'"
    text = f"echo 0 >{memory_group}/cgroup.procs; {'exec ' + hog if ran_by == 'exec' else hog + '; exit $?'}"

    failure = (await (await provide(**bash(text))).run()).failure

    assert "SIGKILL" in failure.message
    assert "out of memory: in the last" in failure.message


async def test_a_stream_program_that_somebody_kills_says_so_to_the_request_that_it_held(provide, runtime, until):
    program = await provide(**bash("read -r _; echo got >&2; sleep 1000; true"), mode="stream", grace_seconds=0.1)
    running = asyncio.create_task(program.run())
    await until(lambda: runtime.processes)
    (process,) = runtime.processes
    await until(lambda: len([*Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]) == 1)

    os.kill(process.pid, signal.SIGKILL)

    message = (await running).failure.message
    assert "killed by SIGKILL, not by this worker; the kernel has killed nobody" in message
    assert message.endswith("got")
