"""The audit: which events someone asked for, kept on their own account.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("events", sa.Column("audited", sa.Boolean(), server_default=sa.false(), nullable=False))
    audited = sa.text("audited")
    op.create_index("events_audited", "events", ["seq"], sqlite_where=audited, postgresql_where=audited)
    op.bulk_insert(
        sa.table("counters", sa.column("name", sa.Text), sa.column("value", sa.BigInteger)),
        [{"name": "events_pruned", "value": 0}],
    )
