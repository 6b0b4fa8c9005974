"""How processes are started, all over the package: never in a way that runs Python between fork and exec."""

import ast
from pathlib import Path

import stdworker

STARTERS = {"Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell",
            "open_process", "run_process"}  # fmt: skip
FORBIDDEN = {"preexec_fn", "user", "group", "extra_groups", "umask"}
FORKS = {"fork", "forkpty", "posix_spawn"}


def test_nothing_is_done_between_fork_and_exec_beside_grpc_s_threads():
    offences = []
    for file in sorted(Path(stdworker.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {keyword.arg for keyword in node.keywords}
            if name in FORKS or (name in STARTERS and given & FORBIDDEN):
                offences.append(f"{file.name}:{node.lineno}: {name}")

    assert offences == []
