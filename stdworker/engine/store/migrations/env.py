"""Alembic's entry: runs on the connection that `store.migrate` opened and locked."""

from alembic import context

from stdworker.engine.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
