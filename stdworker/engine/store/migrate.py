"""Bringing a database to this code's schema.

Migrations are expand-then-contract: older code keeps working on a newer schema until a migration raises
`min_compatible` above it. So start is refused only by a database that has outgrown this code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from stdworker.errors import StoreError

SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(engine: sqlalchemy.Engine, explain: Callable[[BaseException], StoreError], name: str) -> None:
    """Upgrade in one transaction, which the engine's `begin` hook has locked; the engine is disposed of.

    Raises StoreError when the database, called `name`, is too new for this code, or as `explain` says.
    """
    try:
        _upgrade(engine, name)
    except sqlalchemy.exc.DBAPIError as error:
        raise explain(error.orig or error) from error
    finally:
        engine.dispose()


def _upgrade(engine: sqlalchemy.Engine, name: str) -> None:
    newest, *older = _known(SCRIPTS)
    with engine.begin() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        if current == newest:
            return
        if current is not None and current not in older:
            _refuse_outgrown(connection, current, name, ours=newest)
            return
        config = Config()
        config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@functools.cache
def _known(scripts: Path) -> tuple[str, ...]:
    """The revisions in this folder, the newest first."""
    return tuple(script.revision for script in ScriptDirectory(str(scripts)).walk_revisions())


def _refuse_outgrown(connection: sqlalchemy.Connection, current: str, name: str, *, ours: str) -> None:
    needed = connection.execute(
        sqlalchemy.text("SELECT value FROM counters WHERE name = 'min_compatible'")
    ).scalar_one()
    if needed > int(ours):
        raise StoreError(
            f"{name} has schema {current}, which needs at least {needed:04}; this version knows {ours}",
            hint="run a newer version, or start from a backup that an older one made",
            code="schema_too_new",
        )
