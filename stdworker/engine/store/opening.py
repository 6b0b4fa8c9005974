"""Which database a URL names. Only its own driver is imported."""

from __future__ import annotations

from pathlib import Path

from stdworker.engine.store.contract import Database
from stdworker.errors import SettingsError


def open_database(url: str, *, synchronous: str = "normal") -> Database:
    """The database of `sqlite:///PATH` or `postgresql://…`, not connected yet. Raises SettingsError for another URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and rest not in ("/", "/:memory:"):
        from stdworker.engine.store.sqlite import SqliteDatabase

        return SqliteDatabase(Path(rest[1:]), synchronous=synchronous)
    if scheme in ("postgresql", "postgres"):
        from stdworker.engine.store.postgres import PostgresDatabase

        return PostgresDatabase("postgresql://" + rest)
    raise SettingsError("DATABASE_URL", url, "sqlite:///PATH of a file, or postgresql://…")
