"""Limits, user and group: held by the system, through a launcher, and told apart when a program dies of them."""

import grp
import json
import os
import pwd
import resource
import subprocess
import sys

import pytest

from stdworker.errors import Retry, Terminal
from stdworker.process import confinement

pytestmark = pytest.mark.anyio

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
OTHER = "nobody"


def bash(text: str) -> dict:
    return {"command": "bash", "args": ["-c", text]}


def python(text: str) -> dict:
    return {"command": "python3", "args": ["-c", text]}


async def limits(provide, **limited) -> dict[str, list[str]]:
    """What the system says of the program's limits: soft and hard."""
    program = await provide(**bash("jq -Rcs '{status: .}' /proc/self/limits"), limits=limited)
    lines = json.loads(await program.status()).splitlines()[1:]
    return {line[:25].strip(): line[25:].split()[:2] for line in lines}


async def test_each_limit_is_held_by_the_system(provide):
    before = await limits(provide)

    held = await limits(provide, memory_bytes=256 << 20, cpu_seconds=7, open_files=64)

    assert held["Max data size"] == [str(256 << 20)] * 2
    assert held["Max cpu time"] == ["7", "12"]
    assert held["Max open files"] == ["64", "64"]
    same = before.keys() - {"Max data size", "Max cpu time", "Max open files"}
    assert {name: held[name] for name in same} == {name: before[name] for name in same}


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_a_confined_program_is_the_leader_of_its_group_and_no_launcher_is_left(provide, mode):
    text = """
        read -r _; read -r group session name < <(ps -o pgid=,sid=,comm= $$)
        echo "{\\"status\\":[$$,$group,$session,\\"$name\\"]}"
    """
    program = await provide(**bash(text), mode=mode, limits={"open_files": 64})

    pid, group, session, name = json.loads(await program.status())

    assert (group, session, name) == (pid, pid, "bash")


async def test_a_program_that_wants_more_memory_than_it_may_have_is_refused_it(provide):
    text = "import sys; x = bytearray(400 << 20); print('{}')"

    failure = (await (await provide(**python(text), limits={"memory_bytes": 200 << 20})).run()).failure

    assert "MemoryError" in failure.message
    assert (await (await provide(**python(text))).run()).failure is None


async def test_a_death_under_a_memory_limit_names_the_limit_as_a_possible_cause(provide):
    program = await provide(**bash("kill -SEGV $$"), limits={"memory_bytes": 200 << 20})

    assert "killed by SIGSEGV; it may have had no more memory: limits.memory_bytes is 209715200" in (
        (await program.run()).failure.message
    )


async def test_a_program_that_uses_up_its_cpu_time_is_told_apart_from_every_other_death(provide):
    program = await provide(**bash("while :; do :; done"), limits={"cpu_seconds": 1})

    failure = (await program.run()).failure

    assert type(failure) is Retry
    assert "killed by SIGXCPU; it used up limits.cpu_seconds (1)" in failure.message


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("echo no interpreter line\n", "no_shebang"),
        ("", "no_shebang"),
        ("#!/no/such/interpreter\n", "interpreter_missing"),
        ("#!/bin/bash\r\n", "shebang_crlf"),
    ],
)
async def test_a_launcher_hides_no_reason_why_a_program_can_t_start(provide, script, content, code):
    failure = (await (await provide(command=script(content), limits={"open_files": 64})).run()).failure

    assert (type(failure), failure.code) == (Terminal, code)


async def test_a_limit_that_the_worker_may_not_give_is_a_mistake_in_the_config(provide, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))

    failure = (await (await provide(command="true", limits={"open_files": 4096})).run()).failure

    assert (failure.code, failure.reason) == ("limit_too_high", "BadConfig")
    assert "/limits/open_files: 4096 is more than this worker may give (1024)" in failure.message


async def test_a_host_without_a_shell_says_that_limits_need_one(provide, monkeypatch):
    monkeypatch.setattr(confinement, "_SHELL", "/no/such/shell")

    failure = (await (await provide(command="true", limits={"open_files": 64})).run()).failure

    assert failure.code == "shell_missing"


async def test_a_limit_that_the_system_refuses_fails_the_task_and_says_so(provide, monkeypatch):
    monkeypatch.setattr(confinement.Confinement, "_steps", lambda _: ["ulimit -n 99999999999"])

    failure = (await (await provide(command="true", limits={"open_files": 64})).run()).failure

    assert type(failure) is Retry
    assert "ulimit" in failure.message


# ---- user and group ----

WHO = """
    ids() { grep "^$1:" /proc/self/status | cut -f 2- | tr -s '\\t ' , | sed 's/,$//'; }
    echo "{\\"status\\":[[$(ids Uid)],[$(ids Gid)],[$(ids Groups)],\\"$HOME $USER $LOGNAME\\"]}"
"""


