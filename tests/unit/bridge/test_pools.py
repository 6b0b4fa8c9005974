"""The processes of a kind: how many, for which config, and what the broker is told about them."""

import asyncio
import json
import logging
import os
import sys
import time
from pathlib import Path

import pytest

from stdworker.bridge import places, pools, provider, supervision
from stdworker.errors import Released, Retry, Terminal

pytestmark = pytest.mark.anyio

ECHO = r"""
import json, os, sys
if "HELLO" in os.environ: print(os.environ["HELLO"], flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "protocol" not in request: print("told:", line.strip(), file=sys.stderr, flush=True); continue
    if request.get("spec") == "hold": continue
    if request.get("spec") == "unready": print('{"ready":false,"reason":"no license"}', flush=True)
    if request.get("spec") == "ready": print('{"ready":true}', flush=True)
    status = {"pid": os.getpid(), "config": request.get("config"), "who": os.environ.get("WHO")}
    print(json.dumps({"id": request["id"], "status": status}), flush=True)
"""


def echo(**config):
    return {"mode": "stream", "command": sys.executable, "args": ["-S", "-c", ECHO], **config}


@pytest.fixture
def impatient(impatient, monkeypatch):
    """Looks at the program file, and at one on probation, come soon too."""
    monkeypatch.setattr(places, "PROBE_SECONDS", 0.3)
    monkeypatch.setattr(places, "FILE_CHECK_SECONDS", 0.0)


async def status(program, *arguments, **fields):
    return json.loads(await program.status(*arguments, **fields))


# ---- which process ----


async def test_processes_are_started_before_the_first_task(provide, alive, until):
    await provide(**echo(processes=2))

    await until(lambda: len(alive()) == 2)


async def test_tasks_are_shared_out_among_the_processes(provide):
    program = await provide(**echo(processes=3, concurrency=2))

    answers = await asyncio.gather(*(status(program) for _ in range(60)))

    assert len({answer["pid"] for answer in answers}) == 3


async def test_a_task_s_own_settings_need_no_other_process(provide):
    program = await provide(**echo(settings={"a": 1}))

    mine = await status(program, override={"settings": {"b": 2}, "timeout_seconds": 5})
    default = await status(program)

    assert (mine["config"], default["config"]) == ({"a": 1, "b": 2}, {"a": 1})
    assert mine["pid"] == default["pid"]


async def test_a_task_s_own_environment_needs_one(provide, runtime):
    program = await provide(**echo(env={"WHO": "default"}))

    assert (await status(program, override={"env": {"WHO": "mine"}}))["who"] == "mine"
    assert (await status(program))["who"] == "default"
    assert runtime.counters.spawned == 2


async def test_pools_are_limited_and_the_idle_one_makes_room(provide, runtime, until):
    program = await provide(**echo(pools_max=2))

    for who in "abc":
        assert (await status(program, override={"env": {"WHO": who}}))["who"] == who

    await until(lambda: len(runtime.processes) == 2)


STUBBORN = r"""
import json, os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "status": request["spec"]}), flush=True)
while True: signal.pause()
"""


async def test_pools_that_are_slow_to_end_don_t_pile_up(provide, alive):
    program = await provide(
        mode="stream", command=sys.executable, args=["-S", "-c", STUBBORN], pools_max=2, grace_seconds=0.1
    )

    for n in range(8):
        assert await program.status(b"%d" % n, override={"env": {"N": str(n)}}) == b"%d" % n
        assert len(alive()) <= 4


async def test_a_task_waits_while_every_pool_is_busy(provide, runtime):
    program = await provide(**echo(pools_max=1))
    busy = asyncio.ensure_future(program.run(b'"hold"', seconds=1))
    await asyncio.sleep(0)

    told = (await program.run(override={"env": {"WHO": "me"}}, seconds=0.1)).failure
    assert (type(told), told.code) == (Retry, "deadline_exceeded")
    assert "pools_max" in told.message

    assert (await status(program, override={"env": {"WHO": "me"}}))["who"] == "me"
    assert busy.done()


async def test_pools_of_overrides_close_when_idle_and_the_default_s_stays(provide, runtime, monkeypatch, until):
    monkeypatch.setattr(pools, "POOL_IDLE_SECONDS", 0.05)
    program = await provide(**echo())
    await program.run(override={"env": {"WHO": "me"}})
    assert len(runtime.processes) == 2

    await until(lambda: len(runtime.processes) == 1)

    assert (await status(program))["who"] is None
    assert runtime.counters.spawned == 2


