"""Dry runs: what a set of declarations would do together, each seeing what those before it did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import groupby

from stdworker.engine.reconcile import apply, bindings, configs, publish
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, reactors
from stdworker.engine.store.declarations import (
    ApplyDocument,
    BindingDeclaration,
    ConfigDeclaration,
    Declaration,
    KindDeclaration,
    Planned,
)
from stdworker.engine.store.records import ConfigRecord, KindRecord
from stdworker.engine.store.rows import BindingRow, Node
from stdworker.errors import RequestError
from stdworker.model.json_text import RawJson, dumps, join_members, members
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref
from stdworker.model.secrets import mask


def plan(uow: UnitOfWork, declarations: Sequence[Declaration]) -> list[Planned | RequestError]:
    """Apply them in their order, each alone, in a transaction that the caller undoes."""
    planned: list[Planned | RequestError] = []
    for is_resource, group in groupby(declarations, key=lambda declared: isinstance(declared, ApplyDocument)):
        if is_resource:
            planned += _resources(uow, [declared for declared in group if isinstance(declared, ApplyDocument)])
        else:
            planned += [_alone(uow, declared) for declared in group]
    return planned


def _alone(uow: UnitOfWork, declared: Declaration) -> Planned | RequestError:
    try:
        if isinstance(declared, KindDeclaration):
            return _kind(uow, declared)
        if isinstance(declared, BindingDeclaration):
            return _binding(uow, declared)
        assert isinstance(declared, ConfigDeclaration)
        return _config(uow, declared)
    except RequestError as error:
        return error


def _kind(uow: UnitOfWork, declared: KindDeclaration) -> Planned:
    known = {kind.pair: kind for kind in uow.kinds}
    result, record = publish.publish(uow, declared)
    uow.kinds = Kinds.read(uow.db, uow.kinds)
    before = known.get(record.pair)
    return Planned(result, _manifest(before.record()) if before else None, _manifest(record))


def _manifest(record: KindRecord) -> RawJson:
    told = members(record.manifest) or {}
    if record.labels:
        told["labels"] = dumps(record.labels)
    return join_members(told)


def _config(uow: UnitOfWork, declared: ConfigDeclaration) -> Planned:
    known = catalog.config(uow.db, declared.name)
    before = configs.record(uow.db, known) if known else None
    result, record = configs.put(uow, declared)
    return Planned(result, _shown(before) if before else None, _shown(record))


def _shown(record: ConfigRecord) -> RawJson:
    """A config as a file would declare it, but for its secrets and with a digest in place of the bundle."""
    told = {**_named(record.pair, record.name), "is_default": dumps(record.is_default)}
    if record.labels:
        told["labels"] = dumps(record.labels)
    if record.spec is not None:
        told["spec"] = mask(record.spec)
    if record.bundle:
        told["data"] = dumps(f"{len(record.bundle)} bytes, sha256 {hashlib.sha256(record.bundle).hexdigest()}")
    return join_members(told)


def _binding(uow: UnitOfWork, declared: BindingDeclaration) -> Planned:
    known = reactors.binding(uow.db, declared.name)
    result, row = bindings.put(uow, declared)
    return Planned(result, _bound(known) if known else None, _bound(row))


def _bound(row: BindingRow) -> RawJson:
    """A binding as a file would declare it; what it leaves open is not said."""
    told = {name: dumps(getattr(row, name)) for name in _BINDING_MEMBERS if getattr(row, name) is not None}
    marks = {name: RawJson(text.encode()) for name in _BINDING_LABELS if (text := getattr(row, name)) != "{}"}
    return join_members({**told, **marks})


_BINDING_MEMBERS = (
    "name", "watch_kind", "watch_kind_version", "transition", "reactor", "reactor_version", "enabled",
)  # fmt: skip
_BINDING_LABELS = ("label_match", "labels")


def _named(pair: KindVersion, name: str) -> dict[str, RawJson]:
    return {"kind": dumps(pair.kind), "kind_version": dumps(pair.version), "name": dumps(name)}


def _resources(uow: UnitOfWork, documents: Sequence[ApplyDocument]) -> list[Planned | RequestError]:
    refs = [Ref(document.kind, document.name) for document in documents]
    uow.lock_named(set(refs))
    before = {ref: _declared(uow.by_ref[ref]) for ref in refs if ref in uow.by_ref}
    return [
        done if isinstance(done, RequestError) else Planned(done[0], before.get(ref), _declared(done[1]))
        for ref, done in zip(refs, apply.decide(uow, documents), strict=True)
    ]


def _declared(node: Node) -> RawJson:
    told = _named(node.pair, node.name)
    if node.labels != "{}":
        told["labels"] = dumps(json.loads(node.labels))
    if node.provider_config:
        told["provider_config_ref"] = dumps(node.provider_config)
    told["spec"] = RawJson((node.spec or "{}").encode())
    return join_members(told)