@root
async def test_a_program_runs_as_its_user_with_the_user_s_groups_and_home(provide):
    entry = pwd.getpwnam(OTHER)

    status = json.loads(await (await provide(**bash(WHO), user=OTHER)).status())

    groups = os.getgrouplist(OTHER, entry.pw_gid)
    assert status == [[entry.pw_uid] * 4, [entry.pw_gid] * 4, groups, f"{entry.pw_dir} {OTHER} {OTHER}"]


@root
async def test_numbers_do_for_names_and_what_the_config_sets_wins_over_the_user_s_variables(provide):
    program = await provide(**bash(WHO), env={"HOME": "/tmp"}, user="54321", group="54322")

    assert json.loads(await program.status()) == [[54321] * 4, [54322] * 4, [54322], "/tmp 54321 54321"]


@root
async def test_a_program_that_its_user_may_not_execute_is_explained(provide, tmp_path):
    private = tmp_path / "program"
    private.write_text("#!/bin/bash\n")
    private.chmod(0o700)

    failure = (await (await provide(command=str(private), user=OTHER)).run()).failure

    assert f"the user {OTHER} may not be allowed to execute it" in failure.message


@root
async def test_a_group_alone_keeps_the_user(provide):
    gid = grp.getgrnam("daemon").gr_gid
    home = os.environ.get("HOME", "")

    status = json.loads(await (await provide(**bash(WHO), group="daemon", env={"HOME": home})).status())

    assert status == [[0] * 4, [gid] * 4, [gid], f"{home}  "]


@root
async def test_user_and_limits_go_together_and_the_program_is_killed_like_any_other(provide, alive, until):
    text = "setsid sleep 1000 & trap '' TERM; sleep 1000; sleep 1000"
    program = await provide(**bash(text), user=OTHER, limits={"open_files": 64}, timeout_seconds=0.3, grace_seconds=0.1)

    assert (await program.run()).exit.signal == "SIGKILL"
    await until(lambda: not alive())


@root
@pytest.mark.parametrize(
    ("config", "code", "words"),
    [
        ({"user": "nobdy"}, "unknown_user", "did you mean nobody"),
        ({"group": "demon"}, "unknown_group", "did you mean daemon"),
        ({"user": "4294967295", "group": "daemon"}, "unknown_user", "there is no user"),
        ({"group": "4294967295"}, "unknown_group", "there is no group"),
        ({"user": "54321"}, "group_missing", "name the group too"),
        ({"user": OTHER, "env": {"LD_PRELOAD": "/tmp/x.so"}}, "harmful_variable", "LD_PRELOAD can't be set"),
        ({"user": OTHER, "env": {"BASH_ENV": "/tmp/x"}}, "harmful_variable", "BASH_ENV can't be set"),
    ],
)
async def test_a_user_that_can_t_be_become_is_a_mistake_in_the_config(provide, config, code, words):
    failure = (await (await provide(command="true", **config)).run()).failure

    assert (type(failure), failure.code, failure.reason) == (Terminal, code, "BadConfig")
    assert words in str(failure)


@root
async def test_variables_of_the_worker_itself_are_trusted(provide, runtime):
    runtime.variables = {**runtime.variables, "LD_BIND_NOW": "1"}

    program = await provide(**bash('echo "{\\"status\\":$LD_BIND_NOW}"'), user=OTHER, env_passthrough=["LD_BIND_NOW"])

    assert await program.status() == b"1"


@pytest.mark.parametrize("config", [{"user": "nobody"}, {"group": "daemon"}])
async def test_a_worker_that_is_not_root_says_so(provide, monkeypatch, config):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    failure = (await (await provide(command="true", **config)).run()).failure

    assert (failure.code, failure.reason) == ("not_root", "BadConfig")


@root
@pytest.mark.parametrize(
    ("dropped", "asked", "told"),
    [
        ("setuid", "'nobody', None", "it lacks CAP_SETUID ("),
        ("setgid", "'nobody', None", "it lacks CAP_SETGID ("),
        ("setgid", "None, 'daemon'", "it lacks CAP_SETGID ("),
        ("setuid", "None, 'daemon'", ""),
    ],
)
def test_a_root_whose_capabilities_were_taken_away_says_which_it_lacks(dropped, asked, told):
    look = f"from stdworker.process.account import find_account; find_account({asked})"
    confined = ["setpriv", f"--bounding-set=-{dropped}", "--inh-caps=-all", sys.executable, "-c", look]

    done = subprocess.run(confined, capture_output=True, text=True, timeout=30, check=False)

    assert told in done.stderr
    assert bool(told) == bool(done.returncode)


@root
async def test_a_host_without_the_tool_names_the_package(provide, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    failure = (await (await provide(command="true", user=OTHER)).run()).failure

    assert failure.code == "setpriv_missing"
    assert "util-linux" in str(failure)
