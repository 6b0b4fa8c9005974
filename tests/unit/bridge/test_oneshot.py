"""A process for each request: the exit status decides first, then what it printed; afterwards nothing is left."""

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from stdworker.bridge import oneshot
from stdworker.bridge import runtime as runtimes
from stdworker.errors import Released, Retry, Terminal
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import Stage
from stdworker.model.outcome import Condition
from stdworker.model.resource import Resource
from stdworker.process.spawn import spawn

pytestmark = pytest.mark.anyio


def bash(text: str) -> dict:
    return {"command": "bash", "args": ["-c", text]}


async def test_a_bash_program_becomes_a_status(provide):
    program = await provide(**bash('read -r request; jq -c "{status: {n: .spec.n}}" <<<"$request"'))

    result = await program.run()

    assert result.outcome.status == b'{"n":1}'
    assert (result.exit.code, result.stray_lines, result.failure) == (0, 0, None)


async def test_numbers_are_exact_both_ways(provide, script):
    program = await provide(command=script("#!/bin/sh\nprintf '{\"status\":'; cat; printf '}'"))

    status = await program.status(b'{"a":9007199254740993,"b":1.0,"c":18446744073709551616,"d":1e5}')

    assert b'"spec":{"a":9007199254740993,"b":1.0,"c":18446744073709551616,"d":1e5}' in status


async def test_the_request_and_the_environment_say_whom_it_is_about(provide):
    program = await provide(
        command="jq", args=["-c", '{status: {request: ., env: $ENV | with_entries(select(.key | test("WORKER_")))}}']
    )

    status = json.loads(await program.status())

    assert (
        status["env"].items()
        >= {
            "STDWORKER_KIND": "greeter",
            "STDWORKER_NAME": "ada",
            "STDWORKER_UID": "uid-of-ada",
            "STDWORKER_GENERATION": "7",
            "STDWORKER_REACTION": "work",
        }.items()
    )
    assert status["request"]["generation"] == 7


async def test_silence_is_nothing_to_report(provide):
    result = await (await provide(command="true")).run()

    assert result.failure is None
    assert result.outcome.status is None


async def test_a_program_may_answer_without_reading_its_input(provide):
    program = await provide(**bash("exec <&-; echo '{\"status\":1}'"))

    assert await program.status(b'"' + b"x" * 1_000_000 + b'"') == b"1"


async def test_a_program_that_writes_before_it_reads_doesn_t_deadlock(provide):
    program = await provide(
        **bash("printf '{\"status\":\"'; head -c 1000000 /dev/zero | tr '\\0' x; cat >/dev/null; printf '\"}'")
    )

    assert len(await program.status(b'"' + b"y" * 1_000_000 + b'"')) == 1_000_002


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("exit 1", Retry, "exit_transient"),
        ("exit 2", Terminal, "exit_terminal"),
        ("exit 3", Retry, "exit_transient"),
        ("echo '{\"status\":1}'; exit 3", Retry, "exit_transient"),
        ("echo '{\"status\":1}'; exit 2", Terminal, "exit_terminal"),
        ("echo '{\"status\":1}'; kill -9 $$", Retry, "killed_by_signal"),
        ("kill -SEGV $$", Retry, "killed_by_signal"),
        ('echo \'{"error":{"message":"m"}}\'', Retry, "program_failed"),
        ('echo \'{"error":{"message":"m","terminal":true}}\'', Terminal, "program_failed"),
        ('echo \'{"error":{"message":"m","terminal":true}}\'; exit 1', Retry, "program_failed"),
        ('echo \'{"error":{"message":"m"}}\'; exit 2', Terminal, "program_failed"),
        ("echo hello", Terminal, "not_a_response"),
        ("echo '[1]'", Terminal, "bad_response"),
        ('echo \'{"status":{"a":1}\'', Terminal, "cut_short"),
        ("echo '{\"status\":NaN}'", Terminal, "not_finite"),
        ('echo \'{"conditions":[{"type":"Ready","status":"yes"}]}\'', Terminal, "bad_response"),
        ('printf \'{"status":"\\xff"}\'', Terminal, "not_utf8"),
        ("echo '{\"status\":1}'; echo '{\"status\":2}'", Terminal, "two_responses"),
        ("echo '{\"state\":1}'", Terminal, "not_a_response"),
        ("no-such-command", Retry, "exit_transient"),
    ],
)
async def test_the_table_of_exits(provide, text, kind, code):
    result = await (await provide(**bash(text))).run()

    assert type(result.failure) is kind
    assert result.failure.code == code