async def test_idle_pools_are_closed_after_a_minute_and_not_before(provide, runtime, monkeypatch):
    program = await provide(**echo())
    await program.run(override={"env": {"WHO": "me"}})
    now = time.monotonic()

    for seconds, left in ((pools.POOL_IDLE_SECONDS - 1, 2), (pools.POOL_IDLE_SECONDS + 1, 1)):
        monkeypatch.setattr(pools.time, "monotonic", lambda later=now + seconds: later)
        program.provider._pools._sweep()
        monkeypatch.undo()
        assert len(program.provider.view().pools) == left


async def test_credit_is_what_the_processes_can_run_at_once(provide):
    program = await provide(**echo(processes=3, concurrency=4))
    assert program.provider.credit == 12

    await program.configure(command="true")
    assert program.provider.credit is None


# ---- config edits ----


async def test_a_config_edit_reaches_programs_that_asked_for_it(provide, caplog, until):
    caplog.set_level(logging.INFO, "stdworker.program")
    told = echo(env={"HELLO": '{"hello":{"config":true}}'})
    program = await provide(**told, settings={"a": 1})
    await program.run()

    await program.configure(**told, settings={"a": 2})

    await until(lambda: 'told: {"config":{"a":2}}' in caplog.text)
    assert (await status(program))["config"] == {"a": 2}


