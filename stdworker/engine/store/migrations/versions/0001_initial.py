"""Everything that the first release needs.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

COUNTERS = (("resources", 0), ("events", 0), ("catalog", 0), ("min_compatible", 1))
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PHASE = """CASE
 WHEN deletion_requested_at IS NOT NULL THEN 'Deleting'
 WHEN frozen_until = 9223372036854775807 THEN 'Quarantined'
 WHEN failure_gen = generation THEN 'Failed'
 WHEN frozen_until IS NOT NULL THEN 'Orphaned'
 WHEN synced_gen < generation OR unsettled > 0 OR due > 0 THEN 'Reconciling'
 WHEN NOT health_ok OR unready > 0 THEN 'Degraded'
 ELSE 'Ready' END"""


def upgrade() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "default_revisions",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "kind_version"),
    )
    op.create_table(
        "edges",
        sa.Column("dependent_id", ID, nullable=False),
        sa.Column("dependency_id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("flows", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("dependent_id", "dependency_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("edges_dependency", "edges", ["dependency_id"], unique=False)
    op.create_index("edges_owner", "edges", ["owner_id"], unique=False)
    op.create_table(
        "events",
        sa.Column("seq", ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("uid", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("events_resource", "events", ["kind", "name", "seq"], unique=False)
    op.create_table(
        "kinds",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("manifest_version", sa.BigInteger(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "kind_version"),
    )
    op.create_table(
        "phase_counts",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("resources", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "phase"),
    )
    op.create_table(
        "provider_configs",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=True),
        sa.Column("bundle", sa.LargeBinary(), nullable=True),
        sa.Column("owner_id", ID, nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(
        "provider_configs_default",
        "provider_configs",
        ["kind", "kind_version"],
        unique=True,
        sqlite_where=sa.text("is_default"),
        postgresql_where=sa.text("is_default"),
    )
    op.create_index(
        "provider_configs_owner",
        "provider_configs",
        ["owner_id"],
        unique=False,
        sqlite_where=sa.text("owner_id IS NOT NULL"),
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_table(
        "queue",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("resource_id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("reasons", sa.SmallInteger(), nullable=False),
        sa.Column("again", sa.SmallInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("claimed_seq", sa.BigInteger(), nullable=False),
        sa.Column("done", sa.SmallInteger(), nullable=False),
        sa.Column("emitted", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("heartbeat_at", sa.BigInteger(), nullable=True),
        sa.Column("superseded", sa.Text(), nullable=True),
        sa.Column("void_told", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Float(), nullable=True),
        sa.Column("progress_message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "queue_claimed",
        "queue",
        ["kind", "kind_version"],
        unique=False,
        sqlite_where=sa.text("claimed_by IS NOT NULL"),
        postgresql_where=sa.text("claimed_by IS NOT NULL"),
    )
    op.create_index(
        "queue_ready",
        "queue",
        ["kind", "kind_version", "position"],
        unique=False,
        sqlite_where=sa.text("claimed_by IS NULL AND NOT held"),
        postgresql_where=sa.text("claimed_by IS NULL AND NOT held"),
    )
    op.create_index(
        "queue_void",
        "queue",
        ["claimed_by"],
        unique=False,
        sqlite_where=sa.text("superseded IS NOT NULL AND NOT void_told"),
        postgresql_where=sa.text("superseded IS NOT NULL AND NOT void_told"),
    )
    op.create_table(
        "rechecks",
        sa.Column("what", sa.SmallInteger(), nullable=False),
        sa.Column("resource_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("what", "resource_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "resource_labels",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("resource_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("key", "value", "resource_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("resource_labels_resource", "resource_labels", ["resource_id"], unique=False)
    op.create_table(
        "resources",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind_version", sa.Integer(), nullable=False),
        sa.Column("owner_id", ID, nullable=True),
        sa.Column("root_id", ID, nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("worked_gen", sa.BigInteger(), nullable=False),
        sa.Column("synced_gen", sa.BigInteger(), nullable=False),
        sa.Column("composed_gen", sa.BigInteger(), nullable=False),
        sa.Column("failure_gen", sa.BigInteger(), nullable=False),
        sa.Column("failure_terminal", sa.Boolean(), nullable=False),
        sa.Column("failure_attempts", sa.Integer(), nullable=False),
        sa.Column("failure_reason", sa.Text(), nullable=False),
        sa.Column("failure_message", sa.Text(), nullable=False),
        sa.Column("health_ok", sa.Boolean(), nullable=False),
        sa.Column("due", sa.SmallInteger(), nullable=False),
        sa.Column("unsettled", sa.Integer(), nullable=False),
        sa.Column("unready", sa.Integer(), nullable=False),
        sa.Column("counted_unsettled", sa.Boolean(), nullable=False),
        sa.Column("counted_unready", sa.Boolean(), nullable=False),
        sa.Column("gate", sa.SmallInteger(), nullable=False),
        sa.Column("gate_message", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Boolean(), nullable=False),
        sa.Column("deletion_requested_at", sa.BigInteger(), nullable=True),
        sa.Column("frozen_until", sa.BigInteger(), nullable=True),
        sa.Column("synced_changed_at", sa.BigInteger(), nullable=False),
        sa.Column("ready_changed_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("provider_config", sa.Text(), nullable=True),
        sa.Column("finalizers", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("conditions", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("spec", sa.Text(), nullable=True),
        sa.Column("composed_spec", sa.Text(), nullable=True),
        sa.Column("flowed", sa.Text(), nullable=True),
        sa.Column("phase", sa.Text(), sa.Computed(PHASE, persisted=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "name", name="resources_kind_name"),
    )
    op.create_index(
        "resources_config",
        "resources",
        ["provider_config"],
        unique=False,
        sqlite_where=sa.text("provider_config IS NOT NULL"),
        postgresql_where=sa.text("provider_config IS NOT NULL"),
    )
    op.create_index(
        "resources_owner",
        "resources",
        ["owner_id", "counted_unready"],
        unique=False,
        sqlite_where=sa.text("owner_id IS NOT NULL"),
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_index("resources_pair", "resources", ["kind", "kind_version", "id"], unique=False)
    op.create_index(
        "resources_phase",
        "resources",
        ["phase", "id"],
        unique=False,
        sqlite_where=sa.text("phase <> 'Ready'"),
        postgresql_where=sa.text("phase <> 'Ready'"),
    )
    op.create_index("resources_uid", "resources", ["uid"], unique=True)
    op.create_table(
        "sweeps",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("after_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject"),
    )
    op.create_table(
        "waits",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("resource_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("subject", "resource_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("waits_resource", "waits", ["resource_id"], unique=False)

    op.bulk_insert(
        sa.table("counters", sa.column("name", sa.Text), sa.column("value", sa.BigInteger)),
        [{"name": name, "value": value} for name, value in COUNTERS],
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE resource_ids")
