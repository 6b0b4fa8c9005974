"""Published kinds, ready for use: manifest, live policy and compiled schemas, cached per revision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jsonschema_rs

from stdworker.engine.store import catalog, reactors
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.records import KindPolicy, KindRecord
from stdworker.engine.store.rows import BindingRow, KindRow
from stdworker.errors import Invalid
from stdworker.model.json_text import RawJson, dumps, escape_token, loads
from stdworker.model.kind import Emit, KindVersion, Stage, Transition, Trigger
from stdworker.model.manifest import Manifest, Reaction
from stdworker.model.pointer import parse
from stdworker.model.secrets import MASK, holds_secret

VIOLATIONS_MAX = 20
PATTERN_BYTES_MAX = 1 << 20

# Keywords that can't be judged while a value that flows in later is missing below them.
_OPEN_ENDED = {"anyOf", "oneOf", "not", "if", "minProperties", "dependentRequired", "contains"}

Violations = list[tuple[str, str]]


def compile_schema(schema: dict[str, Any], where: str, mask: str | None = None) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema that nobody vouches for: references stay inside it, patterns run in linear time.

    With a `mask` its messages have that in place of values. Raises Invalid naming `where` when it is no JSON Schema
    2020-12, refers outside itself, or has a pattern that only a backtracking engine could match.
    """
    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES_MAX),
            retriever=_refuse,
            mask=mask,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = (getattr(error, "message", None) or str(error)).rpartition("ValueError: ")[2]  # ours is at its end
        raise Invalid(f"{where} is not a usable JSON Schema: {reason}", [(f"/{where}", reason)]) from None


def _refuse(uri: str) -> Any:
    raise ValueError(f"$ref leaves the document: {uri}")


@dataclass(slots=True)
class Schema:
    """A compiled schema; without one everything is valid."""

    validator: jsonschema_rs.Draft202012Validator | None
    masked: jsonschema_rs.Draft202012Validator | None = None
    """The same for documents that hold secrets, which no message may show."""

    def violations(self, value: Any, *, pending: tuple[str, ...] = (), ignore_required: bool = False) -> Violations:
        """Where `value` breaks the schema; what only concerns the pointers in `pending` is let pass."""
        if self.validator is None or self.validator.is_valid(value):
            return []
        found: Violations = []
        waits = [parse(pointer) for pointer in pending]
        for error, message in self._errors(value):
            path = [str(token) for token in error.instance_path]
            if ignore_required and error.kind.name == "required":
                continue
            if not any(_concerns(error, path, tokens) for tokens in waits):
                found.append(("".join("/" + escape_token(token) for token in path), message))
            if len(found) == VIOLATIONS_MAX:
                break
        return found

    def _errors(self, value: Any) -> Iterator[tuple[jsonschema_rs.ValidationError, str]]:
        """Each error with what is told of it."""
        assert self.validator is not None
        if self.masked is None:
            yield from ((error, error.message) for error in self.validator.iter_errors(value))
            return
        for error, masked in zip(self.validator.iter_errors(value), self.masked.iter_errors(value), strict=True):
            yield error, (masked if holds_secret(error.instance_path, error.instance) else error).message


def _concerns(error: jsonschema_rs.ValidationError, path: list[str], pending: list[str]) -> bool:
    if path[: len(pending)] == pending:
        return True
    if pending[: len(path)] != path:
        return False
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        return error.kind.property == pending[len(path)]
    return error.kind.name in _OPEN_ENDED


