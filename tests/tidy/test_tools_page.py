"""The consoles of the page about tools show what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stdworker.cli.worker import cli

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs/tools.md").read_text()
WITHOUT_SECTION = {"run", "version"}  # run has a page of its own
TOOLS = ("call", "new", "explain", "replay")


def section(tool: str) -> str:
    return PAGE.split(f"## `stdworker {tool}`", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_console_shows_what_the_command_prints(tmp_path, tool):
    greeter = re.search(r"^```bash\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "greeter").write_text(greeter[1])
    (tmp_path / "greeter").chmod(0o755)
    console = re.search(r"^```console\n(.*?)^```", section(tool), re.MULTILINE | re.DOTALL)[1]

    shown = [typed_and_printed(typed, tmp_path) for typed in re.findall(r"^\$ (.*)$", console, re.MULTILINE)]

    assert "".join(shown) == console


def test_every_command_has_a_section_that_says_something():
    sections = re.findall(r"^## ([^\n]*)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    told = {
        name for heading, text in sections if text.strip() for name in re.findall(r"`(?:stdworker )?([a-z]+)`", heading)
    }

    assert told >= {*cli.list_commands(None), "conctl"} - WITHOUT_SECTION


def typed_and_printed(typed: str, folder: Path) -> str:
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)}
    command = ["bash", "-c", typed]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    printed = done.stdout.replace(str(folder), "/srv")
    return f"$ {typed}\n" + re.sub(r'\d+ ms|(?<="duration_ms":)\d+', lambda m: re.sub(r"\d+", "34", m[0]), printed)
