"""`stdworker new`: what is made works at once, under everything that the tools may do with it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 60
TOOLS = {"bash": ("jq",), "node": ("node",), "python": ("python3",), "go": ("go", "make"), "c": ("cc", "make")}
EVERY_WAY = [(language, mode) for language in TOOLS for mode in ("oneshot", "stream")]
SANITIZED = "CFLAGS=-Wall -Wextra -Wconversion -Werror -g -fsanitize=address,undefined -fno-sanitize-recover"
SPEC = ("--spec", '{"name": "Ada"}')
BUGS = [
    ("bash", "oneshot", """  jq -c '{log: {level: "debug", message: "greeting""", "  ls /nowhere/at-all\n\n"),
    ("bash", "stream", """  jq -c '{log: {level: "debug", message: "greeting""", "  ls /nowhere/at-all\n\n"),
    ("python", "stream", '    log("debug", f"greeting', '    raise KeyError("no luck")\n'),
    ("python", "stream", '"text": f"{settings', '"not JSON": {1}, '),
    ("node", "stream", '  log("debug", `greeting', '  throw new Error("no luck");\n'),
    ("node", "stream", "text: `${config", "notJson: 1n, "),
    ("go", "stream", '\ttell("debug", fmt.Sprintf("greeting', '\tpanic("no luck")\n'),
]
WAITS = [
    (
        "node",
        '  log("debug", `greeting',
        ("console.log = ", 'console.error("a process started");\nconsole.log = '),
        '  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));\n',
    ),
    (
        "go",
        '\ttell("debug", fmt.Sprintf("greeting',
        ("\tended := ", '\tlog.Print("a process started")\n\tended := '),
        "\t<-ctx.Done()\n\tif ctx.Err() != nil {\n\t\treturn response{}, ctx.Err()\n\t}\n",
    ),
]

pytestmark = pytest.mark.slow


def run(folder, *command, text_in=None):
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    told = {"capture_output": True, "text": True, "input": text_in, "timeout": HANG_SECONDS}
    return subprocess.run(command, cwd=folder, env=environment, check=False, **told)


@pytest.fixture
def made(tmp_path):
    """Makes and builds a kind called thing; answers its folder."""

    def make(language, *options):
        missing = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
        if missing and language != "go" and os.environ.get("CI"):
            pytest.fail(f"CI must have {', '.join(missing)}")
        if missing:
            pytest.skip(f"NOT TESTED: the {language} template needs {', '.join(missing)}, not installed here")
        done = run(tmp_path, "stdworker", "new", language, "thing", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        folder = tmp_path / "thing"
        if (folder / "Makefile").exists():
            built = run(folder, "make", *([SANITIZED] if language == "c" else []))
            assert built.returncode == 0, built.stdout + built.stderr
        return folder

    return make


@pytest.mark.parametrize("language", TOOLS)
def test_its_own_test_passes(made, language):
    tested = run(made(language), "./test_thing.py", "-v")

    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert re.search(r"^test_it_keeps_to_the_protocol.* ok$", tested.stderr, re.MULTILINE)


@pytest.mark.parametrize(("language", "mode"), EVERY_WAY)
def test_the_check_has_nothing_to_say_against_it(made, language, mode):
    checked = run(made(language, "--mode", mode), "stdworker", "check", "./thing")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert re.search(rf"^\S+ as thing@1, mode {mode}: ", checked.stdout, re.MULTILINE)
    assert not re.search(r"^(?:warn|fail)", checked.stdout, re.MULTILINE), checked.stdout


def test_its_own_test_fails_when_the_program_breaks_a_promise(made):
    folder = made("python")
    program = folder / "thing"
    program.write_text(program.read_text().replace('"Hello"', '"Hi"').replace("}, {name}!", "}; {name}!"))

    tested = run(folder, "./test_thing.py")

    assert tested.returncode == 1
    assert "FAIL: test_it_greets_whom_the_spec_names" in tested.stderr


@pytest.mark.parametrize(("language", "mode", "before", "bug"), BUGS)
def test_a_bug_ends_one_request_which_is_tried_again_and_not_the_program(made, language, mode, before, bug):
    folder = made(language, "--mode", mode)
    break_program(folder, language, before, bug + before)

    results, _ = call_twice(folder)

    assert [result["result"] for result in results] == ["transient"] * 2, results
    assert [result["exit"] is None for result in results] == [mode == "stream"] * 2


@pytest.mark.parametrize(("language", "before", "start", "wait"), WAITS)
def test_a_cancelled_request_is_answered_by_a_process_that_lives_on(made, language, before, start, wait):
    folder = made(language)
    break_program(folder, language, before, wait + before)
    break_program(folder, language, *start)
    (folder / "config.json").write_text('{"timeout_seconds": 0.3}')

    results, log = call_twice(folder, "--config", "config.json")

    assert [result["result"] for result in results] == ["transient"] * 2, results
    assert log.count("a process started") == 1, log


def call_twice(folder, *options):
    called = run(folder, "stdworker", "call", "--output", "json", "--repeat", "2", *options, *SPEC, "./thing")
    return [json.loads(line) for line in called.stdout.splitlines()], called.stderr


def break_program(folder, language, before, after):
    program = folder / {"go": "thing.go"}.get(language, "thing")
    text = program.read_text()
    assert text.count(before) == 1
    program.write_text(text.replace(before, after))
    if language == "go":
        built = run(folder, "make")
        assert built.returncode == 0, built.stderr


def test_the_c_program_reads_nothing_beyond_a_request_that_is_cut_anywhere(made):
    tricky = r'{"name":"\"}]","deep":[{"x":[1,2.50]},null]}'
    request = '{"id":"a","spec":' + tricky + r',"reaction":"work","config":{"greeting":"\\"}}'
    lines = "\n".join(request[:end] for end in range(1, len(request) + 1))

    answered = run(made("c"), "./thing", text_in=lines)  # no newline at the end: that counts too

    assert (answered.returncode, answered.stderr) == (0, "")
    assert r'{"id":"a","status":{"text":"\\, \"}]!"},"conditions":[' in answered.stdout.splitlines()[-1]


@pytest.mark.xdist_group("dev")
@pytest.mark.parametrize("language", ["bash", "node"])
def test_dev_makes_its_example_ready_and_what_is_deleted_is_torn_down(made, language):
    environment = os.environ | {"LISTEN_ADDR": "127.0.0.1:0", "BROKER_ADDR_LISTEN": "127.0.0.1:0"}
    dev = subprocess.Popen(
        [str(BIN / "stdworker"), "dev", "."],
        cwd=made(language),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    hung = threading.Timer(HANG_SECONDS, dev.kill)
    hung.start()
    try:
        told = ""
        while "thing/example: Ready" not in told:
            line = dev.stdout.readline()
            assert line, told
            told += line
        server = re.search(r"^engine (\S+)", told, re.MULTILINE)[1]
        deleted = run(Path.cwd(), "conctl", "--server", server, "delete", "thing/example")
        assert deleted.returncode == 0, deleted.stderr
        assert any("thing/example: deleted" in line for line in dev.stdout)
    finally:
        dev.send_signal(signal.SIGINT)
        dev.stdout.read()
        assert dev.wait() == 0
        hung.cancel()
        dev.stdout.close()
