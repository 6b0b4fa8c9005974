"""Bringing a database to this code's schema.

Migrations are expand-then-contract: older code keeps working on a newer schema until a migration raises
`min_compatible` above it. So start is refused only by a database that has outgrown this code.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from stdworker.errors import StoreError

SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(engine: sqlalchemy.Engine, name: str) -> None:
    """Upgrade in one transaction, which the engine's `begin` hook has locked; the engine is disposed of.

    Raises StoreError when the database, called `name`, can't be opened or is too new for this code.
    """
    try:
        _upgrade(engine)
    except sqlalchemy.exc.DBAPIError as error:
        raise StoreError(f"{name} can't be opened: {error.orig}") from error
    finally:
        engine.dispose()


def _upgrade(engine: sqlalchemy.Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    with engine.begin() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
        known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
        if current is not None and current not in known:
            _refuse_outgrown(connection, current, ours=max(known))
            return
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _refuse_outgrown(connection: sqlalchemy.Connection, current: str, *, ours: str) -> None:
    needed = connection.execute(
        sqlalchemy.text("SELECT value FROM counters WHERE name = 'min_compatible'")
    ).scalar_one()
    if needed > int(ours):
        raise StoreError(
            f"the database has schema {current}, which needs at least {needed:04}; this version knows {ours}",
            hint="run a newer version",
            code="schema_too_new",
        )
