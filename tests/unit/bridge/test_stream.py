"""A persistent program: ids decide whose answer it is, and no request ever hangs or gets another's answer."""

import asyncio
import json
import logging
import os
import sys

import pytest

from stdworker.bridge import conversation, stream, supervision
from stdworker.errors import Released, Retry, Terminal
from stdworker.process import stop

pytestmark = pytest.mark.anyio

# Does what `spec.do` says. Everything it is told that is no request goes to its stderr.
PUPPET = r"""
import json, os, sys, time
def say(text): os.write(1, text.encode() + b"\n")
def answer(request, status): say(json.dumps({"id": request["id"], "status": status}))
if "HELLO" in os.environ: say(os.environ["HELLO"])
held = []
for line in sys.stdin:
    request = json.loads(line)
    if "protocol" not in request:
        print("told:", line.strip(), file=sys.stderr, flush=True)
        if "cancel" in request and os.environ.get("ON_CANCEL") == "answer": answer(request["cancel"], "cancelled")
        continue
    spec = request.get("spec") or {}
    do = spec.get("do", "echo")
    if do == "echo": answer(request, spec)
    elif do == "pid": answer(request, os.getpid())
    elif do == "config": answer(request, request.get("config"))
    elif do == "hang": pass
    elif do == "die": print("last words", file=sys.stderr, flush=True); os._exit(7)
    elif do == "hold": held.append(request)
    elif do == "release":
        for other in [request, *reversed(held)]: answer(other, other["spec"])
        held.clear()
    elif do == "say": say(spec["text"].replace("$ID", request["id"]))
    elif do == "close": os.close(1)
"""


def puppet(**config):
    return {"mode": "stream", "command": sys.executable, "args": ["-S", "-c", PUPPET], "grace_seconds": 5, **config}


def do(what, **more):
    return json.dumps({"do": what, **more}).encode()


def say(text):
    return do("say", text=text)


async def failure(running):
    return (await running).failure


# ---- programs of every kind ----


async def test_a_bare_loop_in_bash_is_a_complete_program(provide, runtime):
    loop = 'while read -r line; do n=${line##*\\"n\\":}; echo "{\\"status\\":${n%%\\}*}}"; done'
    program = await provide(mode="stream", command="bash", args=["-c", loop])

    assert [await program.status(b'{"n":%d}' % n) for n in range(5)] == [b"%d" % n for n in range(5)]
    assert runtime.counters.spawned == 1


NODE = r"""
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {id, spec} = JSON.parse(line)
  console.log(JSON.stringify({id, status: spec}))
})
"""
PYTHON = r"""
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "status": request["spec"]}))
"""


@pytest.mark.parametrize(
    ("command", "args"),
    [("jq", ["--unbuffered", "-c", "{id, status: .spec}"]), ("node", ["-e", NODE]), ("python3", ["-c", PYTHON])],
)
async def test_programs_in_any_language_answer_many_requests_at_once(provide, runtime, command, args):
    program = await provide(mode="stream", command=command, args=args, concurrency=8)

    answers = await asyncio.gather(*(program.status(b"%d" % n) for n in range(100)))

    assert answers == [b"%d" % n for n in range(100)]
    assert runtime.counters.spawned == 1


async def test_large_requests_and_answers_pass(provide):
    program = await provide(**puppet(concurrency=4))
    spec = json.dumps({"x": "é" * 300_000}).encode()

    assert await asyncio.gather(*(program.status(spec) for _ in range(4))) == [spec] * 4


async def test_the_environment_of_a_persistent_program_names_its_kind_and_no_resource(provide):
    loop = 'while read -r line; do echo "{\\"status\\":\\"${!STDWORKER_*}\\"}"; done'
    program = await provide(mode="stream", command="bash", args=["-c", loop])

    assert await program.status() == b'"STDWORKER_KIND STDWORKER_PROCESS"'


# ---- ids ----


async def test_answers_may_come_in_any_order(provide):
    program = await provide(**puppet(concurrency=4))

    answers = await asyncio.gather(
        program.status(do("hold", n=1)), program.status(do("hold", n=2)), program.status(do("release", n=3))
    )

    assert [json.loads(answer)["n"] for answer in answers] == [1, 2, 3]