async def test_an_error_carries_reason_delay_and_status(provide):
    answer = '{"error":{"message":"busy","reason":"Busy","retry_after_seconds":7},"status":{"seen":1}}'
    failure = (await (await provide(**bash(f"echo '{answer}'"))).run()).failure

    assert (failure.message, failure.reason, failure.after, failure.status) == ("busy", "Busy", 7, b'{"seen":1}')


async def test_the_status_that_comes_with_a_bad_exit_status_is_kept(provide):
    for text in ('{"status":{"seen":1}}', '{"error":{"message":"busy"},"status":{"seen":1}}'):
        failure = (await (await provide(**bash(f"echo '{text}'; exit 1"))).run()).failure
        assert failure.status == b'{"seen":1}'


async def test_a_failure_shows_the_end_of_stderr(provide):
    program = await provide(
        **bash("seq 1 20000 >&2; echo the last words >&2; exit 1"), limits={"stderr_tail_bytes": 1000}
    )

    failure = (await program.run()).failure

    assert failure.message.endswith("20000\nthe last words")
    assert 900 < len(failure.message) < 1200


@pytest.mark.parametrize("printed", ["no such region", '{"error":"no such region"}'])
async def test_a_program_that_says_on_stdout_why_it_failed_is_heard_if_stderr_is_silent(provide, printed):
    silent = (await (await provide(**bash(f"echo '{printed}'; exit 1"))).run()).failure
    loud = (await (await provide(**bash(f"echo '{printed}'; echo 'see above' >&2; exit 1"))).run()).failure

    assert silent.message == f"the program failed: exit status 1; received: {printed}"
    assert loud.message == "the program failed: exit status 1: see above"


async def test_an_error_without_a_message_is_still_said_to_be_one(provide):
    failure = (await (await provide(**bash('echo \'{"error":{"message":""}}\''))).run()).failure

    assert failure.message == "the program reported an error without a message"


async def test_stray_lines_are_counted_and_the_response_is_used(provide, caplog):
    result = await (await provide(**bash("echo one; echo '{\"status\":1}'; echo two"))).run()

    assert (result.outcome.status, result.stray_lines) == (b"1", 2)
    assert "stray output" in caplog.text


async def test_strict_makes_stray_output_terminal(provide):
    failure = (await (await provide(**bash("echo one; echo '{}'"), strict=True)).run()).failure

    assert (type(failure), failure.code) == (Terminal, "stray_output")
    assert "the first is: one" in failure.message


async def test_strict_or_not_a_bad_exit_status_decides(provide):
    failure = (await (await provide(**bash("echo one; echo '{}'; exit 1"), strict=True)).run()).failure

    assert (type(failure), failure.code) == (Retry, "exit_transient")


async def test_unknown_fields_are_a_warning_and_strictly_a_failure(provide, caplog):
    text = bash('echo \'{"status":1,"state":2}\'')

    assert await (await provide(**text)).status() == b"1"
    assert "state" in caplog.text
    assert (await (await provide(**text, strict=True)).run()).failure.code == "unknown_field"


async def test_a_byte_order_mark_crlf_and_a_missing_newline_are_accepted(provide):
    assert await (await provide(**bash(r"printf '\xef\xbb\xbf{\r\n\"status\":1}'"))).status() == b"1"


