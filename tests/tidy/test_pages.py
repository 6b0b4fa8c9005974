"""What the pages say is what the code does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run(folder: Path, *command: str) -> str:
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.sub(r"in \d+ ms", "in 34 ms", done.stdout)


def test_the_first_program_of_the_readme_prints_what_the_readme_shows(tmp_path):
    (tmp_path / "greeter").write_text(blocks("README.md", "bash")[0])
    lines = blocks("README.md", "console")[0].splitlines(keepends=True)
    typed = "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
    shown = "".join(line for line in lines if not line.startswith("$ "))
    assert run(tmp_path, "bash", "-ec", typed) == shown


def test_the_kind_of_the_readme_is_the_one_that_new_makes(tmp_path):
    typed = re.findall(r"^\$ (.*)", blocks("README.md", "console")[1], re.MULTILINE)
    before_dev = [line for line in typed if not line.startswith(("stdworker dev", "conctl"))]

    run(tmp_path, "bash", "-ec", "\n".join(before_dev))

    assert len(before_dev) == 3
    assert blocks("README.md", "yaml") == [(tmp_path / "greeter" / "greeter.kind.yaml").read_text()]
    assert "name: example" in (tmp_path / "greeter" / "example.yaml").read_text()


def test_the_readme_says_how_the_commands_get_on_path_before_a_folder_is_served():
    readme = (ROOT / "README.md").read_text()
    assert -1 < readme.find(". .venv/bin/activate") < readme.index("$ stdworker dev")


def test_the_node_program_of_the_readme_says_the_same(tmp_path):
    program = tmp_path / "greeter.js"
    program.write_text(blocks("README.md", "js")[0])
    program.chmod(0o755)
    assert "Hello, Ada!" in run(tmp_path, "stdworker", "call", "./greeter.js", "--spec", '{"name":"Ada"}')


def test_a_readme_program_stays_within_eight_lines():
    assert all(len(text.splitlines()) <= 8 for text in blocks("README.md", "bash") + blocks("README.md", "js"))


def rows(page: str, heading: str) -> set[str]:
    section = (ROOT / page).read_text().split(heading, 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"`([A-Z_]{5,})`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))))


def read_by(source: str) -> set[str]:
    text = (ROOT / source).read_text()
    return set(re.findall(r'"([A-Z]+_[A-Z_]+)"', text))


def test_every_setting_of_the_engine_has_its_row_and_no_other():
    assert rows("docs/running.md", "## The engine") == read_by("stdworker/engine/settings.py")


def test_every_setting_of_the_worker_has_its_row_and_no_other():
    assert rows("docs/running.md", "## The worker") == read_by("stdworker/model/settings.py")


def test_every_place_that_the_contributing_page_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:stdworker|protocol|tests|engine)/[\w./-]*?)`", text)
    assert paths
    missing = [p for p in paths if not (ROOT / p).exists() and not (ROOT / "stdworker" / p).exists()]
    assert missing == []


@pytest.mark.parametrize("message", ["request", "response"])
def test_the_page_of_the_protocol_names_every_member_of_its_messages(message):
    folder = ROOT / "protocol/stdio/v1"
    page = (folder / "README.md").read_text()
    members = json.loads((folder / f"{message}.schema.json").read_text())["properties"]
    assert [name for name in members if f"`{name}`" not in page] == []


def test_the_reactor_of_the_page_about_running_tells_what_happened_to_whom(tmp_path):
    [program] = blocks("docs/running.md", "bash")
    [reaction] = re.findall(r"`(- { name: \w+, trigger: reactor.*? })`", (ROOT / "docs/running.md").read_text())
    curl = '#!/bin/sh\necho "$@" >"$(dirname "$0")/told"\n'
    for name, text in (("pager", program), ("curl", curl)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{BIN}:{os.environ['PATH']}"
    config = {"settings": {"url": "http://chat.example/"}, "env": {"PATH": path}}
    kind = f"kind: pager\nkind_version: 1\nreactions:\n  {reaction}\ndefault_config: {json.dumps(config)}\n"
    (tmp_path / "pager.kind.yaml").write_text(kind)

    run(tmp_path, "stdworker", "call", "./pager", "--name", "db")

    assert (tmp_path / "told").read_text() == "-sf --data pager/db synced at generation 1 http://chat.example/\n"
