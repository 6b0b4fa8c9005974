"""Kinds: published, edited live, taken away."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stdworker.engine.compatibility import breaks
from stdworker.engine.reconcile import bindings, preconditions, schedule
from stdworker.engine.reconcile import labels as labels_of
from stdworker.engine.reconcile.kinds import Kind, compile_schema, policy_text
from stdworker.engine.reconcile.unit import Named, UnitOfWork
from stdworker.engine.store import catalog
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.declarations import KindDeclaration
from stdworker.engine.store.records import KindPolicy, KindRecord
from stdworker.engine.store.rows import KindRow
from stdworker.errors import Conflict, Incompatible, Invalid, ManifestError, NotFound
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion
from stdworker.model.manifest import Manifest

_SCHEMAS = ("spec_schema", "status_schema", "config_schema")
_FOR_READERS = "status_schema"  # programs write it, others rely on what it can be
FORCED_BREAKS_MAX = 20  # of those that an event lists
_POLICY = {
    "max_inflight": "max_inflight",
    "task_deadline_seconds": "task_deadline_secs",
    "resync_interval_seconds": "resync_interval_secs",
    "resync_recomposes": "resync_recomposes",
    "orphan_grace_seconds": "orphan_grace_secs",
    "max_transient_attempts": "max_transient_attempts",
    "retired": "retired",
}


class Comparison(NamedTuple):
    """What a manifest breaks of the one that was published, in that one's text."""

    published: str
    broken: Sequence[tuple[str, str]]


def compare(db: Connection, document: Mapping[str, Any]) -> Comparison | None:
    """Compare with what is published. It may take seconds, which nobody who wants to write has to wait for."""
    manifest = _legal(document)
    row = catalog.kind(db, manifest.pair)
    return Comparison(row.manifest, _breaks(Kind(row).manifest, manifest)) if row is not None else None


def publish(
    uow: UnitOfWork, declared: KindDeclaration, compared: Comparison | None = None, requeue: bool = True
) -> tuple[str, KindRecord]:
    """Publish a kind version, or say that nothing changed; its policy seeds the live one once.

    `compared` saves comparing it in here. `requeue`: its resources run again.

    Raises Invalid with every violation; unless forced, Incompatible with all that its schemas break of those
    that are published; Conflict when it is another than was seen.
    """
    manifest = _legal(declared.manifest)
    known = uow.kinds.get(manifest.pair)
    _check_revision(manifest.pair, known, declared.only_if, only_new=declared.only_new)
    version = _content_version(manifest)
    marks = labels_of.kept(declared.labels, known.row.labels if known else "{}")
    if known is not None and known.manifest_version == version and known.manifest.document() == manifest.document():
        return _relabel(uow, known, marks)
    broken = _broken(known, manifest, compared)
    if broken and not declared.force:
        raise _incompatible(manifest.pair, broken)
    if manifest.reactor is not None:
        bindings.take_over(uow, manifest.pair)
    elif known is not None and known.reactor is not None:
        bindings.let_go(uow, manifest.pair, watched=False)
    seed = KindPolicy(**{ours: getattr(manifest, theirs) for ours, theirs in _POLICY.items()})
    policy = known.policy if known else seed
    kind = _save(uow, manifest, version, policy, known, marks)
    _audit_publishing(uow, kind.pair, broken)
    if requeue and known is not None and known.manifest_version != version:
        uow.sweep(f"pair:{kind.pair}")
    schedule.run_waiting(uow, [f"kind:{kind.pair}"])
    return "configured" if known else "created", kind.record()


def _check_revision(
    pair: KindVersion, known: Kind | None, only_if: Sequence[str] | None, *, only_new: bool = False
) -> None:
    if only_if is not None or only_new:
        preconditions.check(f"kind {pair}", known.record().revision if known else None, only_if, only_new=only_new)


def _relabel(uow: UnitOfWork, kind: Kind, labels: str) -> tuple[str, KindRecord]:
    """Labels concern nobody's work."""
    if labels == kind.row.labels:
        return "unchanged", kind.record()
    kind = _save(uow, kind.manifest, kind.manifest_version, kind.policy, kind, labels)
    _audit(uow, kind.pair, "KindLabelsChanged")
    return "configured", kind.record()