async def test_unknown_ids_and_second_answers_are_dropped_and_counted(provide, runtime):
    program = await provide(**puppet())

    await program.status(say('{"id":"nobody","status":1}\n{"id":"$ID","status":2}\n{"id":"$ID","status":3}'))
    assert await program.status(do("echo")) == do("echo")

    assert runtime.counters.dropped_answers == 2


ECHO_TWICE = r"""
import json, sys
for line in sys.stdin:
    answer = json.dumps({"status": json.loads(line)["spec"]})
    print(answer + "\n" + answer, flush=True)
"""


async def test_after_an_answer_without_id_that_nobody_waited_for_no_other_is_believed(provide, runtime):
    program = await provide(mode="stream", command=sys.executable, args=["-S", "-c", ECHO_TWICE])

    answers = [await program.status(b"%d" % n) for n in range(4)]

    assert answers == [b"0", b"1", b"2", b"3"]
    assert runtime.counters.spawned > 1


RECORDS = '{"level":30,"msg":"listening"}'


async def test_a_json_record_in_place_of_the_answer_that_is_due_fails_it(provide):
    told = await failure((await provide(**puppet())).run(say(RECORDS)))

    assert (type(told), told.code) == (Terminal, "not_a_response")
    assert "no field of a response, only level, msg" in told.message


async def test_a_json_record_beside_answers_is_stray(provide, runtime, until):
    program = await provide(**puppet(env={"HELLO": RECORDS}, concurrency=2))
    await until(lambda: runtime.counters.stray_lines == 1)
    held = asyncio.ensure_future(program.run(do("hold")))
    await program_is_up(program, held)

    assert await program.status(say(RECORDS + '\n{"id":"$ID","status":1}')) == b"1"

    assert runtime.counters.stray_lines == 2
    assert not held.done()
    held.cancel()


async def test_an_answer_without_id_is_taken_while_one_request_is_in_flight(provide):
    assert await (await provide(**puppet(concurrency=4))).status(say('{"status":1}')) == b"1"


async def test_an_answer_without_id_among_several_fails_them_to_be_tried_again(provide):
    program = await provide(**puppet(concurrency=4))
    others = [asyncio.ensure_future(program.run(do("hold"))) for _ in range(2)]
    await asyncio.sleep(0)

    failures = [await failure(program.run(say('{"status":1}'))), *[await failure(other) for other in others]]

    assert [(type(each), each.code) for each in failures] == [(Retry, "bad_id")] * 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"id":null,"status":1}', "bad_id"),
        ('{"id":7,"status":1}', "bad_id"),
        ('{"id":"$ID","status":NaN}', "not_finite"),
        ('{"id":"$ID","status":1,"status":2}', "duplicate_key"),
        ('{"id":"$ID","conditions":{}}', "bad_response"),
        ("{id: 1}", "bad_json"),
        ("{", "cut_short"),
    ],
)
async def test_a_bad_answer_fails_its_request_and_the_process_goes_on(provide, runtime, text, code):
    program = await provide(**puppet())

    told = await failure(program.run(say(text)))

    assert (type(told), told.code) == (Terminal, code)
    assert await program.status(do("echo")) == do("echo")
    assert runtime.counters.spawned == 1


async def test_a_bad_answer_that_names_its_request_harms_no_other(provide):
    program = await provide(**puppet(concurrency=4))
    other = asyncio.ensure_future(program.run(do("hold", n=1)))
    await asyncio.sleep(0)

    assert type(await failure(program.run(say('{"id":"$ID","status":NaN}')))) is Terminal
    await program.run(do("release"))

    assert (await other).failure is None


async def test_a_bad_answer_to_nobody_is_dropped_and_harms_no_request(provide, runtime):
    program = await provide(**puppet())

    assert await program.status(say('{"id":"nobody","status":NaN}\n{"id":"$ID","status":1}')) == b"1"

    assert runtime.counters.dropped_answers == 1


async def test_an_answer_over_several_lines_is_explained_and_the_next_request_works(provide):
    program = await provide(**puppet())

    told = await failure(program.run(say(json.dumps({"id": "$ID", "status": {"a": [{"b": 1}]}}, indent=2))))

    assert "one line" in told.hint
    assert await program.status(do("echo")) == do("echo")


