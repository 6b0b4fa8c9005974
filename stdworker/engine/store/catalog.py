"""Kinds and provider configs in the store: what changes rarely and is read all the time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple
from typing import Any

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import CONFIG_COLUMNS, KIND_COLUMNS, ConfigRow, KindRow
from stdworker.engine.store.sql import insert, selected, upsert
from stdworker.model.kind import KindVersion

WRITER = "writer:"
"""Counters of this name hold the number of a writer's last transaction: microseconds since the epoch."""

_KIND = selected("k", KIND_COLUMNS)
_CONFIG = selected("c", CONFIG_COLUMNS)
_SAVE_KIND = upsert("kinds", ("kind", "kind_version"), KIND_COLUMNS)
# Not as rows of JSON, which hold no bundle.
_ADD_CONFIG = (
    f"INSERT INTO provider_configs ({', '.join(CONFIG_COLUMNS)})"
    f" VALUES ({', '.join(f':{name}' for name in CONFIG_COLUMNS)})"
)
_SAVE_CONFIG = f"{_ADD_CONFIG} {upsert('provider_configs', ('name',), CONFIG_COLUMNS).conflict}"
_HOLD = (
    "SELECT c.name FROM provider_configs c WHERE c.name IN (SELECT * FROM NAMES(names)"
    " UNION SELECT o.name FROM provider_configs o WHERE o.owner_id IN (SELECT * FROM IDS(owners))"
    " UNION SELECT n.provider_config FROM resources n WHERE n.owner_id IN (SELECT * FROM IDS(owners)))"
    " AND (c.owner_id IS NOT NULL OR NOT c.wanted) ORDER BY c.name LOCK(c)"
)
_UNWANT = (
    "UPDATE provider_configs SET wanted = false WHERE name IN (SELECT c.name FROM provider_configs c"
    " WHERE c.name IN (SELECT * FROM NAMES(names)) ORDER BY c.name LOCK(c))"
)
_FORSAKE = (
    "UPDATE provider_configs SET wanted = false, owner_id = NULL WHERE name IN (SELECT c.name FROM provider_configs c"
    " WHERE c.owner_id IN (SELECT * FROM IDS(owners)) ORDER BY c.name LOCK(c)) RETURNING name"
)
_DROP_LEFT = (
    "DELETE FROM provider_configs WHERE name IN (SELECT * FROM NAMES(names)) AND NOT wanted"
    " AND NOT EXISTS (SELECT 1 FROM resources n WHERE n.provider_config = provider_configs.name)"
)
_BUMP = (
    "INSERT INTO default_revisions (kind, kind_version, revision) VALUES (:kind, :version, 1)"
    " ON CONFLICT (kind, kind_version) DO UPDATE SET revision = default_revisions.revision + 1"
)
_COUNT_PROBE = (
    "INSERT INTO counters (name, value) VALUES ('probes', 1)"
    " ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"
)
_FORGET_WRITERS = f"DELETE FROM counters WHERE name LIKE '{WRITER}%' AND value < :oldest"
_COUNT_UP = "UPDATE counters SET value = value + 1 WHERE name = :name"
_COUNT_PHASES = insert(
    "phase_counts",
    ("kind", "phase", "resources"),
    "ON CONFLICT (kind, phase) DO UPDATE SET resources = phase_counts.resources + excluded.resources",
)
_SWEEP = upsert("sweeps", ("subject",), ("subject", "after_id"))


def revision(db: Connection) -> int:
    """Rises whenever a kind, a default config or a binding changes: what a cache of them is as new as."""
    return int(db.fetch("SELECT value FROM counters WHERE name = 'catalog'")[0][0])


def probe(db: Connection) -> None:
    """Change something: a row that stays the same would not be written."""
    db.run(_COUNT_PROBE)


def changed(db: Connection) -> None:
    """Something that is cached with the kinds has changed."""
    db.run(_COUNT_UP, name="catalog")


