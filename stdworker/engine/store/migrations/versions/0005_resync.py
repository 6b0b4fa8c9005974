"""When resources run again by themselves, and which composites compose again when a child settles.

Revision ID: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

IS_PLANNED = sa.text("resync_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("resources", sa.Column("resync_at", sa.BigInteger(), nullable=True))
    op.add_column("resources", sa.Column("recompose", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(
        "resources_resync", "resources", ["resync_at"], sqlite_where=IS_PLANNED, postgresql_where=IS_PLANNED
    )
