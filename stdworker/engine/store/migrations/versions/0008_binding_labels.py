"""Labels of reactor bindings.

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("reactor_bindings", sa.Column("labels", sa.Text(), nullable=False, server_default="{}"))
