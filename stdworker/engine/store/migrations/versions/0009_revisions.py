"""Revisions: the specs that a resource had before, and since when and by whom it has the live one.

Revision ID: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "revisions",
        sa.Column("resource_id", ID, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=True),
        sa.Column("written_by", sa.Text(), nullable=False),
        sa.Column("written_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("resource_id", "generation"),
    )
    op.add_column("resources", sa.Column("spec_gen", sa.BigInteger(), nullable=False, server_default="1"))
    op.add_column("resources", sa.Column("spec_by", sa.Text(), nullable=False, server_default=""))
    op.add_column("resources", sa.Column("spec_at", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute("UPDATE resources SET spec_gen = generation, spec_at = updated_at")  # what was before isn't known
    op.add_column("queue", sa.Column("claimed_at", sa.BigInteger(), nullable=True))
