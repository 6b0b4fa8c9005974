import pytest
from click.testing import CliRunner

from stdworker.cli.call import call
from stdworker.cli.check import check
from stdworker.cli.conctl.commands import cli as conctl
from stdworker.cli.status import status


@pytest.mark.parametrize(
    ("command", "words", "told"),
    [
        (conctl, ("list", "--limit", "x"), "'x' is not a whole number from 0 on"),
        (conctl, ("events", "leaf/a", "--limit", "-1"), "'-1' is not a whole number from 0 on"),
        (conctl, ("history", "leaf/a", "--limit", "-1"), "'-1' is not a whole number from 0 on"),
        (conctl, ("rollback", "leaf/a", "--to", "1.5"), "'1.5' is not a whole number from 1 on"),
        (conctl, ("get", "kind", "leaf", "--kind-version", "0"), "'0' is not a whole number from 1 to 32767"),
        (call, ("--repeat", "x", "cat"), "'x' is not a whole number from 1 to 1000000"),
        (check, ("--timeout", "1s", "cat"), "'1s' is not a number from 0.1 to 600.0"),
        (status, ("--pid", "-1"), "'-1' is not a whole number from 1 on"),
    ],
)
def test_what_is_no_such_number_is_refused_with_what_was_expected(command, words, told):
    done = CliRunner().invoke(command, words)

    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
