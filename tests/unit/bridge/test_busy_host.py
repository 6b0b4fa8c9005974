"""A host that can't start another process now, or does a lot beside, is no reason to lose a task."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stdworker.bridge import BridgeRuntime, ProgramProvider, runtime
from stdworker.errors import Retry
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion

pytestmark = pytest.mark.anyio

HANG_SECONDS = 60
TASKS = 300
BUSY = """
import asyncio, grpc, grpc.aio
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

KIND = KindVersion("greeter")
PATH = "/echo.Echo/Talk"

async def talk(requests, context):
    async for request in requests:
        yield request

async def chatter(call, done):
    while not done.is_set():
        await call.write(b"x" * 1000)
        assert await call.read() == b"x" * 1000
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF

async def main():
    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(talk)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo.Echo", {"Talk": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    done = asyncio.Event()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        chatters = [asyncio.create_task(chatter(channel.stream_stream(PATH)(), done)) for _ in range(4)]
        provider = ProgramProvider(KIND, run=BridgeRuntime())
        default = ProviderConfig(dumps({"command": "true"}))
        request = ReactionRequest(
            Stage.WORK, Trigger.SPEC_CHANGE, "work", KIND, Resource("u", "greeter", "ada"), default=default
        )
        left = iter(range(TASKS))

        async def run_some():
            for _ in left:
                result = await provider.run(request)
                assert result.failure is None, result.failure

        await asyncio.gather(*(run_some() for _ in range(16)))
        done.set()
        await asyncio.gather(*chatters)
        await provider.close()
    await server.stop(0)
    print("all done")

