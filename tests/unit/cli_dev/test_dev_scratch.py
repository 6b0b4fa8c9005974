"""The folder of `stdworker dev` for what it doesn't keep."""

import subprocess
import sys

import pytest

from stdworker.cli.dev.scratch import scratch_folder

HOLD = """
from stdworker.cli.dev.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "dev.db").touch()
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_is_removed_by_the_next(place):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        held.stdout.readline()
        held.kill()
    assert [file.name for file in place.glob("*/*")] == ["dev.db"]

    with scratch_folder() as folder:
        assert [*place.iterdir()] == [folder]
    assert [*place.iterdir()] == []


def test_what_is_still_used_or_is_not_ours_is_left_alone(place):
    (place / "converge-dev-file").touch()
    (place / "other").mkdir()
    with scratch_folder() as first, scratch_folder() as second:
        assert {*place.iterdir()} == {first, second, place / "converge-dev-file", place / "other"}
