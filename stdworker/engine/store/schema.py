"""The tables, one description for SQLite and Postgres.

Documents are verbatim JSON text, instants are integer milliseconds, `phase` is derived by the database.
Rows that are one thing to the outside (a resource, its place in the queue) stay apart where their rates of
change differ.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

FOREVER_MS = 9_223_372_036_854_775_807
"""`frozen_until` of a quarantine: it ends only when someone ends it."""

# First match wins. `state.phase` says the same in Python; a test compares them on every combination.
PHASE = f"""CASE
 WHEN deletion_requested_at IS NOT NULL THEN 'Deleting'
 WHEN frozen_until = {FOREVER_MS} THEN 'Quarantined'
 WHEN failure_gen = generation THEN 'Failed'
 WHEN frozen_until IS NOT NULL THEN 'Orphaned'
 WHEN synced_gen < generation OR unsettled > 0 OR due > 0 THEN 'Reconciling'
 WHEN NOT health_ok OR unready > 0 THEN 'Degraded'
 ELSE 'Ready' END"""

# An integer key that SQLite stores as the row's own address.
_ID = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of those rows alone of which `where` is true."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


resources = Table(
    "resources",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=False),
    Column("uid", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("owner_id", _ID),
    Column("root_id", _ID),
    Column("generation", BigInteger, nullable=False),
    Column("worked_gen", BigInteger, nullable=False),  # own stages succeeded
    Column("synced_gen", BigInteger, nullable=False),  # … and no live descendant was unsettled
    Column("composed_gen", BigInteger, nullable=False),
    Column("failure_gen", BigInteger, nullable=False),
    Column("failure_terminal", Boolean, nullable=False),
    Column("failure_attempts", Integer, nullable=False),
    Column("failure_reason", Text, nullable=False),
    Column("failure_message", Text, nullable=False),
    Column("health_ok", Boolean, nullable=False),
    Column("due", SmallInteger, nullable=False),  # stages owed at the same generation, a bit mask
    Column("unsettled", Integer, nullable=False),  # live children whose subtree still moves
    Column("unready", Integer, nullable=False),  # live children that are not Ready
    Column("counted_unsettled", Boolean, nullable=False),  # what the owner has counted for this one
    Column("counted_unready", Boolean, nullable=False),
    Column("gate", SmallInteger, nullable=False),
    Column("gate_message", Text, nullable=False),
    Column("wanted", Boolean, nullable=False),
    Column("deletion_requested_at", BigInteger),
    Column("frozen_until", BigInteger),
    Column("resync_at", BigInteger),  # when it runs again by itself; null: never
    Column("recompose", Boolean, nullable=False, server_default=false()),  # asked for by its composer
    Column("synced_changed_at", BigInteger, nullable=False),
    Column("ready_changed_at", BigInteger, nullable=False),
    Column("transition_seq", BigInteger, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("provider_config", Text),
    Column("finalizers", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("status", Text),
    Column("spec", Text),
    Column("composed_spec", Text),
    Column("flowed", Text),
    Column("spec_gen", BigInteger, nullable=False, server_default="1"),  # the generation since which it is this one
    Column("spec_by", Text, nullable=False, server_default=""),
    Column("spec_at", BigInteger, nullable=False, server_default="0"),
    Column("phase", Text, Computed(PHASE, persisted=True)),
    UniqueConstraint("kind", "name", name="resources_kind_name"),
    Index("resources_uid", "uid", unique=True),
    _partial("resources_owner", "owner_id", "counted_unready", where="owner_id IS NOT NULL"),
    _partial("resources_phase", "phase", "id", where="phase <> 'Ready'"),
    Index("resources_pair", "kind", "kind_version", "id"),
    _partial("resources_config", "provider_config", where="provider_config IS NOT NULL"),
    _partial("resources_frozen", "frozen_until", where="frozen_until IS NOT NULL"),
    _partial("resources_resync", "resync_at", where="resync_at IS NOT NULL"),
)

resource_labels = Table(
    "resource_labels",
    metadata,
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("resource_id", _ID, nullable=False),
    PrimaryKeyConstraint("key", "value", "resource_id"),
    Index("resource_labels_resource", "resource_id"),
    sqlite_with_rowid=False,
)

queue = Table(
    "queue",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=False),  # resource_id * 4 + task type
    Column("resource_id", _ID, nullable=False),  # or of a delivery: they share a sequence
    Column("kind", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("position", BigInteger, nullable=False),  # available from, and the order among those available
    Column("held", Boolean, nullable=False),  # gated, or behind another task of the same resource
    Column("reasons", SmallInteger, nullable=False),
    Column("again", SmallInteger, nullable=False),  # reasons that arrived while the row was claimed
    Column("seq", BigInteger, nullable=False),
    Column("claimed_seq", BigInteger, nullable=False),
    Column("done", SmallInteger, nullable=False),  # stages of this run that succeeded, a bit mask
    Column("emitted", Text, nullable=False),  # conditions of this run's stages
    Column("stage", Text),
    Column("generation", BigInteger, nullable=False),  # what the leased task saw
    Column("epoch", BigInteger, nullable=False),
    Column("token", Text),
    Column("claimed_by", Text),
    Column("worker", Text),
    Column("claimed_at", BigInteger),
    Column("heartbeat_at", BigInteger),
    Column("superseded", Text),  # why the leased task's result no longer counts in full
    Column("void_told", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("progress", Float),
    Column("progress_message", Text, nullable=False),
    _partial("queue_ready", "kind", "kind_version", "position", where="claimed_by IS NULL AND NOT held"),
    _partial("queue_claimed", "kind", "kind_version", where="claimed_by IS NOT NULL"),
    _partial("queue_void", "claimed_by", where="superseded IS NOT NULL AND NOT void_told"),
)

edges = Table(
    "edges",
    metadata,
    Column("dependent_id", _ID, nullable=False),
    Column("dependency_id", _ID, nullable=False),
    Column("owner_id", _ID, nullable=False),
    Column("flows", Text, nullable=False),  # [[dependent_field, source_field], …]
    PrimaryKeyConstraint("dependent_id", "dependency_id"),
    Index("edges_dependency", "dependency_id"),
    Index("edges_owner", "owner_id"),
    sqlite_with_rowid=False,
)

operations = Table(
    "operations",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("resource_id", _ID, nullable=False),
    Column("number", BigInteger, nullable=False),  # the order of a resource's operations
    Column("verb", Text, nullable=False),
    Column("input", Text),
    Column("requested_by", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("output", Text),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("attempts", Integer, nullable=False),  # begun, those given back uncounted
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Index("operations_resource", "resource_id", "number", unique=True),
)

reactor_bindings = Table(
    "reactor_bindings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("watch_kind", Text, nullable=False),
    Column("watch_kind_version", Integer),  # null: any
    Column("transition", Text, nullable=False),
    Column("reactor", Text, nullable=False),
    Column("reactor_version", Integer),  # null: the newest
    Column("label_match", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("labels", Text, nullable=False, server_default="{}"),
)

# The outbox of reactors: what they are told, until they have taken it. A row has a place in the queue, or is dead.
deliveries = Table(
    "deliveries",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=False),
    Column("binding", Text, nullable=False),
    Column("transition", Text, nullable=False),
    Column("reactor", Text, nullable=False),
    Column("reactor_version", Integer),  # null: the newest
    Column("dedup_token", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("uid", Text, nullable=False),  # from here to status: the resource as it was
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("synced_gen", BigInteger, nullable=False),
    Column("phase", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("owner_uid", Text),
    Column("root_uid", Text),
    Column("spec", Text),
    Column("status", Text),
    Column("dead_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    _partial("deliveries_dead", "id", where="dead_at IS NOT NULL"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("resource_id", _ID, nullable=False),
    Column("generation", BigInteger, nullable=False),  # the first one that had it
    Column("kind_version", Integer, nullable=False),
    Column("spec", Text),
    Column("written_by", Text, nullable=False),
    Column("written_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("resource_id", "generation"),
)

rechecks = Table(
    "rechecks",
    metadata,
    Column("what", SmallInteger, nullable=False),
    Column("resource_id", _ID, nullable=False),
    PrimaryKeyConstraint("what", "resource_id"),
    sqlite_with_rowid=False,
)

waits = Table(
    "waits",
    metadata,
    Column("subject", Text, nullable=False),  # kind:NAME@VERSION, or name:KIND/NAME
    Column("resource_id", _ID, nullable=False),
    PrimaryKeyConstraint("subject", "resource_id"),
    Index("waits_resource", "resource_id"),
    sqlite_with_rowid=False,
)

kinds = Table(
    "kinds",
    metadata,
    Column("kind", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("manifest", Text, nullable=False),
    Column("manifest_version", BigInteger, nullable=False),
    Column("policy", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("labels", Text, nullable=False, server_default="{}"),
    PrimaryKeyConstraint("kind", "kind_version"),
)

provider_configs = Table(
    "provider_configs",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("is_default", Boolean, nullable=False),
    Column("spec", Text),
    Column("bundle", LargeBinary),
    Column("owner_id", _ID),
    Column("revision", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("labels", Text, nullable=False, server_default="{}"),
    Column("wanted", Boolean, nullable=False, server_default=true()),  # or else it stays for what still refers to it
    _partial("provider_configs_default", "kind", "kind_version", where="is_default", unique=True),
    _partial("provider_configs_owner", "owner_id", where="owner_id IS NOT NULL"),
)

default_revisions = Table(
    "default_revisions",
    metadata,
    Column("kind", Text, nullable=False),
    Column("kind_version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "kind_version"),
)

sweeps = Table(
    "sweeps",
    metadata,
    Column("subject", Text, primary_key=True),  # pair:KIND@VERSION, resync:KIND@VERSION, or config:NAME
    Column("after_id", BigInteger, nullable=False),
)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("id", Text, primary_key=True),
    Column("reported_at", BigInteger, nullable=False),
    Column("report", Text, nullable=False),  # what the process says of itself and of its workers
)

phase_counts = Table(
    "phase_counts",
    metadata,
    Column("kind", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("resources", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "phase"),
)

events = Table(
    "events",
    metadata,
    Column("seq", _ID, primary_key=True, autoincrement=False),
    Column("kind", Text),
    Column("name", Text),
    Column("uid", Text),
    Column("type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("audited", Boolean, nullable=False, server_default=false()),  # someone asked for it
    Index("events_resource", "kind", "name", "seq"),
    _partial("events_audited", "seq", where="audited"),
)
