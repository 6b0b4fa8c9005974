"""Which provider configs are there only for what still refers to them.

Revision ID: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("provider_configs", sa.Column("wanted", sa.Boolean(), nullable=False, server_default=sa.true()))
