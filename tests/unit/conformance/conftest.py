"""Small programs that keep the contract, and the same with one mistake."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from stdworker.testing import conformance

SHELL = """{shell}
{first}
request=$(cat)
{before}
case $request in
*'"trigger":"deleteRequested"'*) {delete} ;;
*'"spec":'*) spec=${{request#*'"spec":'}}
  for next in status config deadline_ms; do spec=${{spec%%",\\"$next\\":"*}}; done ;;
*) spec=null ;;
esac
{work}
{answer}
{after}
"""
SHELL_PARTS = {
    "shell": "#!/bin/sh",
    "first": "",  # before the request is read
    "before": "",
    "delete": "echo '{}'; exit 0",
    "work": "",
    "answer": """printf '{"status":{"spec":%s}}\\n' "$spec" """,
    "after": "",
}
PYTHON = f"""#!{sys.executable} -IS
import json, os, signal, sys, time
{{before}}
def text(request):
    spec = request.get("spec")
    found = spec.get("check") if type(spec) is dict else ""
    return found if type(found) is str else ""
def echo(status):
    return {{{{"status": {{{{"spec": status}}}}}}}}
def put(request, answer):
    print(json.dumps({{{{"id": request["id"]}}}} | answer), flush=True)
def answered(request):
    return {{{{}}}} if request["trigger"] == "deleteRequested" else {{answer}}
for line in sys.stdin:
    message = json.loads(line, {{read}})
    if "reaction" in message:
        {{reply}}
    {{control}}
{{after}}
"""
PYTHON_PARTS = {
    "read": "",
    "before": "",
    "answer": """{"status": {"name": request["name"], "spec": request.get("spec")}}""",
    "reply": "put(message, answered(message))",
    "control": "",
    "after": "",
}
KIND = {
    "kind": "mutant",
    "kind_version": 1,
    "finalizer_name": "check",
    "resync_interval_secs": 60,
    "status_schema": {"type": "object"},
    "reactions": [
        {"name": "work", "trigger": "specChange", "emits": ["status"]},
        {"name": "delete", "trigger": "deleteRequested", "emits": ["finalizer"]},
        {"name": "restart", "trigger": "operation", "verb": "restart", "emits": ["status"]},
    ],
}
SECONDS = 5.0


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path, monkeypatch):
    """Programs inherit the working folder of the check, and may write there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def oneshot(tmp_path):
    """Makes a shell program for mode oneshot; parts of it can be replaced."""
    return lambda **parts: _write(tmp_path, SHELL.format(**SHELL_PARTS | parts), "oneshot")


@pytest.fixture
def stream(tmp_path):
    """Makes a python program for mode stream; parts of it can be replaced."""
    return lambda config=(), **parts: _write(tmp_path, PYTHON.format(**PYTHON_PARTS | parts), "stream", **dict(config))


def _write(folder: Path, text: str, mode: str, **config) -> str:
    program = folder / "mutant"
    program.write_text(text)
    program.chmod(0o755)
    described = {**KIND, "default_config": {"mode": mode, "grace_seconds": 1, **config}}
    (folder / "mutant.kind.json").write_text(json.dumps(described))
    return str(program)


@pytest.fixture
def declare(tmp_path):
    """Changes what the kind file says; None takes a member away."""

    def change(**members):
        path = tmp_path / "mutant.kind.json"
        said = {**json.loads(path.read_text()), **members}
        path.write_text(json.dumps({name: value for name, value in said.items() if value is not None}))

    return change


@pytest.fixture
def checked():
    """Checks a program with a spec that works; what it found that isn't as it should be, by case."""

    def check(program, **options):
        options = {"specs": [{"name": "Ada"}], "timeout_seconds": SECONDS} | options
        report = conformance.check(program, **options)
        return {
            result.case.id: str(result.verdict) for result in report.results if result.verdict in ("warn", "fail")
        }, report

    return check
