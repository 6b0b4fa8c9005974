"""What persistent programs do to their pipes: none of it blocks, none of it is taken for something else."""

import asyncio
import json
import logging

import pytest

from stdworker.errors import Retry, Terminal

pytestmark = pytest.mark.anyio


def loop(body, **config):
    """A bash program that does this for each request, `$line`."""
    return {
        "mode": "stream",
        "command": "bash",
        "args": ["-c", f"n=0; while read -r line; do ((n++)); {body}; done"],
    } | config


async def test_a_request_is_one_line_whatever_its_documents_hold(provide):
    program = await provide(**loop('echo "{\\"status\\":$n}"'))

    specs = (b'{\n"a"\n:\n"x\\ny\\u2028"}', '"\u2028\u2029\u0085"'.encode(), b"[1,\r\n2]")

    assert [await program.status(spec) for spec in specs] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_a_request_that_can_t_be_written_fails_for_good_and_costs_nobody_else_anything(provide, mode):
    program = await provide(**loop("echo '{\"status\":1}'", mode=mode))

    failures = [(await program.run(b'"\xff"', name=f"bad{n}")).failure for n in range(3)]

    assert {(type(failure), failure.code) for failure in failures} == {(Terminal, "not_utf8")}
    assert await program.status() == b"1"


async def test_a_failure_shows_no_stderr_of_the_request_before(provide):
    program = await provide(**loop("((n > 1)) && exit 7; echo 'words of the first' >&2; echo '{}'"))

    assert (await program.run()).failure is None
    failure = (await program.run()).failure

    assert failure.message == "the program died while it held this request: exit status 7"


async def test_a_program_for_oneshot_that_is_run_as_a_stream_is_recognised(provide):
    program = await provide(mode="stream", command="bash", args=["-c", "read -r line"])

    failure = (await program.run()).failure

    assert (failure.code, failure.message.splitlines()[0]) == (
        "program_died",
        "the program died while it held this request: exit status 0",
    )
    assert "mode oneshot" in failure.hint


async def test_stderr_is_drained_while_nobody_asks_for_it(provide):
    program = await provide(**loop("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo '{}'"))

    assert [(await program.run()).failure for _ in range(3)] == [None] * 3


async def test_a_program_may_print_much_before_it_reads(provide):
    chatty = "head -c 1000000 /dev/zero | tr '\\0' '\\n'; cat >/dev/null"
    program = await provide(mode="stream", command="bash", args=["-c", chatty], limits={"stdout_bytes": 10_000_000})

    failure = (await program.run(json.dumps("x" * 1_000_000).encode(), seconds=0.5)).failure

    assert failure.code == "deadline_exceeded"


async def test_a_program_that_never_reads_costs_its_request_only(provide):
    program = await provide(mode="stream", command="sleep", args=["1000"], grace_seconds=0)

    for _ in range(3):
        failure = (await program.run(json.dumps("x" * 1_000_000).encode(), seconds=0.05)).failure
        assert (type(failure), failure.code) == (Retry, "deadline_exceeded")


@pytest.mark.parametrize(
    "printed",
    [r"{\"status\":1}\r\n", r"  {\"status\":1}  \n", r"\n\r\n{\"status\":1}\n"],
    ids=["CR LF", "blanks around", "blank lines"],
)
async def test_small_differences_of_lines_don_t_matter(provide, printed):
    program = await provide(**loop(f'printf "{printed}"'))

    assert await program.status() == b"1"
    assert (await program.run()).stray_lines == 0


async def test_a_byte_order_mark_at_the_start_is_no_part_of_the_answer(provide):
    program = await provide(**loop("((n == 1)) && printf '\\xef\\xbb\\xbf'; echo '{\"status\":1}'"))

    assert [await program.status(), await program.status()] == [b"1", b"1"]


async def test_a_last_answer_without_newline_counts(provide):
    program = await provide(mode="stream", command="bash", args=["-c", "read -r line; printf '{\"status\":1}'"])

    assert await program.status() == b"1"


async def test_invalid_utf_8_in_an_answer_is_an_error_of_that_answer(provide, runtime):
    program = await provide(**loop("if [ $n = 1 ]; then printf '{\"status\":\"\\xff\"}\\n'; else echo '{}'; fi"))

    failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Terminal, "not_utf8")
    assert (await program.run()).failure is None
    assert runtime.counters.spawned == 1


async def test_invalid_utf_8_beside_an_answer_is_shown_leniently(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    program = await provide(**loop("printf 'b\\xffd\\n' >&2; printf 'g\\xffd\\n'; echo '{}'"))

    result = await program.run()
    await program.provider.close()

    assert (result.failure, result.stray_lines) == (None, 1)
    assert "b\ufffdd" in caplog.text
    assert "g\ufffdd" in caplog.text


async def test_what_a_program_says_is_logged_for_the_resource_that_it_works_for(provide, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    body = """echo working >&2; echo '{"log":{"message":"said"}}'; echo stray; echo '{}'"""
    said = f"while read -r line; do {body}; done; echo idle >&2"
    program = await provide(mode="stream", command="bash", args=["-c", said])

    await program.run(name="ada")
    await program.run(name="bob")
    await program.provider.close()

    told = [(record.resource, record.getMessage()) for record in caplog.records if record.name == "stdworker.program"]
    for name in ("ada", "bob"):
        assert (name, f"greeter/{name}: working") in told
        assert (name, f"greeter/{name}: said") in told
        assert (name, f"greeter/{name}: stray output, 5 bytes: stray") in told
    assert told[-1] == ("", "greeter: idle")


async def test_what_a_program_says_while_it_works_for_several_is_logged_for_none_of_them(provide, caplog, until):
    caplog.set_level(logging.INFO, "stdworker.program")
    body = """if ((n == 2)); then echo '{"log":{"message":"both"}}'; echo oops >&2; fi"""
    program = await provide(**loop(body, concurrency=2))
    tasks = [asyncio.ensure_future(program.run(name=name)) for name in ("ada", "bob")]

    await until(lambda: {"greeter: both", "greeter: oops"} <= set(caplog.messages))

    await program.provider.close()
    await asyncio.gather(*tasks)


async def test_one_hung_resource_holds_up_no_other(provide):
    program = await provide(**loop("[[ $line == *stuck* ]] && sleep 1000; echo '{\"status\":1}'", processes=2))
    hung = asyncio.ensure_future(program.run(name="stuck"))
    await asyncio.sleep(0)

    assert [await program.status(name=f"r{n}") for n in range(20)] == [b"1"] * 20

    hung.cancel()