async def test_logs_and_progress_are_told_at_once_and_are_no_part_of_the_response(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    told = []
    text = (
        'echo \'{"log":{"level":"error","message":"careful","disk":3}}\';'
        'echo \'{"progress":{"fraction":0.5,"message":"half"}}\';'
        'echo \'{"level":"warn","msg":"on stderr"}\' >&2; echo plain >&2; echo \'{"status":1}\''
    )
    result = await (await provide(**bash(text))).run(report_progress=lambda *progress: told.append(progress))

    assert (result.outcome.status, result.stray_lines, told) == (b"1", 0, [(0.5, "half")])
    levels = {record.getMessage(): record.levelname for record in caplog.records if record.name == "stdworker.program"}
    assert levels["greeter/ada: careful disk=3"] == "ERROR"
    assert levels['greeter/ada: {"level":"warn","msg":"on stderr"}'] == "WARNING"
    assert levels["greeter/ada: plain"] == "INFO"


async def test_notices_that_only_persistent_programs_need_are_accepted_and_ignored(provide):
    text = """echo '{"hello":{"protocol":1,"cancel":true}}'; echo '{"ready":false,"reason":"x"}'; echo '{"status":1}'"""
    program = await provide(**bash(text), strict=True)

    result = await program.run()

    assert (result.failure, result.outcome.status, result.stray_lines) == (None, b"1", 0)
    assert await program.provider.ready()


async def test_a_composer_hands_over_children_and_edges(provide):
    answer = (
        '{"children":[{"kind":"net","kind_version":1,"name":"n"},{"kind":"vm","kind_version":1,"name":"v","spec":{"x":1.0}}],'
        '"edges":[{"from":{"kind":"vm","name":"v"},"to":{"kind":"net","name":"n"}}],'
        '"conditions":[{"type":"Ready","status":"True"}]}'
    )
    result = await (await provide(**bash(f"echo '{answer}'"))).run(stage=Stage.COMPOSE)

    assert [str(child.ref) for child in result.outcome.children] == ["net/n", "vm/v"]
    assert result.outcome.children[1].spec == b'{"x":1.0}'
    assert result.outcome.conditions == [Condition("Ready", "True")]


async def test_an_edge_may_reach_an_observed_child_but_not_nowhere(provide):
    edge = '{"edges":[{"from":{"kind":"vm","name":"v"},"to":{"kind":"net","name":"n"}}]}'
    program = await provide(**bash(f"echo '{edge}'"))
    observed = [Resource("1", "vm", "v"), Resource("2", "net", "n")]

    assert (await program.run(stage=Stage.COMPOSE, observed=observed)).failure is None
    assert (await program.run(stage=Stage.COMPOSE, observed=observed[:1])).failure.code == "edge_to_nowhere"


# ---- time ----


async def test_a_program_past_its_timeout_is_stopped_and_the_next_task_runs(provide, alive, until):
    program = await provide(**bash("read -r r; [[ $r == *slow* ]] && sleep 1000; echo '{}'"), timeout_seconds=0.1)

    for _ in range(3):
        result = await program.run(b'"slow"')
        assert (type(result.failure), result.failure.code) == (Retry, "deadline_exceeded")
        assert (result.exit.signal, result.exit.killed_by) == ("SIGTERM", "deadline")
        await until(lambda: not alive())

    assert (await program.run(b'"quick"')).failure is None


async def test_the_shorter_of_timeout_and_deadline_holds_and_the_request_says_it(provide):
    program = await provide(command="jq", args=["-c", "{status: .deadline_ms}"], timeout_seconds=500)

    assert 490_000 < int(await program.status()) <= 500_000
    assert 90_000 < int(await program.status(seconds=100)) <= 100_000
    assert 490_000 < int(await program.status(seconds=900)) <= 500_000


async def test_the_timeout_covers_the_writing_of_the_request(provide):
    program = await provide(command="sleep", args=["1000"], timeout_seconds=0.1)

    assert (await program.run(b'"' + b"x" * 2_000_000 + b'"')).failure.code == "deadline_exceeded"


async def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_period(provide):
    program = await provide(
        **bash("trap '' TERM; while :; do sleep 0.01; done"), timeout_seconds=0.2, grace_seconds=0.1
    )

    assert (await program.run()).exit.signal == "SIGKILL"


async def test_silence_past_the_progress_timeout_ends_a_request(provide):
    text = "for i in 1 2 3 4 5 6; do echo '{\"progress\":{}}'; sleep 0.05; done; exec sleep 1000"
    program = await provide(**bash(text), progress_timeout_seconds=0.2)
    told = []

    result = await program.run(report_progress=lambda *_: told.append(1))

    assert (type(result.failure), result.failure.code) == (Retry, "progress_timeout")
    assert len(told) == 6


async def test_a_cancelled_task_ends_its_program_and_all_its_descendants(provide, alive, until):
    program = await provide(**bash("sleep 1000 & sleep 1000 & wait"))
    running = asyncio.create_task(program.provider.work(program.request()))
    await until(lambda: len(alive()) == 3)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await until(lambda: not alive())


async def test_a_second_cancel_doesn_t_save_the_program(provide, alive, until):
    program = await provide(**bash("trap '' TERM; while :; do sleep 0.01; done"), grace_seconds=0.2)
    running = asyncio.create_task(program.provider.work(program.request()))
    await until(alive)

    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await until(lambda: not alive())


# ---- descendants ----


async def test_a_descendant_that_holds_stdout_doesn_t_hold_the_task(provide, alive, until, monkeypatch):
    monkeypatch.setattr(oneshot, "LINGER_SECONDS", 1_000)  # with a response in hand nobody waits for more
    program = await provide(**bash("sleep 1000 & echo '{\"status\":1}'"))

    assert await program.status() == b"1"
    await until(lambda: not alive())


async def test_a_descendant_may_still_answer_shortly_after_its_leader(provide):
    program = await provide(**bash("(sleep 0.05; echo '{\"status\":1}') & exit 0"))

    assert await program.status() == b"1"


async def test_a_leader_without_answer_is_not_waited_for_without_end(provide):
    result = await (await provide(**bash("sleep 1000 & exit 0"))).run()

    assert result.failure is None


async def test_descendants_end_after_a_success_too(provide, alive, until):
    program = await provide(**bash("sleep 1000 >/dev/null 2>&1 & echo '{}'"))

    await program.run()

    await until(lambda: not alive())


# ---- limits ----


async def test_an_output_bomb_is_cut_named_and_killed(provide, alive):
    program = await provide(**bash("yes"), limits={"stdout_bytes": 1_000_000})

    result = await program.run()

    assert (type(result.failure), result.failure.code) == (Terminal, "output_too_large")
    assert "1000000 bytes (limits.stdout_bytes)" in result.failure.message
    assert result.exit.killed_by == "limit"


async def test_of_a_flood_of_short_lines_hardly_any_is_looked_at_by_itself(provide, monkeypatch):
    looked_at = []
    look = oneshot._Listener._on_line
    monkeypatch.setattr(oneshot._Listener, "_on_line", lambda self, line: looked_at.append(line) or look(self, line))
    program = await provide(command="sh", args=["-c", "yes ab | head -c 3000000; echo '{}'"])

    result = await program.run()

    assert result.failure is None
    assert len(looked_at) < 100_000  # of a million: those of the chunk with the brace


async def test_a_flood_on_stderr_blocks_nobody_and_stays_bounded(provide, caplog):
    program = await provide(**bash("yes 2>/dev/null | head -c 20000000 >&2; echo '{\"status\":1}'"))

    assert await program.status() == b"1"
    assert len(caplog.records) < 10_000


async def test_depth_is_limited_as_configured(provide):
    program = await provide(**bash("echo '{\"status\":[[[1]]]}'"), limits={"depth": 3})

    assert (await program.run()).failure.code == "too_deep"


async def test_a_large_response_arrives_whole(provide, script):
    program = await provide(command=script("#!/usr/bin/env python3\nprint('{\"status\":\"' + 'x' * 8_000_000 + '\"}')"))

    assert len(await program.status()) == 8_000_002


# ---- the environment ----


async def test_a_program_sees_the_allow_list_and_nothing_of_the_worker(provide):
    program = await provide(**bash("env | sort | jq -Rs '{status: split(\"\\n\")}'"), env={"MINE": "1"})

    names = {line.partition("=")[0] for line in json.loads(await program.status()) if line}

    assert names - {"PWD", "SHLVL", "_", "LC_STDWORKER_TEST"} == {
        "PATH", "LANG", "PYTHONUNBUFFERED", "MINE", "STDWORKER_KIND", "STDWORKER_NAME", "STDWORKER_UID",
        "STDWORKER_GENERATION", "STDWORKER_REACTION", "STDWORKER_PROCESS",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({}, set()),
        ({"env_passthrough": ["REGION", "BROKER_ADDR"]}, {"REGION"}),
        ({"inherit_env": True}, {"REGION", "VAULT"}),
    ],
)
async def test_what_else_of_the_worker_s_environment_a_program_gets_is_said_by_its_config(
    provide, runtime, config, names
):
    mine = {"REGION": "eu", "VAULT": "v", "BROKER_ADDR": "b", "TLS_KEY_FILE": "k", "DATABASE_URL": "d"}
    runtime.variables = {**runtime.variables, **mine}
    program = await provide(command="jq", args=["-c", "{status: $ENV | keys}"], **config)

    assert set(json.loads(await program.status())) & mine.keys() == names


