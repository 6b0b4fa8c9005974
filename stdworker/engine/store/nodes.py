"""Resources in the store. Everything that locks several rows locks them in the order of their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from stdworker.engine.store import edges
from stdworker.engine.store.contract import Connection, Row
from stdworker.engine.store.rows import NODE_COLUMNS, NODE_STABLE, NODE_STATE, NODE_VOLATILE, Node, task_ids
from stdworker.engine.store.sql import insert, selected, update
from stdworker.model.json_text import dumps
from stdworker.model.resource import Ref

_VOLATILE = ("id", *NODE_VOLATILE, "status")
_STATE = (*_VOLATILE, *NODE_STABLE)
DOCUMENTS = ("status", "labels", "spec", "composed_spec", "flowed", "spec_gen", "spec_by", "spec_at")
_DOCUMENTS = ("id", "kind_version", "provider_config", *DOCUMENTS[1:])

_WHOLE = selected("n", NODE_COLUMNS)
_LEAN = f"PACKED({selected('n', NODE_STATE)})"

_LOCK = "SELECT {columns} FROM resources n WHERE n.id IN (SELECT * FROM IDS(ids)) ORDER BY n.id {lock}(n)"
_LOCK_NAMED = (
    f"SELECT {_WHOLE} FROM ROWS(kind text, name text) r JOIN resources n"
    " ON n.kind = r.kind AND n.name = r.name ORDER BY n.id LOCK(n)"
)
_NAMED = "SELECT n.id FROM ROWS(kind text, name text) r JOIN resources n ON n.kind = r.kind AND n.name = r.name"
_LOCK_OWNED = f"SELECT {_WHOLE} FROM resources n WHERE n.owner_id = :owner ORDER BY n.id LOCK_NOW(n)"
_LOCK_FREE = f"SELECT {_LEAN} FROM resources n WHERE n.id = :id LOCK_SKIP(n)"
_HOLD = (
    "SELECT coalesce(max(id), 0) FROM ("
    "SELECT n.id FROM resources n WHERE n.id IN (SELECT * FROM IDS(ids)"
    " UNION SELECT c.id FROM resources c WHERE c.owner_id IN (SELECT * FROM IDS(owners))) ORDER BY n.id LOCK(n)"
    ") AS held"
)
_INSERT = insert("resources", NODE_COLUMNS)
_SAVE_VOLATILE = update("resources", _VOLATILE, kept=("status",))
_SAVE_STATE = update("resources", _STATE, kept=("status",))
_SAVE_RESYNC = update("resources", ("id", "resync_at"))
_SAVE_DOCUMENTS = update("resources", _DOCUMENTS)
_SAVE_LABELS = insert("resource_labels", ("key", "value", "resource_id"))
_WAIT = insert("waits", ("subject", "resource_id"), "ON CONFLICT DO NOTHING")
_UNBLOCKED = (
    "SELECT n.id FROM resources n WHERE n.id IN (SELECT * FROM IDS(ids)) AND n.deletion_requested_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM resources c WHERE c.owner_id = n.id)"
    " AND NOT EXISTS (SELECT 1 FROM edges e JOIN resources d ON d.id = e.dependent_id"
    " WHERE e.dependency_id = n.id AND d.deletion_requested_at IS NOT NULL)"
)

_volatile_values = attrgetter(*_VOLATILE)
_state_values = attrgetter(*_STATE)
_stable_values = attrgetter(*NODE_STABLE)
_STABLE = slice(NODE_COLUMNS.index(NODE_STABLE[0]), len(NODE_STATE))
_document_values = attrgetter(*_DOCUMENTS)
_all_values = attrgetter(*NODE_COLUMNS)
_name = attrgetter("kind", "name")


def lock(db: Connection, ids: Collection[int], *, whole: bool = False, wait: bool = True) -> list[Node]:
    """The resources that exist among `ids`, held until the transaction ends.

    Without `wait` it raises Contended when others hold one.
    """
    if not ids:
        return []
    statement = _LOCK.format(columns=_WHOLE if whole else _LEAN, lock="LOCK" if wait else "LOCK_NOW")
    return [_node(row, whole=whole) for row in db.fetch(statement, ids=sorted(ids))]


def lock_free(db: Connection, id: int) -> Node | None:
    """The resource, held until the transaction ends, if nobody else holds it."""
    found = db.fetch(_LOCK_FREE, id=id)
    return _node(found[0], whole=False) if found else None


def hold(db: Connection, ids: Collection[int], owners: Collection[int]) -> int:
    """Lock resources and all that is owned by some, in one order, before any is read; the last one's id, or 0."""
    return int(db.fetch(_HOLD, ids=sorted(ids), owners=sorted(owners))[0][0])


def named(db: Connection, refs: Iterable[Ref]) -> list[int]:
    """The ids of the resources that have these names."""
    return [row[0] for row in db.fetch(_NAMED, rows=[tuple(ref) for ref in refs])]


def lock_named(db: Connection, refs: Iterable[Ref]) -> list[Node]:
    return [_node(row, whole=True) for row in db.fetch(_LOCK_NAMED, rows=[tuple(ref) for ref in sorted(refs)])]


def lock_owned(db: Connection, owner_id: int) -> list[Node]:
    """What a resource owns, which was held with it; raises Contended for a child that came in between."""
    return [_node(row, whole=True) for row in db.fetch(_LOCK_OWNED, owner=owner_id)]


def add(db: Connection, nodes: Sequence[Node]) -> None:
    """In the order of their names: whoever makes one of the same name at the same time waits there."""
    db.write(_INSERT, [_all_values(node) for node in sorted(nodes, key=_name)])


