"""Which frozen resources are due to go is found by index.

Revision ID: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

IS_FROZEN = sa.text("frozen_until IS NOT NULL")


def upgrade() -> None:
    op.create_index(
        "resources_frozen", "resources", ["frozen_until"], sqlite_where=IS_FROZEN, postgresql_where=IS_FROZEN
    )
