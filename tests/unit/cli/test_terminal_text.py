"""What programs wrote is shown, and neither commands a terminal nor passes for something else."""

import json
import logging

import click
import pytest
from click.testing import CliRunner

from stdworker.cli.ending import CommandLine
from stdworker.cli.logs import set_up_logging
from stdworker.cli.terminal import plain


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Ada Müller, 東京", "Ada Müller, 東京"),
        ("a\tb", "a       b"),
        ("one\ntwo", "one\ntwo"),
        ("\x1b[31mred\x1b[0m\rgone", "?[31mred?[0m?gone"),
        ("\x9b31m \x00 \x7f", "?31m ? ?"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("left\u202eright", "left?right"),
        ("\udcff", "?"),
    ],
)
def test_text_of_a_program_is_shown_without_what_a_terminal_would_obey(written, shown):
    assert plain(written) == shown


@pytest.fixture
def logged(capsys):
    """What a message becomes in the log."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def log(form, message):
        set_up_logging("info", form)
        logging.getLogger("stdworker.program").info("%s", message)
        return capsys.readouterr().err

    yield log
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_of_the_log_can_not_be_forged_by_a_message(logged):
    first, second = logged("text", "done\n2026-01-01T00:00:00.000Z ERROR stdworker: \x1b[2Jforged").splitlines()

    assert first.endswith("stdworker.program: done")
    assert second == "    2026-01-01T00:00:00.000Z ERROR stdworker: ?[2Jforged"


def test_a_message_is_one_line_of_a_json_log(logged):
    (line,) = logged("json", "one\ntwo\x1b").splitlines()

    assert json.loads(line)["message"] == "one\ntwo\x1b"


@click.group(cls=CommandLine)
def coloured():
    pass


@coloured.command()
def show():
    click.echo(click.style("fine", fg="green"))


@pytest.mark.parametrize(
    ("variables", "colours"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_left_out_on_request(variables, colours):
    shown = CliRunner(env={"NO_COLOR": None, "TERM": "xterm"} | variables).invoke(coloured, ["show"], color=True)

    assert ("\x1b[32m" in shown.output) is colours
