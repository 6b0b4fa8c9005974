"""The first moments of `converge serve`: what it wants is taken already, is left over, or it is killed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
KILLED_AT = ("converge.db", "converge.db-wal")


@pytest.fixture
def environment(tmp_path):
    free = dict.fromkeys(("LISTEN_ADDR", "BROKER_ADDR_LISTEN"), "127.0.0.1:0")
    return {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{tmp_path}/converge.db", **free}


@pytest.fixture
def refused(environment, tmp_path):
    """Starts an engine that must not come up; what it says, and its exit status."""

    def start(**settings):
        done = subprocess.run(
            [BIN / "converge", "serve"], env=environment | settings, cwd=tmp_path, capture_output=True, text=True,
            timeout=HANG_SECONDS, check=False,
        )  # fmt: skip
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr, done.returncode

    return start


def test_a_second_engine_on_one_sqlite_database_is_refused_and_the_first_goes_on(serve, refused, tmp_path):
    first = serve()
    told, status = refused()
    assert (told.partition(" (")[0], status) == (f"Error: another engine uses the database {tmp_path}/converge.db", 1)
    assert httpx.get(f"{first.rest}/readyz", timeout=HANG_SECONDS).status_code == 200
    first.kill()
    serve()


def test_the_socket_of_an_engine_that_lives_is_not_taken_over_but_that_of_a_killed_one_is(serve, refused, tmp_path):
    address = f"unix://{tmp_path}/b.sock"
    first = serve(BROKER_ADDR_LISTEN=address)
    told, status = refused(BROKER_ADDR_LISTEN=address, DATABASE_URL=f"sqlite:///{tmp_path}/other.db")
    assert status == 2
    assert f"BROKER_ADDR_LISTEN is '{address}'; expected a path at which a socket can be made (Address already" in told
    first.kill()
    assert (tmp_path / "b.sock").is_socket()
    assert serve(BROKER_ADDR_LISTEN=address).stop() == 0


@pytest.mark.parametrize(
    ("place", "why"),
    [("nowhere/b.sock", "No such file"), ("file", "already in use"), ("x" * 120, "too long")],
)
def test_a_place_where_no_socket_can_be_is_one_line_that_says_why(refused, tmp_path, place, why):
    (tmp_path / "file").touch()
    told, status = refused(BROKER_ADDR_LISTEN=f"unix://{tmp_path}/{place}")
    assert (why in told, status) == (True, 2)
    assert (tmp_path / "file").is_file()


@pytest.mark.parametrize("seen", KILLED_AT)
def test_an_engine_that_is_killed_while_it_makes_its_database_leaves_one_that_the_next_takes(
    watch, serve, environment, tmp_path, eventually, seen
):
    killed = watch(BIN / "converge", "serve", env=environment, cwd=tmp_path)
    eventually((tmp_path / seen).exists)
    killed.kill()

    engine = serve()

    assert httpx.get(f"{engine.rest}/readyz", timeout=HANG_SECONDS).status_code == 200
    assert engine.stop() == 0


def test_a_backup_that_is_killed_leaves_nothing_under_its_name_and_is_made_the_next_time(
    watch, environment, tmp_path, eventually
):
    with sqlite3.connect(tmp_path / "converge.db") as db:
        db.execute("CREATE TABLE t AS SELECT randomblob(100000000) AS x")
    db.close()
    command = (BIN / "converge", "backup", "copy.db")
    killed = watch(*command, env=environment, cwd=tmp_path)
    eventually(lambda: list(tmp_path.glob(".copy.db.*.partial")))
    killed.kill()
    assert not (tmp_path / "copy.db").exists()

    again = watch(*command, env=environment, cwd=tmp_path)

    assert (again.ended(), (tmp_path / "copy.db").is_file()) == (0, True)