async def test_a_config_edit_is_not_told_to_programs_that_did_not_ask(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    program = await provide(**echo(settings={"a": 1}))
    await program.run()

    await program.configure(**echo(settings={"a": 2}))

    assert (await status(program))["config"] == {"a": 2}
    assert "told:" not in caplog.text


async def test_an_edit_of_the_launch_config_replaces_the_processes(provide, runtime, until):
    program = await provide(**echo(env={"WHO": "old"}))
    await program.run()

    await program.configure(**echo(env={"WHO": "new"}))

    assert (await status(program))["who"] == "new"
    await until(lambda: len(runtime.processes) == 1)


async def test_while_the_changed_file_can_t_be_started_the_old_program_serves_on(provide, script, impatient, until):
    loop = "#!%s\nwhile read -r line; do echo '{\"status\":%d}'; done\n"
    path = script(loop % ("/bin/bash", 1))
    program = await provide(mode="stream", command=path)
    assert await program.status() == b"1"

    script(loop % ("/no/such/interpreter", 2), "next")
    Path(path).with_name("next").rename(path)
    assert [await program.status() for _ in range(20)] == [b"1"] * 20
    assert await program.provider.ready()

    script(loop % ("/bin/bash", 3), "next")
    Path(path).with_name("next").rename(path)
    async with asyncio.timeout(30):
        while await program.status() != b"3":
            pass


async def test_the_processes_of_an_older_config_end_once_they_are_idle(provide, runtime, monkeypatch, until):
    monkeypatch.setattr(pools, "POOL_IDLE_SECONDS", 0.05)
    program = await provide(**echo())
    busy = asyncio.ensure_future(program.run(b'"hold"', seconds=0.3))
    await until(lambda: program.provider.view().pools[0].in_flight)

    await program.configure(command="true")
    assert len(program.provider.view().pools) == 1

    assert (await busy).failure.code == "deadline_exceeded"
    await until(lambda: not program.provider.view().pools)
    await until(lambda: not runtime.processes)


async def test_a_program_file_that_changes_is_picked_up(provide, runtime, script, impatient, until):
    loop = "#!/bin/bash\nwhile read -r line; do echo '{\"status\":%d}'; done\n"
    path = script(loop % 1)
    program = await provide(mode="stream", command=path, processes=2)
    assert await program.status() == b"1"

    script(loop % 22, "next")
    Path(path).with_name("next").rename(path)

    async with asyncio.timeout(30):
        while await program.status() != b"22":
            pass
    await until(lambda: program.provider.view().pools[0].running == 2)
    assert [await program.status() for _ in range(4)] == [b"22"] * 4
    await until(lambda: len(runtime.processes) == 2)
    assert program.provider.view().pools[0].spares == 0


async def test_a_process_of_the_old_file_finishes_what_it_has_and_ends(
    provide, runtime, script, impatient, until, tmp_path
):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    wait = f"[[ $line == *wait* ]] && read -r _ <{gate}"
    loop = f"#!/bin/bash\nwhile read -r line; do {wait}; echo '{{\"status\":%d}}'; done\n"
    path = script(loop % 1)
    program = await provide(mode="stream", command=path)
    assert await program.status() == b"1"
    slow = asyncio.ensure_future(program.status(b'"wait"'))
    await until(lambda: program.provider.view().pools[0].in_flight)

    script(loop % 22, "next")
    Path(path).with_name("next").rename(path)
    assert await program.status() == b"22"

    gate.write_text("go\n")
    assert await slow == b"1"
    await until(lambda: len(runtime.processes) == 1)


async def test_a_changed_program_file_is_picked_up_though_no_task_comes(provide, script, impatient, until):
    loop = "#!/bin/bash\nwhile read -r line; do echo '{\"status\":%d}'; done\n"
    path = script(loop % 1)
    program = await provide(mode="stream", command=path)
    assert await program.status() == b"1"
    [old] = program.provider.view().pools[0].processes

    script(loop % 22, "next")
    Path(path).with_name("next").rename(path)
    assert await program.provider.ready()  # asked every two seconds

    await until(lambda: [peer.pid for peer in program.provider.view().pools[0].processes] != [old.pid])
    assert await program.status() == b"22"


# ---- readiness ----


async def test_without_config_a_kind_is_not_ready(provide):
    program = await provide()

    assert not await program.provider.ready()
    assert "no program is configured" in program.provider.readiness_reason


@pytest.mark.parametrize("config", [{"command": "true", "typo": 1}, {"command": "no-such-program"}])
async def test_a_mistake_in_the_default_config_makes_a_kind_unready_until_it_is_mended(provide, config):
    program = await provide(**config)

    assert not await program.provider.ready()
    assert program.provider.readiness_reason

    await program.configure(command="true")
    assert await program.provider.ready()
    assert program.provider.readiness_reason == ""


async def test_a_kind_is_ready_as_soon_as_its_program_appears(provide, script, tmp_path):
    program = await provide(mode="stream", command=str(tmp_path / "program"))
    assert not await program.provider.ready()
    assert (await program.run()).failure.code == "program_not_found"

    script("#!/bin/bash\nwhile read -r line; do echo '{\"status\":1}'; done\n")

    assert await program.provider.ready()
    assert await program.status() == b"1"


async def test_a_mistake_in_an_override_leaves_the_kind_ready(provide):
    program = await provide(command="true")

    assert type((await program.run(override={"command": "no-such"})).failure) is Terminal
    assert await program.provider.ready()


async def test_a_program_can_say_that_it_is_not_ready(provide):
    program = await provide(**echo())

    await program.run(b'"unready"')
    assert not await program.provider.ready()
    assert program.provider.readiness_reason == "the program says: no license"

    await program.run(b'"ready"')
    assert await program.provider.ready()


async def test_a_program_that_keeps_dying_makes_its_kind_unready_until_it_stays_up(provide, script, impatient, until):
    path = script("#!/bin/bash\necho 'no database' >&2\nexit 3\n")
    program = await provide(mode="stream", command=path)
    await until(lambda: not_ready(program))

    assert not await program.provider.ready()
    assert "exit status 3" in program.provider.readiness_reason
    assert "no database" in program.provider.readiness_reason

    script("#!/bin/bash\nwhile read -r line; do echo '{\"status\":1}'; done\n", "next")
    Path(path).with_name("next").rename(path)
    await until(lambda: not not_ready(program))
    assert await program.provider.ready()
    assert await program.status() == b"1"


def not_ready(program):
    return any(pool.breaker_open for pool in program.provider.view().pools)


async def test_how_long_a_process_was_up_counts_for_the_next_delay(provide, monkeypatch, until):
    uptimes = []
    died = supervision.Supervision.died

    def noted(self, now, uptime_seconds, resources):
        uptimes.append(uptime_seconds)
        return died(self, now, uptime_seconds, resources)

    monkeypatch.setattr(supervision.Supervision, "died", noted)
    await provide(mode="stream", command="false")

    await until(lambda: uptimes)
    assert uptimes[0] > 0


async def test_while_the_breaker_is_open_one_process_at_a_time_is_tried(provide, runtime, script, impatient, until):
    program = await provide(mode="stream", command=script("#!/bin/bash\nsleep 0.05\nexit 3\n"), processes=4)
    await until(lambda: not_ready(program) and not runtime.processes)
    most, before = 0, runtime.counters.spawned

    def five_more_were_tried():
        nonlocal most
        most = max(most, len(runtime.processes))
        return runtime.counters.spawned >= before + 5

    await until(five_more_were_tried)
    assert most == 1


async def test_tasks_of_a_program_that_keeps_dying_are_given_back(provide, impatient, until):
    program = await provide(mode="stream", command="false")
    await until(lambda: not_ready(program))

    results = await asyncio.gather(*(program.run(name=f"r{n}") for n in range(5)))

    assert {type(result.failure) for result in results} <= {Released, Retry}


async def test_tasks_that_wait_when_the_breaker_opens_are_given_back(provide, impatient):
    program = await provide(mode="stream", command="bash", args=["-c", "read -r line; exit 3"])

    results = await asyncio.gather(*(program.run(name=f"r{n}") for n in range(20)))

    ends = [result.failure.code for result in results]
    assert set(ends) == {"program_died", "kind_not_ready"}
    assert ends.count("program_died") < 10
    assert {type(result.failure) for result in results if result.failure.code == "kind_not_ready"} == {Released}


async def test_starts_of_a_program_that_keeps_dying_are_spaced_out(provide, runtime, until):
    program = await provide(mode="stream", command="false")

    await until(lambda: runtime.counters.restarts == 1)

    [pool] = program.provider.view().pools
    assert (pool.running, pool.restarts, runtime.counters.spawned) == (0, 1, 1)


async def test_a_program_that_can_t_be_started_makes_its_kind_unready_at_the_third_time(provide, script, until):
    path = script("#!/no/such/interpreter\n")
    program = await provide(mode="stream", command=path)
    failures = [(await program.run()).failure for _ in range(3)]

    assert {(type(failure), failure.code) for failure in failures} == {(Terminal, "interpreter_missing")}
    assert not await program.provider.ready()
    assert "/no/such/interpreter" in program.provider.readiness_reason

    script("#!/bin/bash\nwhile read -r line; do echo '{\"status\":1}'; done\n", "next")
    Path(path).with_name("next").rename(path)
    changes = []
    program.provider.on_ready_change = lambda: changes.append(True)
    await program.provider.ready()  # tries again
    await until(lambda: changes)
    assert await program.provider.ready()


async def test_a_one_shot_program_that_can_t_be_started_makes_its_kind_unready_at_the_third_time(provide, script):
    changes = []
    path = script("#!/no/such/interpreter\n")
    program = await provide(command=path)
    program.provider.on_ready_change = lambda: changes.append(True)

    for expected in (True, True, False):
        assert await program.provider.ready() or not expected
        assert type((await program.run()).failure) is Terminal
    assert changes == [True]
    assert not await program.provider.ready()
    assert "/no/such/interpreter" in program.provider.readiness_reason

    script("#!/bin/bash\n", "next")
    Path(path).with_name("next").rename(path)
    assert await program.provider.ready()


async def test_a_config_edit_forgives_the_mistakes_of_the_config_before(provide, script):
    path = script("#!/no/such/interpreter\n")
    program = await provide(command=path)
    for _ in range(3):
        await program.run()
    assert not await program.provider.ready()

    await program.configure(command=path, args=["-x"])

    assert await program.provider.ready()


async def test_an_unready_one_shot_kind_gets_another_chance_after_a_minute(provide, script, monkeypatch):
    path = script("#!/no/such/interpreter\n")
    program = await provide(command=path)
    for _ in range(3):
        await program.run()
    assert not await program.provider.ready()

    now = time.monotonic()
    monkeypatch.setattr(provider.time, "monotonic", lambda: now + provider.MISTAKE_SECONDS + 1)
    assert await program.provider.ready()


async def test_a_resource_s_own_mistakes_leave_its_kind_ready(provide):
    program = await provide(command="true")

    for _ in range(4):
        failure = (await program.run(override={"env": {"LARGE": "x" * 200_000}})).failure
        assert (type(failure), failure.code) == (Terminal, "argument_too_long")

    assert await program.provider.ready()


async def test_a_process_that_says_it_is_not_ready_is_asked_only_if_no_other_is_there(provide):
    program = await provide(**echo(processes=2))
    await asyncio.gather(*(program.run() for _ in range(8)))
    unready = (await status(program, b'"unready"'))["pid"]

    assert unready not in {(await status(program))["pid"] for _ in range(20)}
    assert await program.provider.ready()


# ---- spares ----

SLOW = r"""
import json, os, sys, time
time.sleep(2)
print("warm:", os.getpid(), file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request.get("spec") == "die": os._exit(1)
    print(json.dumps({"id": request["id"], "status": os.getpid()}), flush=True)
"""


async def test_a_spare_follows_at_once_where_a_start_takes_long(provide, until, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    program = await provide(mode="stream", command=sys.executable, args=["-S", "-c", SLOW], spares=1)
    await until(lambda: program.provider.view().pools[0].spares)
    [_, spare] = program.provider.view().pools[0].processes
    await until(lambda: f"warm: {spare.pid}" in caplog.text)

    assert (await program.run(b'"die"')).failure.code == "program_died"

    assert int(await program.status()) == spare.pid
    await until(lambda: program.provider.view().pools[0].spares)


async def test_spares_get_no_requests_and_are_told_of_edits(provide, caplog, until):
    caplog.set_level(logging.INFO, "stdworker.program")
    config = echo(env={"HELLO": '{"hello":{"config":true}}'}, processes=1, spares=2)
    program = await provide(**config)
    await until(lambda: program.provider.view().pools[0].spares == 2)

    assert len({(await status(program))["pid"] for _ in range(20)}) == 1
    pool = program.provider.view().pools[0]
    assert (pool.wanted, pool.running, pool.spares, len(pool.processes)) == (1, 1, 2, 3)
    assert program.provider.credit == 1


async def test_a_changed_program_file_replaces_the_spares_too(provide, runtime, script, impatient, until):
    loop = "#!/bin/bash\nwhile read -r line; do echo '{\"status\":%d}'; done\n"
    path = script(loop % 1)
    program = await provide(mode="stream", command=path, processes=2, spares=2)
    await until(lambda: program.provider.view().pools[0].spares == 2)
    old = {peer.pid for peer in program.provider.view().pools[0].processes}

    script(loop % 22, "next")
    Path(path).with_name("next").rename(path)
    await program.run()

    await until(lambda: not old & {process.pid for process in runtime.processes})
    await until(lambda: len(runtime.processes) == 4)
    pool = program.provider.view().pools[0]
    assert (pool.running, pool.spares, pool.restarts) == (2, 2, 0)


# ---- view and change ----


async def test_the_view_shows_processes_and_what_they_do(provide, until):
    program = await provide(**echo(processes=2, concurrency=2))
    await until(lambda: program.provider.view().pools[0].running == 2)
    pids = {(await status(program, name=f"r{n}"))["pid"] for n in range(3)}
    held = asyncio.ensure_future(program.run(b'"hold"', seconds=30))
    await until(lambda: program.provider.view().pools[0].in_flight)

    view = program.provider.view()
    [pool] = view.pools

    assert (view.mode, view.breaker_open, pool.default, pool.in_flight, pool.waiting) == ("stream", False, True, 1, 0)
    assert pids <= {peer.pid for peer in pool.processes}
    assert sum(peer.answered for peer in pool.processes) == 3
    assert all(peer.uptime_seconds >= 0 for peer in pool.processes)
    held.cancel()


async def test_the_view_of_a_kind_without_config_says_so(provide):
    program = await provide()
    await program.provider.ready()

    view = program.provider.view()

    assert (view.mode, view.ready, view.pools) == (None, False, ())
    assert "no program is configured" in view.reason


async def test_a_change_of_readiness_is_told_at_once(provide):
    told = []
    program = await provide(**echo())
    program.provider.on_ready_change = lambda: told.append(True)

    await program.run(b'"unready"')
    assert told == [True]
    await program.run(b'"ready"')
    assert told == [True, True]


async def test_a_breaker_that_opens_is_told_at_once(provide, impatient, until):
    told = []
    program = await provide(mode="stream", command="false")
    program.provider.on_ready_change = lambda: told.append(True)

    await until(lambda: told)

    assert program.provider.view().breaker_open


# ---- secrets ----


async def test_secrets_are_masked_in_what_a_program_says_before_its_first_task(provide, caplog, until):
    caplog.set_level(logging.INFO, "stdworker.program")
    loop = 'echo "my token is $API_TOKEN" >&2; cat'
    await provide(mode="stream", command="bash", args=["-c", loop], env={"API_TOKEN": "very-secret"})

    await until(lambda: "my token is ***" in caplog.text)


async def test_secrets_of_every_task_that_shares_a_process_are_masked(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    loop = "while read -r line; do echo \"$line\" >&2; echo '{}'; done"
    program = await provide(mode="stream", command="bash", args=["-c", loop], settings={"api_token": "token-of-all"})

    await program.run(override={"settings": {"password": "only-mine"}})
    await program.run()
    await program.provider.close()

    assert "***" in caplog.text
    assert "token-of-all" not in caplog.text
    assert "only-mine" not in caplog.text