def _broken(known: Kind | None, new: Manifest, compared: Comparison | None) -> Sequence[tuple[str, str]]:
    if known is None:
        return []
    if compared is None or compared.published != known.row.manifest:
        return _breaks(known.manifest, new)  # somebody published meanwhile
    return compared.broken


def _breaks(old: Manifest, new: Manifest) -> list[tuple[str, str]]:
    """Resources may be there, and others may write to them: they can't know that the kind's shape has changed."""
    return [
        (f"/{name}{pointer}", sentence)
        for name in _SCHEMAS
        for pointer, sentence in breaks(getattr(old, name), getattr(new, name), inverted=name == _FOR_READERS)
    ]


def _incompatible(pair: KindVersion, broken: Sequence[tuple[str, str]]) -> Incompatible:
    told = f"{pair} is published, and this would break it in {len(broken)} place{'s' * (len(broken) > 1)}"
    return Incompatible(told, broken, hint="publish it as another version, or by force")


def _audit_publishing(uow: UnitOfWork, pair: KindVersion, broken: Sequence[tuple[str, str]]) -> None:
    if not broken:
        _audit(uow, pair, "KindPublished")
        return
    listed = [{"path": path, "message": sentence} for path, sentence in broken[:FORCED_BREAKS_MAX]]
    _audit(uow, pair, "KindForced", f": {len(broken)} break{'s' * (len(broken) > 1)}", breaks=listed)


def _audit(uow: UnitOfWork, pair: KindVersion, type: str, more: str = "", **detail: object) -> None:
    uow.audit(Named(pair.kind, None), type, f"{pair}{more}", kind_version=pair.version, **detail)


def set_policy(
    uow: UnitOfWork, pair: KindVersion, policy: KindPolicy, fields: Collection[str] = KindPolicy.__slots__
) -> KindRecord:
    """Edit the live policy: of `policy`, only `fields` count."""
    known = existing(uow, pair)
    policy = replace(known.policy, **{name: getattr(policy, name) for name in fields})
    kind = _save(uow, known.manifest, known.manifest_version, policy, known, known.row.labels)
    _audit(uow, pair, "KindPolicyChanged")
    return kind.record()


def delete(uow: UnitOfWork, pair: KindVersion, only_if: Sequence[str] | None = None) -> None:
    """Raises NotFound, and Conflict for one that is used, or another than `only_if` asks for."""
    _check_revision(pair, existing(uow, pair), only_if)
    if catalog.in_use(uow.db, pair):
        raise Conflict(f"{pair} has resources", hint="delete them, or move them to another version", code="kind_in_use")
    bindings.let_go(uow, pair, watched=True)
    catalog.remove_kind(uow.db, pair)
    _audit(uow, pair, "KindDeleted")
    uow.hint("config", pair)


def existing(uow: UnitOfWork, pair: KindVersion) -> Kind:
    """Raises NotFound."""
    kind = uow.kinds.get(pair)
    if kind is None:
        raise NotFound(f"the kind {pair} is not published")
    return kind


def _legal(document: Mapping[str, Any]) -> Manifest:
    try:
        manifest = Manifest.from_document(document)
    except ManifestError as error:
        raise Invalid(error.message, error.violations, code="bad_manifest") from None
    for name in _SCHEMAS:
        schema = getattr(manifest, name)
        if schema is not None:
            compile_schema(schema, name)
    for index, reaction in enumerate(manifest.reactions):
        if reaction.input_schema is not None:
            compile_schema(dict(reaction.input_schema), f"reactions/{index}/input_schema")
    return manifest


def _save(
    uow: UnitOfWork, manifest: Manifest, version: int, policy: KindPolicy, known: Kind | None, labels: str
) -> Kind:
    text = dumps(manifest.document()).decode()
    row = KindRow(*manifest.pair, text, version, policy_text(policy), uow.now_ms, labels)
    catalog.save_kind(uow.db, row)
    uow.hint("work", manifest.pair)
    kind = Kind(row)
    if known is not None and known.resync_seconds != kind.resync_seconds:
        uow.sweep(f"resync:{kind.pair}")
    return kind


def _content_version(manifest: Manifest) -> int:
    """The same for the same reactions and schemas, never 0; 53 bits, which every JSON peer reads exactly."""
    document = manifest.document()
    content = dumps([document.get(name) for name in ("reactions", *_SCHEMAS, "finalizer_name")])
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") >> 11 or 1
