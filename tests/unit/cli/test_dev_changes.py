"""What `stdworker dev` hears of."""

from itertools import islice

from stdworker.cli.dev.command import watched

TURNS_MAX = 30  # the watcher answers several times a second


def test_an_edit_that_nobody_waited_for_yet_is_heard_of(tmp_path):
    changes = watched(tmp_path)
    (tmp_path / "greeter").write_text("#!/bin/sh\n")

    heard = next(found for found in islice(changes, TURNS_MAX) if found)

    assert {path for _, path in heard} == {str(tmp_path / "greeter")}
    changes.close()
