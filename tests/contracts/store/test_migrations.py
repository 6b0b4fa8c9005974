"""Opening a database: fresh, known, from the future, and by several at once."""

import threading

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from stdworker.engine.store.migrate import SCRIPTS
from stdworker.engine.store.opening import open_database
from stdworker.engine.store.schema import metadata
from stdworker.errors import StoreError


def connect(url: str) -> sqlalchemy.Engine:
    return sqlalchemy.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sqlalchemy.NullPool
    )


def test_the_migrations_make_what_the_schema_describes(database, database_url):
    with connect(database_url).connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) == []


def test_migrating_again_keeps_what_is_stored(database):
    connection = database.connect()
    connection.begin()
    connection.run("UPDATE counters SET value = 7 WHERE name = 'catalog'")
    connection.commit()
    database.migrate()
    assert connection.fetch("SELECT value FROM counters WHERE name = 'catalog'") == [(7,)]
    connection.close()


def future(database, min_compatible: int) -> None:
    connection = database.connect()
    connection.begin()
    connection.run("UPDATE alembic_version SET version_num = '9999'")
    connection.run("UPDATE counters SET value = :v WHERE name = 'min_compatible'", v=min_compatible)
    connection.commit()
    connection.close()


def test_a_newer_schema_that_still_serves_this_code_is_opened(database):
    future(database, 1)
    database.migrate()


def test_a_schema_that_has_outgrown_this_code_is_refused(database):
    future(database, 9000)
    with pytest.raises(StoreError, match="needs at least 9000") as refused:
        database.migrate()
    assert refused.value.code == "schema_too_new"


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_several_that_open_a_fresh_database_at_once_make_one_schema(store, request, tmp_path):
    if store == "postgres":
        url = request.getfixturevalue("postgres").create_database()
    else:
        url = f"sqlite:///{tmp_path}/fresh.db"
    databases = [open_database(url) for _ in range(4)]
    problems: list[Exception] = []

    def migrate(database) -> None:
        try:
            database.migrate()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=migrate, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    connection = databases[0].connect()
    newest = max(path.name for path in (SCRIPTS / "versions").glob("0*.py"))[:4]
    assert connection.fetch("SELECT version_num FROM alembic_version") == [(newest,)]
    connection.close()
