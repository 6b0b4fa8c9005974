"""Each test of this folder runs on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stdworker.engine.store.contract import Connection, Database
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.sqlite import SqliteDatabase


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: Any, tmp_path: Any) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("postgres").create_database()


@pytest.fixture
def database(database_url: str, tmp_path: Any) -> Database:
    database: Database
    if database_url.startswith("sqlite"):
        database = SqliteDatabase(tmp_path / "store.db")
    else:
        database = PostgresDatabase(database_url)
    database.migrate()
    return database


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    """A connection inside a transaction."""
    connection = database.connect()
    connection.begin()
    yield connection
    connection.rollback()
    connection.close()
