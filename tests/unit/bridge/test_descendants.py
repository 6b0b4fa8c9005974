"""Whatever a program starts ends with it, also what left its process group and its session."""

import asyncio
import os

import pytest

from stdworker.process import procfs
from stdworker.process.orphans import MARK

pytestmark = pytest.mark.anyio

ESCAPING = "setsid sleep 1000 </dev/null >/dev/null 2>&1 &"


def bash(text: str) -> dict:
    return {"command": "bash", "args": ["-c", text]}


def names(pids: list[int]) -> list[str]:
    return sorted(procfs.name(pid) for pid in pids)


@pytest.mark.parametrize("end", ["echo '{}'", "exit 1", "kill -9 $$"])
async def test_a_descendant_that_left_the_session_ends_with_its_task(provide, runtime, alive, until, caplog, end):
    program = await provide(**bash(f"{ESCAPING} p=$!; until [[ $(ps -o sid= $p) -eq $p ]]; do :; done; {end}"))

    await program.run()

    await until(lambda: not alive())
    assert runtime.counters.leaked_descendants == 1
    assert caplog.text.count("greeter: killed descendants that had left their process group: ") == 1
    assert "(sleep)" in caplog.text


async def test_descendants_inside_the_group_don_t_count_as_leaked(provide, runtime, alive, until):
    program = await provide(
        **bash("sleep 1000 >/dev/null 2>&1 & (sleep 1000 & sleep 1000) >/dev/null 2>&1 & echo '{}'")
    )

    await asyncio.gather(*(program.run() for _ in range(20)))

    await until(lambda: not alive())
    assert runtime.counters.leaked_descendants == 0


async def test_only_the_descendants_of_the_ended_task_end(provide, alive, until, tmp_path):
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    text = f"({ESCAPING}); read -r line; [[ $line == *stay* ]] && read -r _ <{fifo}; echo '{{}}'"
    program = await provide(**bash(text))
    staying = asyncio.create_task(program.run(b'"stay"'))
    await until(lambda: names(alive()) == ["bash", "sleep"])
    kept = set(alive())

    await program.run(b'"leave"')
    await until(lambda: len(alive()) <= 2)

    assert set(alive()) == kept
    fifo.write_text("go\n")
    await staying


async def test_a_cancelled_and_a_timed_out_task_take_their_escaped_descendants_along(provide, alive, until):
    program = await provide(**bash(f"{ESCAPING} sleep 1000"), timeout_seconds=0.3)
    cancelled = asyncio.create_task(program.run())
    await until(lambda: names(alive()) == ["bash", "sleep", "sleep"])
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await until(lambda: not alive())

    assert (await program.run()).failure.code == "deadline_exceeded"

    await until(lambda: not alive())


async def test_descendants_of_a_stream_program_live_as_long_as_it_does(provide, runtime, alive, until):
    text = f"({ESCAPING}) ; while read -r _; do echo '{{}}'; done"
    program = await provide(**bash(text), mode="stream")
    await program.run()
    await until(lambda: names(alive()) == ["bash", "sleep"])

    await program.run()
    assert names(alive()) == ["bash", "sleep"]
    await program.provider.close()

    await until(lambda: not alive())
    assert runtime.counters.leaked_descendants == 1


async def test_each_process_has_a_mark_of_its_own_that_no_config_can_change(provide):
    program = await provide(**bash(f'printf \'{{"status":"%s"}}\' "${MARK}"'), env={MARK: "mine"})

    first, second = await program.status(), await program.status()

    assert first.rpartition(b"-")[0] == second.rpartition(b"-")[0]
    assert len({first, second, b'"mine"'}) == 3


async def test_ten_tasks_that_hang_don_t_hold_up_the_eleventh(provide, alive, until):
    text = f"trap '' TERM; {ESCAPING} read -r r; [[ $r == *stuck* ]] && while :; do sleep 1000; done; echo '{{}}'"
    program = await provide(**bash(text), timeout_seconds=0.2, grace_seconds=0.1)
    hanging = [asyncio.create_task(program.run(b'"stuck"')) for _ in range(10)]

    results = await asyncio.gather(*hanging)
    after = await program.run(override={"timeout_seconds": 60})

    assert {result.failure.code for result in results} == {"deadline_exceeded"}
    assert after.failure is None
    await until(lambda: not alive())


async def test_a_program_holds_three_pipes_and_nothing_of_its_host(provide, tmp_path):
    kind = "[ -p $fd ] && echo ${fd##*/} pipe >&2 || [ ! -e $fd ] || echo $fd >&2"
    text = f"for fd in /proc/$$/fd/*; do {kind}; done; exit 1"
    with (tmp_path / "inheritable").open("w") as file:
        os.set_inheritable(file.fileno(), True)

        failure = (await (await provide(**bash(text))).run()).failure

    assert failure.message.split("stderr:\n")[1].splitlines() == ["0 pipe", "1 pipe", "2 pipe"]