def identify(db: Connection, identity: int) -> None:
    """Give the database an identity, unless it has one: its copies have the same."""
    db.run("INSERT INTO counters (name, value) VALUES ('identity', :value) ON CONFLICT DO NOTHING", value=identity)


def identity(db: Connection) -> int | None:
    rows = db.fetch("SELECT value FROM counters WHERE name = 'identity'")
    return int(rows[0][0]) if rows else None


def schema(db: Connection) -> str:
    """The revision of the schema."""
    return str(db.fetch("SELECT version_num FROM alembic_version")[0][0])


def forget_writers(db: Connection, oldest_ms: int) -> None:
    """Of connections that have stored nothing since."""
    db.run(_FORGET_WRITERS, oldest=oldest_ms * 1_000)


def kinds(db: Connection) -> list[KindRow]:
    return [KindRow(*row) for row in db.fetch(f"SELECT {_KIND} FROM kinds k ORDER BY k.kind, k.kind_version")]


def kind(db: Connection, pair: KindVersion) -> KindRow | None:
    statement = f"SELECT {_KIND} FROM kinds k WHERE k.kind = :kind AND k.kind_version = :version"
    found = db.fetch(statement, **pair._asdict())
    return KindRow(*found[0]) if found else None


def save_kind(db: Connection, kind: KindRow) -> None:
    db.write(_SAVE_KIND, [astuple(kind)])
    changed(db)


def remove_kind(db: Connection, pair: KindVersion) -> None:
    for table in ("provider_configs", "kinds"):
        db.run(f"DELETE FROM {table} WHERE kind = :kind AND kind_version = :version", **pair._asdict())
    bump_default(db, pair)


def in_use(db: Connection, pair: KindVersion) -> bool:
    statement = "SELECT 1 FROM resources WHERE kind = :kind AND kind_version = :version LIMIT 1"
    return bool(db.fetch(statement, **pair._asdict()))


def pairs(db: Connection) -> list[KindVersion]:
    """The kind versions that are published."""
    return [KindVersion(*row) for row in db.fetch("SELECT kind, kind_version FROM kinds")]


def versions(db: Connection, kinds: Sequence[str]) -> set[KindVersion]:
    """The published versions of some kinds."""
    statement = "SELECT kind, kind_version FROM kinds WHERE kind IN (SELECT * FROM NAMES(kinds))"
    return {KindVersion(*row) for row in db.fetch(statement, kinds=list(kinds))}


def bump_default(db: Connection, pair: KindVersion) -> None:
    """A default config was edited: raise the pair's revision."""
    db.run(_BUMP, **pair._asdict())
    changed(db)


def default_revisions(db: Connection) -> dict[KindVersion, int]:
    rows = db.fetch("SELECT kind, kind_version, revision FROM default_revisions")
    return {KindVersion(kind, version): revision for kind, version, revision in rows}


def default_config(db: Connection, pair: KindVersion) -> ConfigRow | None:
    found = _configs(db, "c.kind = :kind AND c.kind_version = :version AND c.is_default", **pair._asdict())
    return found[0] if found else None


def default_spec(db: Connection, pair: KindVersion) -> str | None:
    """The default's document without its bundle."""
    statement = "SELECT spec FROM provider_configs WHERE kind = :kind AND kind_version = :version AND is_default"
    found = db.fetch(statement, **pair._asdict())
    return found[0][0] if found else None


def config(db: Connection, name: str) -> ConfigRow | None:
    found = _configs(db, "c.name = :name", name=name)
    return found[0] if found else None


def configs_named(db: Connection, names: Collection[str]) -> list[ConfigRow]:
    return _configs(db, "c.name IN (SELECT * FROM NAMES(names))", names=sorted(names)) if names else []