async def test_stray_lines_are_counted_for_the_request_and_strictly_they_fail_it(provide):
    text = 'hello\n\n{"id":"$ID"}'

    assert (await (await provide(**puppet())).run(say(text))).stray_lines == 1
    assert (await failure((await provide(**puppet(strict=True))).run(say(text)))).code == "stray_output"


async def test_after_a_request_ended_unanswered_an_answer_without_id_is_dropped_and_the_request_runs_elsewhere(
    provide, runtime, tmp_path
):
    answers_badly_once = (
        f"while read -r line; do if [ -e {tmp_path}/bad ]; then echo '{{\"status\":1}}';"
        f" else touch {tmp_path}/bad; echo '{{'; fi; done"
    )
    program = await provide(mode="stream", command="bash", args=["-c", answers_badly_once])
    assert (await failure(program.run())).code == "cut_short"

    assert await program.status() == b"1"

    assert runtime.counters.dropped_answers == 1
    assert runtime.counters.spawned == 2


# ---- limits ----


async def test_a_line_over_the_limit_is_named_and_the_next_request_on_the_process_works(provide, runtime):
    program = await provide(**puppet(limits={"line_bytes": 1_000}))

    told = await failure(program.run(say('{"id":"$ID","status":"' + "x" * 500_000 + '"}')))

    assert (type(told), told.code) == (Terminal, "line_too_long")
    assert "raise limits.line_bytes" in told.hint
    assert await program.status(do("echo")) == do("echo")
    assert runtime.counters.spawned == 1


async def test_what_may_be_printed_is_counted_for_each_request_not_for_the_process(provide, runtime):
    program = await provide(**puppet(concurrency=2, limits={"stdout_bytes": 100_000}))
    held = asyncio.ensure_future(program.run(do("hold")))
    await program_is_up(program, held)

    for _ in range(5):
        assert (await program.run(do("echo", long="x" * 40_000))).failure is None

    assert runtime.counters.spawned == 1
    held.cancel()


async def test_a_flood_without_an_answer_is_cut_and_named_and_the_next_request_runs(provide, runtime):
    program = await provide(**puppet(limits={"stdout_bytes": 100_000}))

    result = await program.run(say("flood\n" * 100_000))

    assert (type(result.failure), result.failure.code) == (Terminal, "output_too_large")
    assert result.failure.hint == "raise limits.stdout_bytes"
    assert await program.status(do("echo")) == do("echo")
    assert runtime.counters.spawned == 2


# ---- time ----


async def test_a_late_answer_never_reaches_another_request(provide, runtime):
    program = await provide(**puppet(timeout_seconds=0.3))

    told = await failure(program.run(do("hold", n="late")))

    assert (type(told), told.code) == (Retry, "deadline_exceeded")
    assert await program.status(do("release", n=2)) == do("release", n=2)
    assert runtime.counters.spawned == 2


async def test_ten_hung_requests_don_t_keep_the_eleventh_from_running(provide):
    program = await provide(**puppet(timeout_seconds=0.2))

    hung = await asyncio.gather(*(failure(program.run(do("hang"))) for _ in range(10)))

    assert {told.code for told in hung} == {"deadline_exceeded"}
    assert await program.status(do("echo")) == do("echo")


async def test_replacing_a_process_lets_its_other_requests_finish(provide, runtime, until):
    program = await provide(**puppet(concurrency=4))
    slow = asyncio.ensure_future(program.run(do("hold", n=1)))
    await asyncio.sleep(0)
    hung = asyncio.ensure_future(program.run(do("hold", n=2), seconds=0.2))
    releasing = asyncio.ensure_future(program.run(do("hold", n=3)))
    await asyncio.sleep(0)
    assert (await hung).failure.code == "deadline_exceeded"

    assert await program.status(do("pid")) != b""
    assert runtime.counters.spawned == 2
    assert not slow.done()
    slow.cancel()
    releasing.cancel()
    await until(lambda: len(runtime.processes) == 1)


