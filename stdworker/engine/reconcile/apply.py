"""What people declare: resources applied, reconciled by hand, deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence

from stdworker.engine.reconcile import configs, deletion, gates, preconditions, present, schedule, state
from stdworker.engine.reconcile import labels as labels_of
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, edges, lists
from stdworker.engine.store.declarations import UNSET, Applied, ApplyDocument, Declared, Doomed
from stdworker.engine.store.documents import to_text
from stdworker.engine.store.records import ResourceRecord, revision
from stdworker.engine.store.rows import DELETE, RECONCILE, Node, task_id
from stdworker.errors import Conflict, Invalid, RequestError
from stdworker.model.json_text import equal, loads
from stdworker.model.kind import KIND, KIND_RULE, RESOURCE_NAME, RESOURCE_NAME_RULE, KindVersion
from stdworker.model.resource import Ref


def apply(uow: UnitOfWork, documents: Sequence[ApplyDocument]) -> list[Applied | RequestError]:
    """Apply documents in their order, each alone; answers what was done and the resource as it is now."""
    return [
        done if isinstance(done, RequestError) else Applied(done[0], present.record(uow.db, _seen(uow, done[1])))
        for done in decide(uow, documents)
    ]


def declare(uow: UnitOfWork, documents: Sequence[ApplyDocument]) -> list[Declared | RequestError]:
    """Apply many documents; answers only what was done, which is cheaper than showing each."""
    return [
        done if isinstance(done, RequestError) else Declared(done[0], done[1].generation)
        for done in decide(uow, documents)
    ]


def decide(uow: UnitOfWork, documents: Sequence[ApplyDocument]) -> list[tuple[str, Node] | RequestError]:
    """What is done for each document, and the node as it is then."""
    uow.lock_named({Ref(document.kind, document.name) for document in documents})
    pairs = _configs_named(uow, documents)
    fresh: dict[Ref, Node] = {}
    decided: list[tuple[str, Node] | RequestError] = []
    labels: dict[Ref, dict[str, str]] = {}
    for document in documents:
        try:
            decided.append(_apply(uow, document, pairs, fresh, labels))
        except RequestError as error:
            decided.append(error)
    if fresh:
        uow.create(list(fresh.values()))
    for ref, given in labels.items():
        uow.relabel(uow.by_ref[ref], given)
        schedule.relabelled(uow, uow.by_ref[ref])
    for node in fresh.values():
        uow.audit(node, "Created")
        uow.request(node, schedule.SPEC)
    flush(uow)
    return decided


def _configs_named(uow: UnitOfWork, documents: Sequence[ApplyDocument]) -> dict[str, KindVersion]:
    """What the configs are for that documents refer to; they are held, so that they stay."""
    names = {d.provider_config_ref for d in documents if isinstance(d.provider_config_ref, str)}
    if not names:
        return {}
    left = {node.provider_config for node in uow.by_ref.values() if node.provider_config is not None}
    catalog.hold_configs(uow.db, names | left, ())  # in one order with those that lose a reference
    return configs.pairs_of(uow, names)


def reconcile(uow: UnitOfWork, ref: Ref) -> ResourceRecord:
    """Run a resource again from the first stage, as a new generation; of one that is deleted, its teardown."""
    node = uow.named(ref)
    if state.is_deleting(node):
        uow.recheck(edges.REMOVAL, node.id)
    else:
        state.bump(node)
        uow.request(node, schedule.SPEC | schedule.RECONCILED)
        gates.look_again(uow, node)
    uow.audit(node, "ReconcileRequested", generation=node.generation)
    uow.touch(node)
    flush(uow)
    return present.record(uow.db, _seen(uow, node))


def delete(uow: UnitOfWork, ref: Ref, force: bool = False, only_if: Sequence[str] | None = None) -> Doomed:
    """Request a deletion; `force` skips teardowns. Raises NotFound; Conflict for another than `only_if` asks for."""
    node = uow.named(ref)
    check_revision(node, only_if)
    if force:
        uow.audit(node, "DeleteForced", "teardowns are skipped")
    return deletion.beside(node.id, deletion.mark(uow, node.id, force=force))


def _seen(uow: UnitOfWork, node: Node) -> lists.Seen:
    ids = [id for id in (node.owner_id, node.root_id) if id is not None]
    refs = lists.refs(uow.db, ids) if ids else {}
    task = uow.tasks.get(task_id(node.id, DELETE if state.is_deleting(node) else RECONCILE))
    return lists.Seen(node, task, refs.get(node.owner_id or 0), refs.get(node.root_id or 0))


# ---- one document ----


def _apply(
    uow: UnitOfWork,
    document: ApplyDocument,
    pairs: dict[str, KindVersion],
    fresh: dict[Ref, Node],
    labels: dict[Ref, dict[str, str]],
) -> tuple[str, Node]:
    kind = _kind(uow, document)
    ref = Ref(document.kind, document.name)
    spec = to_text(document.spec)
    given = labels_of.checked(document.labels)
    known = uow.by_ref.get(ref) or fresh.get(ref)
    if document.only_if is not None or document.only_new:
        preconditions.check(str(ref), _revision(known), document.only_if, only_new=document.only_new)
    config = _config(document, known, kind.pair, pairs)
    if known is None:
        node = _new(uow, document, kind, spec or "{}", config)
        fresh[ref] = node
        if given:
            labels[ref] = given
        return "created", node
    check_appliable(uow, known)
    changed = _change(uow, known, kind, spec, config, is_new=ref in fresh)
    if given is not None and given != (labels.get(ref) or json.loads(known.labels)):
        labels[ref] = given
        if ref not in fresh:
            (uow.event if changed else uow.audit)(known, "LabelsChanged")
        changed = True
    return ("configured" if changed else "unchanged"), known


def _kind(uow: UnitOfWork, document: ApplyDocument) -> Kind:
    pair = KindVersion(document.kind, document.kind_version)
    if not KIND.fullmatch(document.kind):
        raise Invalid(f"{document.kind!r} is not a kind name", [("/kind", KIND_RULE)])
    if not RESOURCE_NAME.fullmatch(document.name):
        raise Invalid(f"{document.name!r} is not a resource name", [("/name", RESOURCE_NAME_RULE)])
    kind = uow.kinds.get(pair)
    if kind is None:
        versions = [str(known.pair) for known in uow.kinds if known.pair.kind == document.kind]
        hint = f"published: {', '.join(versions)}" if versions else "publish its manifest first"
        told = f"the kind {pair} is not published"
        raise Invalid(told, [("/kind_version" if versions else "/kind", told)], hint=hint, code="unknown_kind")
    if kind.manifest.is_reactor_kind:
        told = f"{pair} is a reactor kind; it has no resources"
        raise Invalid(told, [("/kind", told)], code="reactor_kind")
    return kind


def _new(uow: UnitOfWork, document: ApplyDocument, kind: Kind, spec: str, config: str | None) -> Node:
    _check_open(kind)
    check_spec(kind, spec)
    return Node(0, "", document.kind, document.name, None, None, uow.now_ms, document.kind_version, config, spec=spec)


def _change(uow: UnitOfWork, node: Node, kind: Kind, spec: str | None, config: str | None, *, is_new: bool) -> bool:
    """Change what differs; the generation rises once, whatever it is."""
    target = node.spec or "{}" if spec is None else spec
    other_spec = spec is not None and not equal(spec.encode(), (node.spec or "{}").encode())
    moved = node.kind_version != kind.pair.version
    if not (other_spec or moved or config != node.provider_config):
        return False
    if moved:
        _check_open(kind)
    if other_spec or moved:
        check_spec(kind, target)
    spec = target if other_spec else node.spec
    uow.refer(node, config)
    if is_new:
        node.spec, node.kind_version = spec, kind.pair.version
        return True
    if other_spec or moved:
        uow.respecify(node, spec, kind.pair.version)
    else:
        state.bump(node)
        uow.rewrite(node)
    uow.audit(node, "SpecChanged", generation=node.generation)
    uow.request(node, schedule.SPEC)
    return True


def _check_open(kind: Kind) -> None:
    if kind.policy.retired:
        told = f"{kind.pair} is retired; it takes no new resources"
        raise Invalid(told, [("/kind_version", told)], code="retired_kind")


def check_revision(node: Node, only_if: Sequence[str] | None) -> None:
    """Raises Conflict when it is another one than whoever asks has seen."""
    preconditions.check(str(node.ref), _revision(node), only_if)


def _revision(node: Node | None) -> str | None:
    return revision(node.uid, node.updated_at) if node is not None else None


def check_appliable(uow: UnitOfWork, node: Node) -> None:
    """Raises Conflict for what is owned or being deleted."""
    if node.owner_id is not None:
        owner = lists.refs(uow.db, [node.owner_id]).get(node.owner_id)
        raise Conflict(f"{node.ref} is owned by {owner}", hint="change its owner instead", code="owned")
    if state.is_deleting(node):
        raise Conflict(f"{node.ref} is being deleted", hint="wait until it is gone", code="deleting")


def check_spec(kind: Kind, spec: str) -> None:
    """Raises Invalid naming where the spec breaks its kind's schema."""
    schema = kind.spec_schema
    found = schema.violations(loads(spec.encode())) if schema.validator is not None else []
    if found:
        violations = [("/spec" + path, what) for path, what in found]
        raise Invalid(f"the spec breaks the schema of {kind.pair}", violations, code="schema")


def _config(
    document: ApplyDocument, known: Node | None, pair: KindVersion, pairs: dict[str, KindVersion]
) -> str | None:
    asked = document.provider_config_ref
    if asked is None:
        return None
    if asked is UNSET:
        kept = known.provider_config if known else None
        if kept is not None and known is not None and known.pair != pair:
            told = f"the provider config {kept}, which is kept, is not for {pair}"
            raise Invalid(told, [("/provider_config_ref", told)], hint="name another, or null", code="bad_config_ref")
        return kept
    assert isinstance(asked, str)
    if pairs.get(asked) != pair:
        told = f"is for {pairs[asked]}, not {pair}" if asked in pairs else "does not exist"
        raise Invalid(f"the provider config {asked} {told}", [("/provider_config_ref", told)], code="bad_config_ref")
    return asked
