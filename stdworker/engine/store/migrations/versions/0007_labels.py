"""Labels of kinds and provider configs.

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for table in ("kinds", "provider_configs"):
        op.add_column(table, sa.Column("labels", sa.Text(), nullable=False, server_default="{}"))
