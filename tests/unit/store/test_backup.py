"""Copies of a database that is in use: consistent, checked, whole or not there."""

import contextlib
import shutil
import sqlite3
import threading

import pytest

from stdworker.engine.store import backup
from stdworker.engine.store.backup import back_up
from stdworker.errors import StoreError

HANG_SECONDS = 60
PAIRS_AT_FIRST = 3_000


def connect(path, **options):
    return contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False, **options))


@pytest.fixture
def live(tmp_path):
    """A database as an engine keeps it, open: pairs of rows that are always committed together."""
    path = tmp_path / "live.db"
    with connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE pairs (id INTEGER, half INTEGER, padding TEXT)")
        add_pairs(db, range(PAIRS_AT_FIRST))
        yield path, db


def add_pairs(db, numbers):
    db.execute("BEGIN IMMEDIATE")
    db.executemany(
        "INSERT INTO pairs VALUES (?, ?, ?)", [(number, half, "x" * 400) for number in numbers for half in (0, 1)]
    )
    db.execute("COMMIT")


def counts(path):
    with connect(path) as db:
        return db.execute("SELECT count(*), count(DISTINCT id) FROM pairs").fetchone()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_holds_all_that_was_committed_before_it_began_and_is_one_file(live, tmp_path):
    source, _ = live
    (tmp_path / "copies").mkdir()
    copy = tmp_path / "copies" / "copy.db"

    size = back_up(source, copy)

    assert counts(copy) == (2 * PAIRS_AT_FIRST, PAIRS_AT_FIRST)
    assert size == copy.stat().st_size
    assert names(tmp_path / "copies") == ["copy.db"]


def test_a_writer_goes_on_during_a_copy_which_stays_at_the_state_of_its_beginning(live, tmp_path, monkeypatch):
    source, db = live
    written = []

    def write(*_):
        """Between any two steps somebody commits; without waiting for the copy, or this would fail as locked."""
        number = PAIRS_AT_FIRST + len(written)
        add_pairs(db, [number])
        written.append(number)

    db.execute("PRAGMA busy_timeout = 0")
    monkeypatch.setattr(backup, "STEP_PAGES", 50)
    monkeypatch.setattr(backup, "_listen_to_signals", write)

    back_up(source, tmp_path / "copy.db")

    assert len(written) > 3
    assert counts(tmp_path / "copy.db") == (2 * PAIRS_AT_FIRST, PAIRS_AT_FIRST)


def test_a_copy_ends_under_an_unbroken_stream_of_commits(live, tmp_path):
    source, db = live
    stop = threading.Event()

    def write():
        number = PAIRS_AT_FIRST
        while not stop.is_set():
            add_pairs(db, [number])
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        back_up(source, tmp_path / "copy.db")
    finally:
        stop.set()
        writer.join(HANG_SECONDS)
    rows, pairs = counts(tmp_path / "copy.db")
    assert rows == 2 * pairs
    assert pairs >= PAIRS_AT_FIRST


def test_what_a_crashed_engine_left_in_its_log_is_copied_too(live, tmp_path):
    source, _ = live
    crashed = tmp_path / "crashed.db"
    for suffix in ("", "-wal"):
        shutil.copy(f"{source}{suffix}", f"{crashed}{suffix}")

    back_up(crashed, tmp_path / "copy.db")

    assert counts(tmp_path / "copy.db") == (2 * PAIRS_AT_FIRST, PAIRS_AT_FIRST)


def test_an_existing_file_is_replaced_only_when_that_is_said(live, tmp_path):
    source, _ = live
    taken = tmp_path / "taken"
    taken.write_text("mine")

    with pytest.raises(StoreError, match=r"taken is there already \(name another file, or say --overwrite\)"):
        back_up(source, taken)
    assert taken.read_text() == "mine"

    back_up(source, taken, overwrite=True)
    assert counts(taken) == (2 * PAIRS_AT_FIRST, PAIRS_AT_FIRST)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_copy_is_not_put_beside_the_log_of_another_database(live, tmp_path, suffix):
    source, _ = live
    (tmp_path / f"copy.db{suffix}").touch()
    with pytest.raises(StoreError, match=f"copy.db{suffix} is there"):
        back_up(source, tmp_path / "copy.db", overwrite=True)


def test_the_database_is_not_copied_onto_itself(live):
    source, _ = live
    with pytest.raises(StoreError, match="is the database itself"):
        back_up(source, source, overwrite=True)


def test_a_copy_that_has_no_place_is_refused(live, tmp_path):
    source, _ = live
    with pytest.raises(StoreError, match="is a folder"):
        back_up(source, tmp_path)
    with pytest.raises(StoreError, match="can't be written: No such file or directory"):
        back_up(source, tmp_path / "no" / "copy.db")


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(StoreError, match="there is no database"):
        back_up(tmp_path / "none.db", tmp_path / "copy.db")
    assert names(tmp_path) == []


def test_a_damaged_database_is_told_and_the_older_copy_stays(live, tmp_path):
    source, db = live
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged, older = tmp_path / "damaged.db", tmp_path / "older.db"
    shutil.copy(source, damaged)
    older.write_text("older")
    with damaged.open("r+b") as file:
        file.seek(40 * 4_096)
        file.write(b"\xff" * 4_096)

    with pytest.raises(StoreError, match="damaged") as told:
        back_up(damaged, older, overwrite=True)

    assert told.value.code == "store_corrupt"
    assert older.read_text() == "older"
    assert not list(tmp_path.glob("*.partial"))


def test_a_file_of_something_else_is_not_copied(tmp_path):
    (tmp_path / "text.db").write_text("no database at all, whatever its name says\n" * 100)
    with pytest.raises(StoreError, match="is not an SQLite database"):
        back_up(tmp_path / "text.db", tmp_path / "copy.db")
    assert names(tmp_path) == ["text.db"]


def test_an_interrupted_copy_leaves_nothing(live, tmp_path, monkeypatch):
    source, _ = live
    (tmp_path / "copies").mkdir()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(backup, "STEP_PAGES", 50)
    monkeypatch.setattr(backup, "_listen_to_signals", interrupt)
    with pytest.raises(KeyboardInterrupt):
        back_up(source, tmp_path / "copies" / "copy.db")
    assert names(tmp_path / "copies") == []
