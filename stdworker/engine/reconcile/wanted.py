"""What a composer wants to own, checked: its result is taken or rejected as one, before anything is touched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from stdworker.engine.reconcile import configs, documents, labels, schedule, state
from stdworker.engine.reconcile.rejected import Rejected
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store.rows import Node
from stdworker.errors import JsonError
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.json_text import RawJson, loads
from stdworker.model.kind import KIND, RESOURCE_NAME, KindVersion
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome
from stdworker.model.pointer import parse
from stdworker.model.resource import Ref

CHILDREN_MAX = 100_000
ALLOW_EMPTY = "converge.sh/allow-empty"


@dataclass(slots=True)
class Wanted:
    """One child that the composer wants, checked."""

    pair: KindVersion
    name: str
    spec: str
    labels: dict[str, str]
    config: str | None
    incoming: dict[Ref, list[tuple[str, str]]] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        return Ref(self.pair.kind, self.name)

    @property
    def flowed_fields(self) -> set[str]:
        return {dependent for flows in self.incoming.values() for dependent, _ in flows}


def check(
    uow: UnitOfWork,
    owner: Node,
    owned: dict[Ref, Node],
    children: Sequence[ChildSpec],
    edges: Sequence[DepEdge],
    emitted: Sequence[ProviderConfigSpec],
) -> dict[Ref, Wanted]:
    """The children that are wanted. Raises Rejected naming all that stands against the result."""
    wanted = _check_children(uow, children)
    _check_versions(uow, wanted, owned)
    _check_edges(wanted, edges)
    _check_specs(uow, wanted)
    _check_ownership(uow, owner, wanted, owned)
    _check_configs(uow, owner, wanted, emitted)
    return wanted


def _check_children(uow: UnitOfWork, children: Sequence[ChildSpec]) -> dict[Ref, Wanted]:
    if len(children) > CHILDREN_MAX:
        raise Rejected("TooManyChildren", [f"{len(children)} children; at most {CHILDREN_MAX} are taken"])
    wanted: dict[Ref, Wanted] = {}
    problems: list[str] = []
    unknown: dict[KindVersion, None] = {}
    for child in children:
        pair = KindVersion(child.kind, child.kind_version)
        known = uow.kinds.get(pair)
        if problem := _problem(child):
            problems.append(problem)
        elif child.ref in wanted:
            problems.append(f"{child.ref} is emitted twice")
        elif known is None:
            unknown[pair] = None
        elif known.manifest.is_reactor_kind:
            problems.append(f"{child.ref}: {pair} is a reactor kind, which has no resources")
        else:
            text = _text(child, problems)
            wanted[child.ref] = Wanted(pair, child.name, text, dict(child.labels), child.provider_config_ref or None)
    if problems:
        raise Rejected("InvalidChildren", problems)
    if unknown:
        missing = [f"{pair} is not published" for pair in unknown]
        raise Rejected("UnknownKind", missing, [f"kind:{pair}" for pair in unknown])
    return wanted


def _problem(child: ChildSpec) -> str:
    """What no child can be, whatever is published."""
    if child.kind_version < 1:
        return f"{child.ref} has kind version {child.kind_version}; versions start at 1"
    if not KIND.fullmatch(child.kind):
        return f"{child.kind!r} is not a kind name"
    if not RESOURCE_NAME.fullmatch(child.name):
        return f"{child.name!r} is not a resource name"
    if child.provider_config_ref and not RESOURCE_NAME.fullmatch(child.provider_config_ref):
        return f"{child.ref}: {child.provider_config_ref!r} is not the name of a provider config"
    return next((f"{child.ref}: /labels{place}: {why}" for place, why in labels.faults(child.labels)), "")


def _text(child: ChildSpec, problems: list[str]) -> str:
    try:
        return "{}" if child.spec is None else documents.storable(child.spec, "the spec")
    except JsonError as error:
        problems.append(f"{child.ref}: {error}")
        return "{}"


def _check_versions(uow: UnitOfWork, wanted: dict[Ref, Wanted], owned: dict[Ref, Node]) -> None:
    """A retired version keeps the children that it has and takes no others."""
    retired = [child for child in wanted.values() if uow.kinds.by_pair[child.pair].policy.retired]
    taken = [child for child in retired if child.ref not in owned or owned[child.ref].pair != child.pair]
    if taken:
        problems = [f"{child.ref}: {child.pair} is retired; it takes no new resources" for child in taken]
        raise Rejected("RetiredKind", problems)


def _check_edges(wanted: dict[Ref, Wanted], edges: Sequence[DepEdge]) -> None:
    problems: list[str] = []
    for edge in edges:
        ends = [ref for ref in (edge.dependent, edge.dependency) if ref not in wanted]
        if ends:
            problems.append(f"an edge ends at {ends[0]}, which is not emitted")
        elif edge.dependent == edge.dependency:
            problems.append(f"{edge.dependent} can't depend on itself")
        else:
            flows = wanted[edge.dependent].incoming.setdefault(edge.dependency, [])
            flows += [(flow.dependent_field, flow.source_field) for flow in edge.values]
            problems += _bad_pointers(edge)
    if not problems and (circle := _find_circle(wanted)):
        problems.append("dependencies form a circle: " + " → ".join(map(str, circle)))
    if problems:
        raise Rejected("InvalidEdges", problems)


def _bad_pointers(edge: DepEdge) -> list[str]:
    problems = []
    for flow in edge.values:
        for pointer in (flow.dependent_field, flow.source_field):
            try:
                parse(pointer)
            except JsonError as error:
                problems.append(f"{edge.dependent} ← {edge.dependency}: {error}")
    return problems


def _find_circle(wanted: dict[Ref, Wanted]) -> list[Ref]:
    """The members of one circle, or none: what is left when all without dependencies are taken away."""
    left = {ref: set(child.incoming) for ref, child in wanted.items() if child.incoming}
    dependents: dict[Ref, list[Ref]] = {}
    for ref, sources in left.items():
        for source in sources:
            dependents.setdefault(source, []).append(ref)
    free = [ref for ref in wanted if ref not in left]
    while free:
        done = free.pop()
        for ref in dependents.get(done, ()):
            left[ref].discard(done)
            if not left[ref]:
                del left[ref]
                free.append(ref)
    if not left:
        return []
    path = [next(iter(left))]
    while path[-1] not in path[:-1]:
        path.append(next(source for source in left[path[-1]] if source in left))
    return path[path.index(path[-1]) :]


def _check_specs(uow: UnitOfWork, wanted: dict[Ref, Wanted]) -> None:
    problems = []
    for ref, child in wanted.items():
        schema = uow.kinds.by_pair[child.pair].spec_schema
        if schema.validator is not None:
            value = loads(child.spec.encode())
            for path, what in schema.violations(value, pending=tuple(child.flowed_fields)):
                problems.append(f"{ref}: {path or '/'}: {what}")
    if problems:
        raise Rejected("InvalidSpec", problems)


def _check_ownership(uow: UnitOfWork, owner: Node, wanted: dict[Ref, Wanted], owned: dict[Ref, Node]) -> None:
    fresh = [ref for ref in wanted if ref not in owned]
    uow.lock_named(fresh)
    taken = [ref for ref in fresh if ref in uow.by_ref]
    if taken:
        problems = [f"{ref} exists and is not owned by {owner.ref}" for ref in taken]
        raise Rejected("NotOwned", problems, [f"name:{ref}" for ref in taken])


def _check_configs(
    uow: UnitOfWork, owner: Node, wanted: dict[Ref, Wanted], emitted: Sequence[ProviderConfigSpec]
) -> None:
    pairs = configs.check_emitted(uow, owner, emitted)
    others = {child.config for child in wanted.values() if child.config} - set(pairs)
    stored = configs.pairs_of(uow, others, going=owner.id)
    problems = []
    for ref, child in wanted.items():
        found = pairs.get(child.config or "") or stored.get(child.config or "")
        if child.config and found != child.pair:
            what = f"is for {found}" if found else "does not exist"
            problems.append(f"{ref}: the provider config {child.config} {what}")
    if problems:
        raise Rejected("BadProviderConfig", problems)


def guard_against_emptiness(uow: UnitOfWork, owner: Node, owned: dict[Ref, Node], outcome: Outcome) -> None:
    """Raises Rejected when a composite would lose all its children and neither label nor composer allows it."""
    losing = sum(node.wanted and not state.is_deleting(node) for node in owned.values())
    if not losing or outcome.allow_empty:
        return
    uow.lock([owner.id], whole=True)
    if json.loads(owner.labels).get(ALLOW_EMPTY) == "true" or _says_empty(outcome.status):
        return
    told = f"the composer emitted no children while {owner.ref} owns {losing}"
    raise Rejected(schedule.NO_CHILDREN, [f"{told}; the label {ALLOW_EMPTY}=true or its allow_empty would let them go"])


def _says_empty(status: object) -> bool:
    value = status.value() if isinstance(status, RawJson) else status
    return isinstance(value, dict) and value.get("allow_empty") is True