def save_state(db: Connection, nodes: Sequence[Node]) -> None:
    """Save what is no document; a status of None leaves the stored one alone."""
    volatile, whole = [], []
    for node in nodes:
        stable = _stable_values(node)
        if stable == node.stable:
            volatile.append(_volatile_values(node))
        else:
            whole.append(_state_values(node))
            node.stable = stable
    if volatile:
        db.write(_SAVE_VOLATILE, volatile)
    if whole:
        db.write(_SAVE_STATE, whole)


def save_documents(db: Connection, nodes: Sequence[Node]) -> None:
    db.write(_SAVE_DOCUMENTS, [_document_values(node) for node in nodes])


def save_labels(db: Connection, rows: Sequence[tuple[int, dict[str, str]]]) -> None:
    """Replace the labels that lists are filtered by."""
    db.run("DELETE FROM resource_labels WHERE resource_id IN (SELECT * FROM IDS(ids))", ids=[id for id, _ in rows])
    pairs = [(key, value, id) for id, labels in rows for key, value in labels.items()]
    if pairs:
        db.write(_SAVE_LABELS, pairs)


def remove(db: Connection, ids: Collection[int]) -> None:
    """Remove resources with everything that is only about them.

    What depends on them keeps its edges, and stays gated, until their owner has composed again.
    """
    db.run("DELETE FROM queue WHERE id IN (SELECT * FROM IDS(ids))", ids=[task for id in ids for task in task_ids(id)])
    for table, column in (
        ("resource_labels", "resource_id"),
        ("edges", "dependent_id"),
        ("waits", "resource_id"),
        ("operations", "resource_id"),
        ("revisions", "resource_id"),
        ("resources", "id"),
    ):
        db.run(f"DELETE FROM {table} WHERE {column} IN (SELECT * FROM IDS(ids))", ids=sorted(ids))


def deletion_set(db: Connection, id: int) -> list[int]:
    """The resource, what it owns and what depends on any of these, transitively.

    Step by step: as one recursive statement Postgres reads all edges and owners for each step.
    """
    doomed, fresh = {id}, [id]
    while fresh:
        fresh = sorted({row[0] for row in db.fetch(edges.BELOW, ids=fresh)} - doomed)
        doomed.update(fresh)
    return sorted(doomed)


def unblocked(db: Connection, ids: Collection[int]) -> list[int]:
    """Those of the deleting resources that own nothing and on which nothing that is deleted depends."""
    return [row[0] for row in db.fetch(_UNBLOCKED, ids=sorted(ids))] if ids else []


def on_config(db: Connection, name: str, after_id: int, limit: int) -> list[int]:
    """Resources that refer to a provider config, in the order of their ids."""
    statement = "SELECT id FROM resources WHERE provider_config = :name AND id > :after ORDER BY id LIMIT :limit"
    return [row[0] for row in db.fetch(statement, name=name, after=after_id, limit=limit)]


def of_pair(db: Connection, kind: str, version: int, after_id: int, limit: int) -> list[int]:
    statement = (
        "SELECT id FROM resources WHERE kind = :kind AND kind_version = :version AND id > :after"
        " ORDER BY id LIMIT :limit"
    )
    return [row[0] for row in db.fetch(statement, kind=kind, version=version, after=after_id, limit=limit)]


def thawed(db: Connection, now: int, limit: int) -> list[int]:
    """Resources that were frozen until an instant that is past."""
    statement = "SELECT id FROM resources WHERE frozen_until <= :now ORDER BY frozen_until LIMIT :limit"
    return [row[0] for row in db.fetch(statement, now=now, limit=limit)]


def resync_due(db: Connection, now: int, limit: int) -> list[int]:
    """Resources whose time to run again has come, the longest overdue first."""
    statement = "SELECT id FROM resources WHERE resync_at <= :now ORDER BY resync_at LIMIT :limit"
    return [row[0] for row in db.fetch(statement, now=now, limit=limit)]


def first_resync(db: Connection) -> int | None:
    """When the first resource runs again by itself."""
    return _first(db, "resync_at")


def first_thaw(db: Connection) -> int | None:
    """When the first frozen resource is so no more; those of a quarantine are for ever."""
    return _first(db, "frozen_until")


def _first(db: Connection, column: str) -> int | None:
    found = db.fetch(f"SELECT {column} FROM resources WHERE {column} IS NOT NULL ORDER BY {column} LIMIT 1")
    return found[0][0] if found else None


def plan_resync(db: Connection, rows: Sequence[tuple[int, int | None]]) -> None:
    """Set when resources (id, instant) run again; null: never."""
    db.write(_SAVE_RESYNC, sorted(rows))


def wait_for(db: Connection, subjects: Sequence[tuple[str, int]]) -> None:
    """Remember that resources wait for a subject: a kind version, or a name."""
    db.write(_WAIT, subjects)


def stop_waiting(db: Connection, subjects: Sequence[str]) -> list[int]:
    """Forget subjects that came true and return who waited for them."""
    statement = "DELETE FROM waits WHERE subject IN (SELECT * FROM NAMES(subjects)) RETURNING resource_id"
    return sorted({row[0] for row in db.fetch(statement, subjects=subjects)})


def waits_of(db: Connection, id: int) -> list[str]:
    """What a resource waits for: `kind:NAME@VERSION` and `name:KIND/NAME`."""
    statement = "SELECT w.subject FROM waits w WHERE w.resource_id = :id ORDER BY w.subject"
    return [row[0] for row in db.fetch(statement, id=id)]


def labels_text(labels: dict[str, str]) -> str:
    return dumps(labels).decode() if labels else "{}"


def _node(row: Row, *, whole: bool) -> Node:
    node = Node(*row)
    node.whole = whole
    node.stable = tuple(row[_STABLE])
    return node