async def test_a_program_that_announced_cancel_is_told_and_kept(provide, runtime, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    hello = '{"hello":{"protocol":1,"cancel":true}}'
    program = await provide(**puppet(env={"HELLO": hello, "ON_CANCEL": "answer"}))
    await program.status(do("echo"))

    told = await failure(program.run(do("hang"), seconds=0.2))

    assert told.code == "deadline_exceeded"
    assert await program.status(do("echo")) == do("echo")
    assert runtime.counters.spawned == 1
    assert 'told: {"cancel":{"id":' in caplog.text


async def test_a_program_that_ignores_its_cancel_is_replaced_after_the_grace_period(provide, runtime):
    hello = '{"hello":{"protocol":1,"cancel":true}}'
    program = await provide(**puppet(env={"HELLO": hello}, grace_seconds=0.1))
    await program.status(do("echo"))

    await program.run(do("hang"), seconds=0.2)

    assert await program.status(do("echo")) == do("echo")
    assert runtime.counters.spawned == 2


async def test_a_cancelled_task_costs_the_process_and_ends_promptly(provide, runtime, alive, until):
    program = await provide(**puppet())
    first = int(await program.status(do("pid")))
    running = asyncio.create_task(program.provider.work(program.request(do("hang"))))
    await asyncio.sleep(0)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert int(await program.status(do("pid"))) != first
    await until(lambda: first not in alive())


async def test_a_task_that_waits_for_room_can_be_cancelled_or_run_out_of_time(provide):
    program = await provide(**puppet())
    busy = asyncio.ensure_future(program.run(do("hang")))
    await program_is_up(program, busy)
    waiting = asyncio.create_task(program.provider.work(program.request(do("echo"))))
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    told = await failure(program.run(do("echo"), seconds=0.1))

    assert (type(told), told.code) == (Retry, "deadline_exceeded")
    busy.cancel()


async def program_is_up(program, running):
    """The first request has been sent: the pool has no room left."""
    while not any(pool.in_flight for pool in program.provider.view().pools):
        assert not running.done()
        await asyncio.sleep(0.005)


async def test_progress_reaches_its_request_and_keeps_it_alive(provide):
    program = await provide(**puppet(concurrency=2, progress_timeout_seconds=0.3))
    told = []
    notice = '{"progress":{"id":"$ID","fraction":0.25,"message":"a quarter"}}'

    result = await program.run(say(notice), report_progress=lambda *progress: told.append(progress))

    assert result.failure.code == "progress_timeout"
    assert told == [(0.25, "a quarter")]


async def test_a_request_lives_as_long_as_its_progress_goes_on(provide):
    steps = "for i in 1 2 3; do sleep 0.8; echo '{\"progress\":{}}'; done"
    loop = f"while read -r line; do {steps}; echo '{{\"status\":1}}'; done"
    program = await provide(mode="stream", command="bash", args=["-c", loop], progress_timeout_seconds=2)

    assert await program.status() == b"1"


async def test_a_program_that_has_written_before_gets_no_hint(provide, caplog):
    program = await provide(**puppet())
    await program.run(do("echo"))
    hung = asyncio.ensure_future(program.run(do("hang")))
    await program_is_up(program, hung)
    [pool] = program.provider._pools

    pool._places.working[0]._said._suspect_buffering()  # what the timer does

    assert "has written nothing" not in caplog.text
    hung.cancel()


async def test_a_program_that_says_nothing_for_a_while_gets_a_hint_why(provide, caplog, monkeypatch, until):
    monkeypatch.setattr(conversation, "HINT_SECONDS", 0.05)
    program = await provide(mode="stream", command="jq", args=["-c", "{id}"])
    running = asyncio.ensure_future(program.run())

    await until(lambda: "jq --unbuffered" in caplog.text)
    assert "mode oneshot" in caplog.text

    running.cancel()


# ---- death ----


async def test_a_process_that_dies_fails_its_request_with_how_and_why(provide):
    program = await provide(**puppet())

    result = await program.run(do("die"))

    assert (type(result.failure), result.failure.code) == (Retry, "program_died")
    assert "exit status 7" in result.failure.message
    assert result.failure.message.endswith(": last words")
    assert result.exit.code == 7
    assert await program.status(do("echo")) == do("echo")


async def test_an_answer_that_death_cut_short_is_a_death_not_a_bad_answer(provide):
    program = await provide(mode="stream", command="sh", args=["-c", "read line; printf '{\"id\":'; exit 7"])

    failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Retry, "program_died")
    assert "exit status 7" in failure.message


async def test_a_killed_process_is_reported_as_killed(provide):
    program = await provide(**puppet())
    pid = int(await program.status(do("pid")))
    running = asyncio.ensure_future(program.run(do("hang")))
    await program_is_up(program, running)

    os.kill(pid, 9)

    assert "killed by SIGKILL, not by this worker" in (await running).failure.message


