"""The file of an SQLite database is the one that is named, letter for letter."""

from stdworker.engine.store.sqlite import SqliteDatabase


def test_migration_and_engine_mean_the_same_file_whatever_its_name(tmp_path):
    path = tmp_path / "a b?c=d%20#é.db"
    database = SqliteDatabase(path)
    database.migrate()
    connection = database.connect()
    assert connection.fetch("SELECT count(*) FROM alembic_version") == [(1,)]
    connection.close()
    assert {found.name.removesuffix("-wal").removesuffix("-shm") for found in tmp_path.iterdir()} == {path.name}
