"""The page about conctl names every command and every option, and none that isn't there."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from stdworker.cli.conctl.arguments import ALIASES
from stdworker.cli.conctl.commands import cli

PAGE = (Path(__file__).parents[2] / "docs/conctl.md").read_text()
COMMON = PAGE.split("## Options of all commands")[1].split("\n## ")[0]


def options(command: click.Command) -> set[str]:
    return {max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}


def section(name: str) -> str:
    return PAGE.split(f"### `{name}`\n", 1)[1].split("\n### ")[0].split("\n## ")[0]


SHARED = options(cli)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_a_section_with_all_of_its_options(name):
    told = set(re.findall(r"^\| `(--[a-z-]+)", section(name), re.MULTILINE))
    assert told == options(cli.commands[name]) - SHARED


def test_every_section_is_a_command():
    assert set(re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)) == set(cli.commands)


def test_options_of_all_commands_are_told_once():
    assert set(re.findall(r"`(--[a-z-]+)", COMMON)) - {"--help"} == SHARED


def test_every_alias_of_a_type_is_named():
    for name, aliases in ALIASES.items():
        [row] = re.findall(rf"^\| `{name}`.*$", PAGE, re.MULTILINE)
        assert set(re.findall(r"`([a-z]+)`", row)) == {name, *aliases}


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_the_help_of_every_command_has_an_example_that_can_be_meant(name):
    command = cli.commands[name]
    assert command.epilog, name
    [words] = re.findall(rf"conctl {name}\b([^&)]*)", command.epilog)
    used = set(re.findall(r"(--[a-z-]+)", words))
    assert used <= options(command)