async def test_a_program_without_cwd_runs_where_the_worker_does(provide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    status = await (await provide(**bash('printf \'{"status":"%s"}\' "$PWD"'))).status()

    assert status == b'"%s"' % os.fsencode(tmp_path)


async def test_a_worker_whose_folder_is_gone_starts_programs_all_the_same(provide, tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    assert (await (await provide(command="true")).run()).failure is None
    assert (await (await provide(command="./program")).run()).failure.code == "program_not_found"


async def test_cwd_is_where_the_program_runs_and_where_its_path_begins(provide, script, tmp_path):
    script('#!/bin/sh\nprintf \'{"status":"%s"}\' "$PWD"')

    assert await (await provide(command="./program", cwd=str(tmp_path))).status() == b'"%s"' % os.fsencode(tmp_path)


async def test_secrets_of_the_settings_are_masked_wherever_the_program_shows_them(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    secret = 'p"ss/wörd'
    text = 'cat >&2; echo \'plain s3cr3t-of-env\' >&2; printf \'{"error":{"message":"bad s3cr3t-of-env"}}\'; exit 1'
    program = await provide(
        **bash(text), settings={"db_password": secret, "user": "public-name"}, env={"API_TOKEN": "s3cr3t-of-env"}
    )

    failure = (await program.run()).failure
    shown = failure.message + caplog.text

    assert "bad ***" in failure.message
    assert "plain ***" in caplog.text
    assert "public-name" in caplog.text
    assert not any(spelled in shown for spelled in (secret, json.dumps(secret)[1:-1], "s3cr3t-of-env"))


# ---- configuration ----


async def test_no_program_at_all_gives_the_task_back(provide):
    result = await (await provide()).run()

    assert (type(result.failure), result.failure.code) == (Released, "not_configured")


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"command": "no-such-program"}, "program_not_found"),
        ({"command": "bash -c true"}, "command_line_as_program"),
        ({"command": "true", "tiemout_seconds": 1}, "unknown_config_key"),
        ({"command": "true", "cwd": "/no/such/folder"}, "cwd_missing"),
        ({"command": "true", "timeout_seconds": -1}, "bad_config"),
        ({"command": "true", "args": ["x" * 200_000]}, "argument_too_long"),
    ],
)
async def test_a_mistake_in_the_config_is_terminal(provide, config, code):
    result = await (await provide(**config)).run()

    assert (type(result.failure), result.failure.code, result.failure.reason) == (Terminal, code, "BadConfig")