class Kind:
    """One published kind version."""

    def __init__(self, row: KindRow) -> None:
        self.row = row
        self.pair = KindVersion(row.kind, row.kind_version)
        self.manifest = Manifest.from_document(loads(row.manifest.encode()))
        self.manifest_version = row.manifest_version
        self.policy = _policy(row)
        self.composer = self.manifest.composer
        self.worker = self.manifest.worker
        self.rollup = self.manifest.rollup
        self.deleter = self.manifest.deleter
        self.resyncer = self.manifest.resyncer
        self.reactor = self.manifest.reactor
        self.recomposer = next((r for r in self.manifest.reactions if _recomposes(r)), None)
        self._reactions = {
            Stage.COMPOSE: self.composer or self.recomposer,
            Stage.WORK: self.worker,
            Stage.ROLLUP: self.rollup,
            Stage.DELETE: self.deleter,
        }

    @cached_property
    def composes(self) -> bool:
        return self.composer is not None or self.recomposer is not None

    @cached_property
    def spec_schema(self) -> Schema:
        return _schema(self.manifest.spec_schema, "spec_schema")

    @cached_property
    def config_schema(self) -> Schema:
        document, where = self.manifest.config_schema, "config_schema"
        return Schema(*(compile_schema(document, where, mask) for mask in (None, MASK))) if document else Schema(None)

    @property
    def finalizers(self) -> list[str]:
        """What a resource must be rid of before it can go."""
        if self.deleter is None:
            return []
        name = self.manifest.finalizer_name or self.deleter.finalizer
        return [name] if name else []

    @cached_property
    def works_at_resync(self) -> bool:
        return self.worker is not None or (self.resyncer is not None and not self.resyncer.composes)

    @cached_property
    def composes_at_resync(self) -> bool:
        """When its policy says so, or it has a reaction for it (decision 9)."""
        own = self.resyncer is not None and self.resyncer.composes
        return own or (self.composes and self.policy.resync_recomposes)

    @cached_property
    def resync_seconds(self) -> int:
        """After how long a settled resource runs again; 0: never, also when nothing would run."""
        return self.policy.resync_interval_seconds if self.works_at_resync or self.composes_at_resync else 0

    def reaction(self, stage: Stage, *, only_children: bool = False, resync: bool = False) -> Reaction | None:
        """What runs a stage; `only_children`: the run was asked for by children alone, `resync`: by the clock."""
        if resync and self.resyncer is not None and self.resyncer.stage is stage:
            return self.resyncer
        if only_children and stage is Stage.COMPOSE and self.recomposer is not None:
            return self.recomposer
        return self._reactions.get(stage)

    def record(self) -> KindRecord:
        """A kind version as it is shown."""
        return record(self.row)


def input_schema(reaction: Reaction) -> Schema:
    """What an operation's input must keep."""
    return _schema(dict(reaction.input_schema) if reaction.input_schema is not None else None, "input_schema")


def _recomposes(reaction: Reaction) -> bool:
    return reaction.trigger is Trigger.CHILDREN_SETTLED and Emit.CHILDREN in reaction.emits


def _schema(document: dict[str, Any] | None, where: str) -> Schema:
    return Schema(compile_schema(document, where) if document is not None else None)


class Binding:
    """A reactor binding, ready for use. `reactor` is whom it has told: the version that it names, or the newest."""

    def __init__(self, row: BindingRow, reactor: KindVersion) -> None:
        self.row = row
        self.reactor = reactor
        self.label_match: dict[str, str] = loads(row.label_match.encode())

    def watches(self, kind_version: int) -> bool:
        return self.row.watch_kind_version in (None, kind_version)


@dataclass(slots=True)
class Kinds:
    """All published kinds, and the bindings to reactors, as of one revision; replaced as a whole when the store has
    a newer one."""

    revision: int = -1
    by_pair: dict[tuple[str, int], Kind] = field(default_factory=dict)
    default_revisions: dict[KindVersion, int] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    bound: dict[tuple[str, Transition], list[Binding]] = field(default_factory=dict)
    """The enabled bindings by what they watch."""

    @classmethod
    def read(cls, db: Connection, known: Kinds | None = None) -> Kinds:
        """What is published now; kinds that `known` has unchanged are taken over as they are compiled."""
        revision = catalog.revision(db)
        kinds: dict[tuple[str, int], Kind] = {}
        for row in catalog.kinds(db):
            pair = KindVersion(row.kind, row.kind_version)
            old = known.get(pair) if known else None
            kinds[pair] = old if old is not None and old.row == row else Kind(row)
        read = cls(revision, kinds, catalog.default_revisions(db))
        for binding in reactors.bindings(db):
            read._bind(binding)
        return read

    def _bind(self, row: BindingRow) -> None:
        reactor = self.reactor(row.reactor, row.reactor_version)
        if reactor is None:
            return
        binding = Binding(row, reactor)
        self.bindings.append(binding)
        if row.enabled:
            self.bound.setdefault((row.watch_kind, Transition(row.transition)), []).append(binding)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.by_pair.values())

    def get(self, pair: tuple[str, int]) -> Kind | None:
        return self.by_pair.get(pair)

    def reactor(self, name: str, version: int | None) -> KindVersion | None:
        """The published version of a kind that reacts: this one, or the newest for None."""
        found = [kind.pair for kind in self if kind.pair.kind == name and kind.reactor]
        return max((pair for pair in found if version in (None, pair.version)), default=None)


def record(row: KindRow) -> KindRecord:
    """A kind version as it is shown."""
    pair = KindVersion(row.kind, row.kind_version)
    manifest = RawJson(row.manifest.encode())
    return KindRecord(pair, manifest, row.manifest_version, _policy(row), row.updated_at, loads(row.labels.encode()))


def _policy(row: KindRow) -> KindPolicy:
    return KindPolicy(**loads(row.policy.encode()))


def policy_text(policy: KindPolicy) -> str:
    """A live policy as it is stored."""
    return dumps({name: getattr(policy, name) for name in KindPolicy.__slots__}).decode()
