"""Reactors: what they watch, and the outbox of what they are told.

Revision ID: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DEAD = sa.text("dead_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("resources", sa.Column("transition_seq", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "reactor_bindings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("watch_kind", sa.Text(), nullable=False),
        sa.Column("watch_kind_version", sa.Integer(), nullable=True),
        sa.Column("transition", sa.Text(), nullable=False),
        sa.Column("reactor", sa.Text(), nullable=False),
        sa.Column("reactor_version", sa.Integer(), nullable=True),
        sa.Column("label_match", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("binding", sa.Text(), nullable=False),
        sa.Column("transition", sa.Text(), nullable=False),
        sa.Column("reactor", sa.Text(), nullable=False),
        sa.Column("reactor_version", sa.Integer(), nullable=True),
        sa.Column("dedup_token", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("synced_gen", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("owner_uid", sa.Text(), nullable=True),
        sa.Column("root_uid", sa.Text(), nullable=True),
        sa.Column("spec", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("dead_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("deliveries_dead", "deliveries", ["id"], sqlite_where=DEAD, postgresql_where=DEAD)