async def test_of_several_requests_only_the_one_that_kills_its_process_fails(provide):
    program = await provide(**puppet(concurrency=8))

    results = await asyncio.gather(
        *(program.run(do("die" if n == 3 else "echo", n=n), name=f"r{n}") for n in range(8)),
    )

    assert [n for n, result in enumerate(results) if result.failure] == [3]
    assert results[3].failure.code == "program_died"


async def test_a_poisonous_resource_doesn_t_keep_the_others_waiting(provide, monkeypatch):
    program = await provide(**puppet())

    for n in range(6):
        assert (await program.run(do("die"), name="poison")).failure.code == "program_died"
        assert await program.status(do("echo", n=n)) == do("echo", n=n)

    assert await program.provider.ready()


async def test_resources_that_kill_their_process_now_and_then_don_t_make_the_kind_unready(provide):
    program = await provide(**puppet())

    for n in range(supervision.DEATHS_MAX + 2):
        assert (await program.run(do("die"), name=f"r{n}")).failure.code == "program_died"
        assert await program.status(do("echo", n=n), seconds=5) == do("echo", n=n)

    assert await program.provider.ready()
    assert not program.provider.view().breaker_open


async def test_a_program_that_closes_its_stdout_is_ended(provide, monkeypatch):
    monkeypatch.setattr(stream, "HALF_CLOSED_SECONDS", 0.05)

    told = await failure((await provide(**puppet())).run(do("close")))

    assert told.code == "program_died"
    assert "closed its stdout" in told.message


async def test_an_answer_written_just_before_death_counts(provide):
    loop = "read -r line; echo '{\"status\":1}'; exit 3"
    program = await provide(mode="stream", command="bash", args=["-c", loop])

    assert await program.status() == b"1"


# ---- stopping ----


async def test_closing_gives_running_and_waiting_tasks_back(provide):
    program = await provide(**puppet())
    tasks = [asyncio.ensure_future(program.run(do("hang"))) for _ in range(3)]
    await program_is_up(program, tasks[0])

    await program.provider.close()

    assert {(type(result.failure), result.failure.code) for result in await asyncio.gather(*tasks)} == {
        (Released, "shutting_down")
    }
    assert type(await failure(program.run())) is Released


async def test_a_program_is_asked_to_shut_down_then_sees_the_end_of_its_input(provide, tmp_path):
    log = tmp_path / "log"
    loop = (
        'echo \'{"hello":{"shutdown":true}}\'; while read -r line; do '
        f'case $line in *shutdown*) echo "told" >>{log};; *) echo "{{}}";; esac; done; echo "eof" >>{log}'
    )
    program = await provide(mode="stream", command="bash", args=["-c", loop])
    await program.run()

    await program.provider.close()

    assert log.read_text() == "told\neof\n"