@pytest.mark.parametrize(
    ("spec", "code", "told"),
    [
        (b'{"command":"true","timeout_seconds":1e999}', "not_finite", "/timeout_seconds: 1e999 is too large"),
        (b'{"command":"true","args":["\\ud800"]}', "lone_surrogate", "/args/0: a lone surrogate"),
        (b'{"command":"true","settings":{"a":NaN}}', "not_finite", "/settings/a: NaN"),
        (b'{"command":"true","command":"false"}', "duplicate_key", "/command: the key appears twice"),
        (b'{"command":"true', "bad_string", "/command"),
        (b"[1]", "bad_config", "expected an object"),
    ],
)
async def test_a_config_that_no_careful_broker_lets_through_is_a_mistake_until_the_next_one(provide, spec, code, told):
    program = await provide()

    program.default = ProviderConfig(RawJson(spec))
    await program.provider.on_config(program.default)
    failure = (await program.run()).failure

    assert (type(failure), failure.code, failure.reason) == (Terminal, code, "BadConfig")
    assert told in failure.message
    assert not await program.provider.ready()
    await program.configure(command="true")
    assert await program.provider.ready()
    assert (await program.run()).failure is None


async def test_a_missing_interpreter_is_terminal(provide, script):
    program = await provide(command=script("#!/no/such/interpreter\n"))

    assert (await program.run()).failure.code == "interpreter_missing"


