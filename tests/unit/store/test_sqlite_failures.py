"""What is wrong with an SQLite store is one sentence: what, where, what to do."""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.store import sqlite, sqlite_failures
from stdworker.engine.store.sqlite import SqliteDatabase
from stdworker.errors import StoreError, StoreUnavailable

NOBODY = 65_534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    SqliteDatabase(path).migrate()
    return path


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(sqlite, "MIGRATING_BUSY_SECONDS", 0.05)


@contextlib.contextmanager
def ordinary_user():
    """Root may do everything: the rights of files are seen by another user only."""
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def shared_folder():
    """Unlike pytest's own folders, others may enter this one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def opening(path) -> StoreError:
    """What an engine is told that starts on this file."""

    async def scenario():
        with pytest.raises(StoreError) as told:
            await Engine.open(f"sqlite:///{path}")
        return told.value

    return asyncio.run(scenario())


# ---- at the start ----


def test_a_folder_that_is_missing_is_named(path):
    told = opening(path.parent / "no" / "store.db")
    assert str(told) == f"the folder of the database {path.parent}/no/store.db does not exist (create it first)"


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path):
    assert "is a folder (let DATABASE_URL name a file in it)" in str(opening(tmp_path))


@pytest.mark.parametrize("content", [b"hello, world\n" * 1_000, os.urandom(5_000), b"SQLite format 2\0" * 300])
def test_a_file_of_something_else_is_refused_and_stays_as_it_was(path, content):
    path.write_bytes(content)

    told = opening(path)

    assert str(told) == (
        f"{path} is not an SQLite database (let DATABASE_URL name another file; this one was not changed)"
    )
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_stays_as_it_was(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()

    told = opening(path)

    assert "holds tables of something else: recipes" in str(told)
    assert "let DATABASE_URL name another file" in told.hint
    assert path.read_bytes()[100:] == before[100:]


def test_a_database_that_has_outgrown_this_version_is_named(store):
    with contextlib.closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
        db.execute("UPDATE counters SET value = 9000 WHERE name = 'min_compatible'")
    told = opening(store)
    assert f"the database {store} has schema 9999, which needs at least 9000" in str(told)
    assert "run a newer version" in told.hint


def test_a_file_that_this_user_may_not_write_is_told_with_the_user(shared_folder):
    path = shared_folder / "store.db"
    SqliteDatabase(path).migrate()
    path.chmod(0o444)

    with ordinary_user():
        told = opening(path)

    assert f"may not read and write the database {path} (run the engine as the file's owner" in str(told)
    assert told.code == "store_misplaced"


def test_a_folder_that_this_user_may_not_write_is_told(shared_folder):
    shared_folder.chmod(0o555)

    with ordinary_user():
        told = opening(shared_folder / "store.db")

    assert f"may not create files in {shared_folder}, where SQLite keeps its log beside store.db" in str(told)


def test_a_lock_that_another_holds_for_longer_than_the_patience_is_told(store, impatient):
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        told = opening(store)
    assert f"the database {store} is locked by another process" in str(told)
    assert f"fuser -v {store}" in told.hint


def test_the_log_of_a_crashed_engine_is_taken_up_and_a_torn_end_of_it_left_out(store, path):
    """Whole transactions are kept; the one whose writing was cut is as if it had never been."""
    crashed = path.with_name("crashed.db")
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("INSERT INTO counters VALUES ('first', 1)")
        kept = Path(f"{store}-wal").stat().st_size
        db.execute("INSERT INTO counters VALUES ('second', 1)")
        shutil.copy(store, crashed)
        log = Path(f"{store}-wal").read_bytes()
    Path(f"{crashed}-wal").write_bytes(log[: (kept + len(log)) // 2])

    database = SqliteDatabase(crashed)
    database.migrate()

    connection = database.connect()
    names = {name for (name,) in connection.fetch("SELECT name FROM counters")}
    connection.close()
    assert "first" in names
    assert "second" not in names


# ---- while it runs ----


@pytest.fixture
def engine(store):
    with asyncio.Runner() as runner:
        engine = runner.run(Engine.open(f"sqlite:///{store}"))
        engine.do = runner.run
        yield engine
        runner.run(engine.close())


@pytest.mark.usefixtures("impatient")
def test_a_lock_fails_calls_until_it_is_gone_and_the_first_write_ends_the_outage(store, engine):
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable) as told:
            engine.do(engine.probe())
        with pytest.raises(StoreUnavailable, match="is locked by another process"):
            engine.do(engine.ping())
    assert told.value.code == "store_locked"

    engine.do(engine.probe())
    engine.do(engine.ping())


@pytest.mark.usefixtures("impatient")
def test_an_outage_is_logged_once_and_its_end_too(store, engine, caplog):
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                engine.do(engine.probe())
    engine.do(engine.probe())

    said = [record.message for record in caplog.records]
    assert len(said) == 2
    assert "nothing is stored until" in said[0]
    assert said[1] == "the store works again"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_taken_away_is_missed_before_anything_is_written(store, engine, replaced):
    away = store.rename(store.with_name("away.db"))
    if replaced:
        shutil.copy(away, store)

    with pytest.raises(StoreUnavailable, match="was moved, replaced or removed") as told:
        engine.do(engine.probe())
    assert told.value.code == "store_misplaced"

    away.rename(store)
    engine.do(engine.probe())


def test_a_damaged_page_is_told_and_stays_told_until_a_person_acts(store, engine):
    engine.do(engine.probe())
    engine.do(engine.close())
    with store.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xff" * (store.stat().st_size - 4_096))

    async def scenario():
        damaged = Engine(SqliteDatabase(store), EngineOptions(), None)
        with pytest.raises(StoreUnavailable) as told:
            await damaged.kinds()
        damaged.health.works()
        with pytest.raises(StoreUnavailable, match="is damaged"):
            await damaged.ping()
        await damaged.close()
        return told.value

    told = asyncio.run(scenario())
    assert told.code == "store_corrupt"
    assert "start from a backup" in told.hint


def test_other_errors_of_sqlite_are_no_outage(path):
    with contextlib.closing(sqlite3.connect(":memory:")) as db, pytest.raises(sqlite3.Error) as raised:
        db.execute("SELECT * FROM nowhere")
    told = sqlite_failures.explain(raised.value, path, 1)
    assert type(told) is StoreError
    assert "no such table: nowhere" in str(told)


# ---- how far a commit goes ----


@pytest.mark.parametrize(("setting", "level"), [("normal", 1), ("full", 2)])
def test_synchronous_reaches_the_connections(store, setting, level):
    connection = SqliteDatabase(store, synchronous=setting).connect()
    assert connection.fetch("PRAGMA synchronous") == [(level,)]
    connection.close()
