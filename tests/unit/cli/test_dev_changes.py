"""What `stdworker dev` hears of, and tells."""

from itertools import islice

import pytest

from stdworker.cli.dev.command import line, watched

TURNS_MAX = 30  # the watcher answers several times a second


def test_an_edit_that_nobody_waited_for_yet_is_heard_of(tmp_path):
    changes = watched(tmp_path)
    (tmp_path / "greeter").write_text("#!/bin/sh\n")

    heard = next(found for found in islice(changes, TURNS_MAX) if found)

    assert {path for _, path in heard} == {str(tmp_path / "greeter")}
    changes.close()


@pytest.mark.parametrize(
    ("phase", "failure", "told"),
    [
        ("Ready", None, "Ready"),
        ("Reconciling", {"message": "busy"}, "Reconciling"),
        ("Failed", {"message": "it failed\nfor a reason"}, "Failed: it failed"),
        ("Failed", {"message": ""}, "Failed"),
    ],
)
def test_a_resource_is_told_by_its_phase_and_how_it_failed(phase, failure, told):
    assert line({"phase": phase, "failure": failure}) == told
