"""`converge backup` as it is installed: what it prints, and how it ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stdworker.engine.store.sqlite import SqliteDatabase

COMMAND = Path(sys.executable).with_name("converge")
HANG_SECONDS = 60


@pytest.fixture
def backup(tmp_path):
    SqliteDatabase(tmp_path / "converge.db").migrate()

    def run(*arguments, **variables):
        return subprocess.run(
            [COMMAND, "backup", *arguments],
            env={"PATH": os.environ["PATH"], **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )

    return run


def test_the_database_of_the_folder_is_copied_and_the_size_and_time_are_told(backup, tmp_path):
    done = backup("copy.db")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"copied converge\.db to copy\.db: \d+\.\d MiB in \d+\.\d s, checked\n", done.stdout)
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_a_second_copy_of_the_same_name_needs_a_word(backup):
    assert backup("copy.db").returncode == 0
    refused = backup("copy.db")
    assert refused.returncode == 1
    assert refused.stderr == "Error: copy.db is there already (name another file, or say --overwrite)\n"
    assert backup("copy.db", "--overwrite").returncode == 0


def test_postgres_is_left_to_its_own_tool_and_no_password_is_shown(backup):
    done = backup("a copy", DATABASE_URL="postgresql://me:secret@db/converge")
    assert done.returncode == 2
    assert "pg_dump --format=custom --file='a copy' URL" in done.stderr
    assert "secret" not in done.stderr


def test_a_database_that_is_not_there_is_one_line(backup):
    done = backup("copy.db", "--database-url", "sqlite:///none.db")
    assert done.returncode == 1
    assert done.stderr == "Error: there is no database none.db (DATABASE_URL says which one is copied)\n"