asyncio.run(main())
""".replace("TASKS", str(TASKS))


def test_programs_start_beside_busy_grpc_streams_without_a_word_on_stderr():
    ran = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, timeout=HANG_SECONDS, check=False)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"all done\n", b"")


def test_programs_are_started_by_vfork():
    assert subprocess._USE_VFORK  # the other condition, no preexec_fn and the like, is tests/tidy's


@pytest.mark.parametrize("free", range(0, 20, 2))
async def test_a_worker_out_of_descriptors_stays_up_and_goes_on_once_it_has_some(provide, free, only_descriptors):
    program = await provide(command="true")
    await program.provider.ready()

    with only_descriptors(free):
        result = await program.run()

    assert result.failure is None or (type(result.failure), result.failure.code) == (Retry, "spawn_refused")
    assert result.failure is None or free < 18
    assert (await program.run()).failure is None


@pytest.mark.parametrize("free", [0, 1, 2, 3, 6])
@pytest.mark.parametrize(
    "config",
    [
        {"limits": {"cpu_seconds": 9, "memory_bytes": 1 << 30}},
        pytest.param(
            {"user": "nobody", "group": "nogroup"}, marks=pytest.mark.skipif(os.geteuid() != 0, reason="root")
        ),
    ],
    ids=["limits", "user"],
)
async def test_a_lack_of_descriptors_is_no_mistake_in_the_config(provide, config, free, only_descriptors):
    program = await provide(command="true", **config)

    with only_descriptors(free):
        failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Retry, "spawn_refused")
    assert (await program.run()).failure is None


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_a_program_that_ends_while_its_guardian_can_t_be_replaced_has_its_result(
    provide, runtime, until, tmp_path, mode, only_descriptors
):
    os.mkfifo(tmp_path / "go")
    go = os.open(tmp_path / "go", os.O_RDWR)
    waits = f"read -r _; touch {tmp_path}/waits; read -r _ <{tmp_path}/go; exit 3"
    program = await provide(mode=mode, command="bash", args=["-c", waits])
    running = asyncio.create_task(program.run())
    await until((tmp_path / "waits").exists)
    guardian = runtime._guardian.pid
    os.kill(guardian, signal.SIGKILL)
    await until(lambda: "zombie" in Path(f"/proc/{guardian}/status").read_text())

    with only_descriptors(0):
        os.write(go, b"go\n")
        result = await running

    os.close(go)
    assert result.exit.code == 3
    assert (await program.run(seconds=0.2)).failure.code == "deadline_exceeded"


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.ENFILE])
async def test_a_host_that_refuses_a_process_for_now_fails_the_task_for_now(provide, monkeypatch, number):
    program = await provide(command="true")
    assert (await program.run()).failure is None

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", refuse)
        failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Retry, "spawn_refused")
    assert os.strerror(number) in failure.message
    assert (await program.run()).failure is None


# ---- signals ----

IGNORING = """
import os, signal, sys
for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "stdworker", "call", "--output", "json", *sys.argv[1:]])
"""
IGNORED = 'printf \'{"status":"%s"}\\n\' $(grep SigIgn /proc/self/status | cut -f 2)'


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
def test_a_worker_started_with_signals_ignored_learns_statuses_and_passes_none_of_it_on(tmp_path, mode):
    program = tmp_path / "program"
    end = "exit 7" if mode == "oneshot" else "read -r _"
    program.write_text(f"#!/bin/bash\nread -r _\n{IGNORED}\n{end}\n")
    program.chmod(0o755)
    command = [sys.executable, "-c", IGNORING, "--mode", mode, str(program)]

    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)

    if mode == "oneshot":
        assert '"exit":{"code":7' in ran.stdout.replace(" ", "")
    else:
        assert int(ran.stdout.replace(" ", "").partition('"status":"')[2][:16], 16) & ~(0b11 << 31) == 0
    assert "Traceback" not in ran.stderr


@pytest.fixture
def on_child():
    """Set what SIGCHLD does, for the length of the test."""
    before = signal.getsignal(signal.SIGCHLD)
    yield lambda handler: signal.signal(signal.SIGCHLD, handler)
    signal.signal(signal.SIGCHLD, before)


async def test_a_plugin_that_ignores_the_end_of_children_later_on_loses_no_exit_status(provide, on_child):
    program = await provide(command="sh", args=["-c", "exit 3"])
    await program.run()

    on_child(signal.SIG_IGN)

    for _ in range(20):
        assert (await program.run()).exit.code == 3


async def test_an_exit_status_that_something_else_took_is_said_to_be_lost(provide, on_child):
    program = await provide(command="true")
    assert (await program.run()).failure is None

    on_child(lambda *_: os.waitpid(-1, os.WNOHANG))
    message = (await program.run()).failure.message

    assert "lost: something in the worker waits for every child" in message


async def test_a_terminal_s_interrupt_reaches_no_program(provide, runtime, until):
    program = await provide(command="sleep", args=["1000"])
    running = asyncio.create_task(program.run())
    await until(lambda: runtime.processes)
    (process,) = runtime.processes

    assert os.getsid(process.pid) != os.getsid(0)
    assert os.getpgid(process.pid) != os.getpgid(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_two_runtimes_in_one_process_leave_each_other_s_programs_alone(mark, until):
    providers = [ProgramProvider(KindVersion("greeter"), run=BridgeRuntime()) for _ in range(2)]
    for provider in providers:
        await provider.on_config(ProviderConfig(dumps({"command": "cat", "mode": "stream"})))
    runtimes = [provider._runtime for provider in providers]
    await until(lambda: all(runtime.processes for runtime in runtimes))
    (kept,) = runtimes[1].processes

    await providers[0].close()

    assert kept.alive
    await providers[1].close()


async def test_of_many_programs_only_some_start_before_the_loop_looks_at_what_has_ended(provide, monkeypatch):
    program = await provide(command="true")
    starts, in_a_turn = 0, []
    spawn = runtime.spawn

    def counted(*arguments):
        nonlocal starts
        starts += 1
        return spawn(*arguments)

    monkeypatch.setattr(runtime, "spawn", counted)
    count = 3 * runtime.STARTS_A_TURN
    work = asyncio.gather(*(program.run() for _ in range(count)))
    while not work.done():
        before = starts
        await asyncio.sleep(0)
        in_a_turn.append(starts - before)

    assert (sum(in_a_turn), max(in_a_turn)) == (count, runtime.STARTS_A_TURN)