async def test_control_lines_go_only_to_those_who_announced_them(provide, runtime, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    program = await provide(**puppet(env={"HELLO": '{"hello":{}}'}))
    await program.run(do("echo"))

    await failure(program.run(do("hang"), seconds=0.1))
    await program.configure(**puppet(env={"HELLO": '{"hello":{}}'}, settings={"a": 1}))
    await program.status(do("echo"))
    await program.provider.close()

    assert "told:" not in caplog.text
    assert runtime.counters.spawned == 2


async def test_a_hello_counts_as_the_first_line_only(provide, runtime, caplog):
    program = await provide(**puppet())
    await program.run(say('{"id":"$ID"}\n{"hello":{"cancel":true}}'))

    await failure(program.run(do("hang"), seconds=0.1))
    await program.run(do("echo"))

    assert "ignored a hello that is not the first line" in caplog.text
    assert runtime.counters.spawned == 2


async def test_a_line_with_two_notices_is_none(provide):
    program = await provide(**puppet())
    seen = []

    failed = await failure(
        program.run(
            say('{"log":"a","progress":{"fraction":0.5}}'), report_progress=lambda *progress: seen.append(progress)
        )
    )

    assert (failed.code, seen) == ("not_a_response", [])


async def test_a_program_that_stays_after_the_end_of_its_input_gets_sigterm_first(provide, tmp_path):
    log = tmp_path / "log"
    loop = f"trap 'echo term >{log}; exit' TERM; read -r line; echo '{{}}'; while :; do sleep 0.01; done"
    program = await provide(mode="stream", command="bash", args=["-c", loop], grace_seconds=2)
    await program.run()

    await program.provider.close()

    assert log.read_text() == "term\n"


async def test_a_program_that_ignores_everything_is_killed(provide, alive, until):
    loop = "trap '' TERM; read -r line; echo '{}'; while :; do sleep 0.01; done"
    program = await provide(mode="stream", command="bash", args=["-c", loop], grace_seconds=0.1)
    await program.run()

    await program.provider.close()

    await until(lambda: not alive())


async def test_descendants_of_a_persistent_program_end_with_it(provide, alive, until):
    loop = "sleep 1000 & while read -r line; do echo '{}'; done"
    program = await provide(mode="stream", command="bash", args=["-c", loop])
    await program.run()
    await until(lambda: len(alive()) == 2)

    await program.provider.close()

    await until(lambda: not alive())


async def test_a_program_that_closes_its_stdin_is_ended_and_its_request_never_waits_for_good(provide, monkeypatch):
    monkeypatch.setattr(stream, "HALF_CLOSED_SECONDS", 0.05)
    deaf = "import os, signal; os.close(0); os.write(1, b'{\"ready\":false}\\n'); signal.pause()"
    program = await provide(mode="stream", command=sys.executable, args=["-S", "-c", deaf], grace_seconds=0.1)
    await ready_is_told(program)

    told = await failure(program.run())

    assert (type(told), told.code) == (Retry, "program_died")
    assert "by this worker (it closed its stdin)" in told.message


async def test_a_program_that_closed_its_stdin_may_still_answer_what_it_read(provide):
    last = 'read -r line; exec <&-; printf \'{"log":"deaf"}\\n\'; sleep 0.2; echo \'{"status":1}\''
    program = await provide(mode="stream", command="bash", args=["-c", last])

    assert await program.status() == b"1"


async def test_a_program_that_closed_its_stdout_gets_no_more_requests(provide, runtime, until):
    program = await provide(**puppet(processes=2))
    await until(lambda: runtime.counters.spawned == 2)
    closing = asyncio.ensure_future(program.run(do("close")))
    await until(lambda: any(peer.in_flight for peer in program.provider.view().pools[0].processes))

    answers = [await program.status(do("echo", n=n)) for n in range(4)]

    assert answers == [do("echo", n=n) for n in range(4)]
    assert (await closing).failure.code == "program_died"


HAUNTED = r"""
import json, os, sys
print('{"hello":{"cancel":true}}', flush=True)
given_up = False
for line in sys.stdin:
    request = json.loads(line)
    given_up = given_up or "cancel" in request
    if "cancel" in request or request["spec"] == "hang": continue
    if given_up: os._exit(3)
    print(json.dumps({"id": request["id"], "status": request["spec"]}), flush=True)
"""


async def test_a_request_is_not_blamed_for_a_death_that_one_which_was_given_up_may_have_caused(provide, runtime):
    program = await provide(mode="stream", command=sys.executable, args=["-S", "-c", HAUNTED], concurrency=2)
    assert (await failure(program.run(b'"hang"', seconds=0.2))).code == "deadline_exceeded"

    assert await program.status(b"1", name="innocent") == b"1"

    assert runtime.counters.spawned == 2


async def test_a_process_that_can_t_be_ended_is_waited_for_no_longer(provide, runtime, alive, monkeypatch):
    monkeypatch.setattr(stop, "REAP_SECONDS", 0.05)
    program = await provide(mode="stream", command="sleep", args=["600"], grace_seconds=0.05)
    with monkeypatch.context() as elsewhere:  # as for a program that became another user
        elsewhere.setattr(os, "killpg", refuse)

        assert (await failure(program.run(seconds=0.1))).code == "deadline_exceeded"
        assert (await failure(program.run(seconds=0.1))).code == "deadline_exceeded"
        await program.provider.close()

        assert runtime.counters.unstoppable >= 2


def refuse(*_):
    raise PermissionError


async def ready_is_told(program):
    told = asyncio.Event()
    program.provider.on_ready_change = told.set
    await asyncio.wait_for(told.wait(), 30)