async def test_an_interpreter_line_that_env_stumbles_over_is_explained(provide, script):
    failure = (await (await provide(command=script("#!/usr/bin/env bash\r\necho {}\r\n"))).run()).failure

    assert "Unix line endings" in failure.hint


async def test_a_file_that_is_being_written_is_tried_again(provide, script):
    path = script("#!/bin/sh\necho '{\"status\":1}'\n")
    program = await provide(command=path)
    writing = Path(path).open("ab")  # noqa: SIM115
    asyncio.get_running_loop().call_later(0.02, writing.close)

    assert await program.status() == b"1"


async def test_nothing_is_started_any_more_once_the_last_provider_closed(provide, runtime, script):
    path = script("#!/bin/sh\n")
    program = await provide(command=path)
    with Path(path).open("ab"):
        running = asyncio.ensure_future(program.run())
        await asyncio.sleep(0)
        await program.provider.close()

    failure = (await running).failure

    assert (type(failure), failure.code) == (Released, "shutting_down")
    assert runtime.counters.spawned == 0


async def test_a_file_that_stays_busy_is_given_up_after_five_tries(provide, script, monkeypatch):
    tries = []

    def counted(command, loop, explain):
        tries.append(command.path)
        return spawn(command, loop, explain)

    monkeypatch.setattr(runtimes, "spawn", counted)
    path = script("#!/bin/sh\n")
    with Path(path).open("ab"):
        failure = (await (await provide(command=path)).run()).failure

    assert (type(failure), failure.code, tries) == (Retry, "file_busy", [path] * 5)


async def test_an_override_changes_one_task(provide):
    program = await provide(**bash('echo "{\\"status\\":\\"$WHO\\"}"'), env={"WHO": "default"})

    assert await program.status(override={"env": {"WHO": "mine"}}) == b'"mine"'
    assert await program.status() == b'"default"'


async def test_an_override_of_a_sealed_key_is_terminal(provide):
    program = await provide({"sealed_by_default": True}, command="true")

    assert (await program.run(override={"args": []})).failure.code == "sealed_key"
    assert (await program.run(override={"settings": {}})).failure is None


async def test_a_kind_file_says_itself_what_is_sealed(provide):
    base = RawJson(b'{"sealed":["args"]}')
    program = await provide({"base_config": base, "sealed_by_default": True}, command="true", settings={})

    assert (await program.run(override={"args": []})).failure.code == "sealed_key"
    assert (await program.run(override={"env": {"A": "1"}})).failure is None


async def test_a_kind_file_s_config_lies_under_the_broker_s(provide):
    base = RawJson(b'{"command":"jq","args":["-c","{status: .config}"],"settings":{"a":1,"b":1}}')
    program = await provide({"base_config": base}, settings={"b": 2})

    assert json.loads(await program.status(override={"settings": {"c": 3}})) == {"a": 1, "b": 2, "c": 3}


async def test_the_program_of_a_path_kind_is_fixed(provide, script):
    path = script("#!/bin/sh\necho '{\"status\":1}'\n")
    program = await provide({"fixed_command": path}, command="true")

    assert (await program.run()).failure.code == "fixed_command"
    await program.configure()
    assert await program.status() == b"1"


async def test_the_default_command_applies_when_no_config_names_one(provide):
    assert (await (await provide({"default_command": "true"})).run()).failure is None


async def test_many_one_shot_tasks_at_once(provide, runtime):
    program = await provide(**bash("read -r r; jq -c '{status: .spec}' <<<\"$r\""))

    statuses = await asyncio.gather(*(program.status(b"%d" % number) for number in range(40)))

    assert statuses == [b"%d" % number for number in range(40)]
    assert runtime.counters.spawned == 40
    assert not runtime.processes