def hold_configs(db: Connection, names: Collection[str], owners: Collection[int]) -> None:
    """Lock those of these names and those that some resources own, or their children refer to, in one order, before
    any of them is read: what a composer emitted may go when nobody wants it. What people declared needs no lock, it
    changes while nobody else writes.
    """
    db.run(_HOLD, names=sorted(names), owners=sorted(owners))


def configs_owned(db: Connection, owner_id: int) -> list[ConfigRow]:
    return _configs(db, "c.owner_id = :owner", owner=owner_id)


def list_configs(db: Connection, pair: KindVersion | None, after: str, limit: int) -> list[ConfigRow]:
    only = " AND c.kind = :kind AND c.kind_version = :version" if pair else ""
    where = f"c.name > :after{only} ORDER BY c.name LIMIT :limit"
    return _configs(db, where, after=after, limit=limit, **(pair._asdict() if pair else {}))


def save_config(db: Connection, config: ConfigRow) -> None:
    db.run(_SAVE_CONFIG, **_config_values(config))


def add_config(db: Connection, config: ConfigRow) -> None:
    """Store one whose name was free; a transaction that took it meanwhile makes this one run again."""
    db.run(_ADD_CONFIG, **_config_values(config))


def _config_values(config: ConfigRow) -> dict[str, Any]:
    return dict(zip(CONFIG_COLUMNS, astuple(config), strict=True))


def remove_config(db: Connection, name: str) -> None:
    db.run("DELETE FROM provider_configs WHERE name = :name", name=name)


def unwant_configs(db: Connection, names: Collection[str]) -> None:
    """Their composite emits them no more."""
    db.run(_UNWANT, names=sorted(names))


def forsake_configs(db: Connection, owners: Collection[int]) -> list[str]:
    """Nobody wants any more what these composites emitted, nor owns it; the names."""
    return [row[0] for row in db.fetch(_FORSAKE, owners=sorted(owners))]


def drop_configs(db: Connection, names: Collection[str]) -> None:
    """Remove those that nobody wants and nothing refers to.

    They are held first: of two transactions that each take a reference away, the second one sees both gone.
    """
    hold_configs(db, names, ())
    db.run(_DROP_LEFT, names=sorted(names))


def start_sweep(db: Connection, subject: str) -> None:
    """Ask for all resources of a subject to be queued again, from the first one on."""
    db.write(_SWEEP, [(subject, 0)])


def next_sweep(db: Connection) -> tuple[str, int] | None:
    rows = db.fetch("SELECT s.subject, s.after_id FROM sweeps s ORDER BY s.subject LIMIT 1")
    return (rows[0][0], rows[0][1]) if rows else None


def move_sweep(db: Connection, subject: str, begun: int, after_id: int | None) -> None:
    """A sweep got from `begun` this far, unless it was asked for anew; None: it is through."""
    where = "WHERE subject = :subject AND after_id = :begun"
    if after_id is None:
        db.run(f"DELETE FROM sweeps {where}", subject=subject, begun=begun)
    else:
        db.run(f"UPDATE sweeps SET after_id = :after {where}", subject=subject, begun=begun, after=after_id)


def _configs(db: Connection, where: str, **parameters: Any) -> list[ConfigRow]:
    rows = db.fetch(f"SELECT {_CONFIG} FROM provider_configs c WHERE {where}", **parameters)
    configs = [ConfigRow(*row) for row in rows]
    for found in configs:
        found.is_default, found.wanted = bool(found.is_default), bool(found.wanted)
    return configs


def count_phases(db: Connection, changes: Iterable[tuple[str, str, int]]) -> None:
    """Add to the numbers of resources by kind and phase."""
    db.write(_COUNT_PHASES, sorted(changes))


def phase_counts(db: Connection) -> Sequence[tuple[str, str, int]]:
    rows = db.fetch("SELECT kind, phase, resources FROM phase_counts WHERE resources > 0 ORDER BY kind, phase")
    return [(row[0], row[1], row[2]) for row in rows]
