"""Kind manifests: what a kind's resources look like, and the reactions that keep them converged.

The shape is `protocol/kind/v1/manifest.schema.json`; the rules that a schema can't say are below. That the
schemas inside a manifest are JSON Schemas is checked by those who compile them.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from stdworker import protocol_files
from stdworker.errors import ManifestError
from stdworker.model.json_text import escape_token
from stdworker.model.kind import Emit, KindVersion, Stage, Trigger

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

__all__ = ["Manifest", "Reaction"]

SHOWN_CHARACTERS_MAX = 60  # of a value that a message quotes

Violation = tuple[str, str]

_STAGES = {stage.trigger: stage for stage in Stage if stage is not Stage.COMPOSE} | {Trigger.RESYNC: Stage.WORK}


@dataclass(frozen=True, slots=True)
class Reaction:
    """One thing that a kind does: `trigger` makes it run, `emits` is what it may hand back.

    `verb` is set for operations, `finalizer` for deleteRequested reactions that name their own,
    `input_schema` for operations that have one.
    """

    name: str
    trigger: Trigger
    emits: frozenset[Emit]
    verb: str = ""
    finalizer: str = ""
    input_schema: Mapping[str, Any] | None = None

    @property
    def composes(self) -> bool:
        return Emit.CHILDREN in self.emits

    @property
    def stage(self) -> Stage:
        """The stage that runs it."""
        if self.composes and self.trigger is not Trigger.DELETE_REQUESTED:
            return Stage.COMPOSE
        return _STAGES[self.trigger]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A legal manifest. Limits are whole numbers, durations seconds; 0 switches one off."""

    pair: KindVersion
    description: str = ""
    spec_schema: dict[str, Any] | None = None
    status_schema: dict[str, Any] | None = None
    config_schema: dict[str, Any] | None = None
    reactions: tuple[Reaction, ...] = ()
    finalizer_name: str = ""
    max_inflight: int = 0
    task_deadline_secs: int = 0
    resync_interval_secs: int = 0
    resync_recomposes: bool = False
    orphan_grace_secs: int = 0
    max_transient_attempts: int = 0
    retired: bool = False
    _document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], *, where: str = "manifest", beside: tuple[str, ...] = ()
    ) -> Manifest:
        """Read a manifest. Raises ManifestError with every rule that it breaks; `where` names it in the message.

        `beside` are keys that its author could have meant too, because they may stand in the same file.
        """
        violations = list(dict.fromkeys(_shape_violations(document, beside)))
        if not violations:
            violations = list(_rule_violations(document))
        if violations:
            raise ManifestError(violations, where=where)
        told = {key: _whole(value) for key, value in document.items()}
        pair = KindVersion(told.pop("kind"), told.pop("kind_version"))
        reactions = tuple(map(_reaction, told.pop("reactions")))
        return cls(pair=pair, reactions=reactions, **told, _document=dict(document))

    def document(self) -> dict[str, Any]:
        """The manifest as it was written."""
        return dict(self._document)

    @property
    def composer(self) -> Reaction | None:
        """What turns a spec into children."""
        return self._first(Trigger.SPEC_CHANGE, composes=True)

    @property
    def worker(self) -> Reaction | None:
        """What makes a spec true by itself."""
        return self._first(Trigger.SPEC_CHANGE, composes=False)

    @property
    def rollup(self) -> Reaction | None:
        """What sums up settled children."""
        return self._first(Trigger.CHILDREN_SETTLED, composes=False)

    @property
    def deleter(self) -> Reaction | None:
        return self._first(Trigger.DELETE_REQUESTED)

    @property
    def resyncer(self) -> Reaction | None:
        return self._first(Trigger.RESYNC)

    @property
    def reactor(self) -> Reaction | None:
        """What is told of the transitions of other kinds."""
        return self._first(Trigger.REACTOR)

    def operation(self, verb: str) -> Reaction | None:
        """What runs the operation `verb`."""
        return next((r for r in self.reactions if r.trigger is Trigger.OPERATION and r.verb == verb), None)

    @property
    def is_reactor_kind(self) -> bool:
        """A kind that only reacts to others: it has no resources of its own."""
        return bool(self.reactions) and all(r.trigger is Trigger.REACTOR for r in self.reactions)

    def _first(self, trigger: Trigger, *, composes: bool | None = None) -> Reaction | None:
        fits = (r for r in self.reactions if r.trigger is trigger and composes in (None, r.composes))
        return next(fits, None)


def _whole(value: Any) -> Any:
    """JSON Schema takes `2.0` for an integer."""
    return int(value) if isinstance(value, float) else value


def _reaction(entry: Mapping[str, Any]) -> Reaction:
    told = dict(entry)
    return Reaction(trigger=Trigger(told.pop("trigger")), emits=frozenset(map(Emit, told.pop("emits"))), **told)


# ---- the shape ----


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = orjson.loads(protocol_files.read("kind/v1/manifest.schema.json"))
    return schema


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_schema())


def _shape_violations(document: Any, beside: tuple[str, ...]) -> Iterator[Violation]:
    definitions = _schema()["$defs"]
    if isinstance(document, Mapping):
        yield from _unknown_keys(document, [*definitions["members"]["properties"], *beside], "")
        for index, entry in enumerate(_list(document.get("reactions"))):
            if isinstance(entry, Mapping):
                yield from _unknown_keys(entry, definitions["reaction"]["properties"], f"/reactions/{index}")
        if isinstance(document.get("kind_version"), float):  # it is a name too, and elsewhere 1.0 is none
            yield "/kind_version", "expected a whole number without a point"
        document = dict(document)
    errors = sorted(_validator().iter_errors(document), key=lambda error: [str(t) for t in error.absolute_path])
    for error in errors:
        if error.validator not in ("additionalProperties", "unevaluatedProperties"):
            yield "".join(f"/{escape_token(str(token))}" for token in error.absolute_path), _sentence(error)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _unknown_keys(told: Mapping[str, Any], known: Iterable[str], path: str) -> Iterator[Violation]:
    names = sorted(known)
    for key in told:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(names)}"
            yield f"{path}/{escape_token(key)}", f"unknown key; {hint}"


def _sentence(error: ValidationError) -> str:
    shown = repr(error.instance)
    if len(shown) > SHOWN_CHARACTERS_MAX:
        shown = f"{shown[:SHOWN_CHARACTERS_MAX]}…"
    expected: Any = error.validator_value
    rule: Any = error.schema
    got: Any = error.instance
    match error.validator:
        case "required":
            return f"{', '.join(name for name in expected if name not in got)} must be given"
        case "enum":
            return f"{shown} is not known; it is one of {', '.join(expected)}"
        case "type":
            return f"expected {expected}, got {shown}"
        case "uniqueItems":
            return "an entry appears twice"
        case _:
            described = rule.get("description")
            return f"{shown} is not legal; expected {described}" if described else error.message


# ---- the rules ----


def _rule_violations(document: Mapping[str, Any]) -> Iterator[Violation]:
    entries = [(f"/reactions/{index}", _reaction(entry)) for index, entry in enumerate(document["reactions"])]
    finalizer_name = document.get("finalizer_name", "")
    for path, reaction in entries:
        for rule in _REACTION_RULES:
            yield from rule(path, reaction)
        yield from _finalizer_rule(path, reaction, finalizer_name)
    yield from _repeated(entries)
    yield from _one_of_each(entries)
    yield from _needs(entries, finalizer_name)


def _composer_rule(path: str, reaction: Reaction) -> Iterator[Violation]:
    if reaction.trigger is Trigger.SPEC_CHANGE and reaction.composes:
        if not reaction.emits & {Emit.STATUS, Emit.CONDITIONS}:
            yield f"{path}/emits", "a specChange reaction that emits children must emit status or conditions too"
        if Emit.SIDE_EFFECT in reaction.emits:
            yield f"{path}/emits", "a specChange reaction that emits children must not emit sideEffect"


def _operation_rule(path: str, reaction: Reaction) -> Iterator[Violation]:
    is_operation = reaction.trigger is Trigger.OPERATION
    if is_operation and not reaction.verb:
        yield path, "an operation needs a verb"
    for name, value in (("verb", reaction.verb), ("input_schema", reaction.input_schema)):
        if value and not is_operation:
            yield f"{path}/{name}", f"only an operation has one; the trigger is {reaction.trigger}"


def _reactor_rule(path: str, reaction: Reaction) -> Iterator[Violation]:
    if reaction.trigger is Trigger.REACTOR and reaction.emits != {Emit.SIDE_EFFECT}:
        yield f"{path}/emits", "a reactor reaction emits sideEffect and nothing else"


def _finalizer_rule(path: str, reaction: Reaction, finalizer_name: str) -> Iterator[Violation]:
    if reaction.trigger is not Trigger.DELETE_REQUESTED:
        if reaction.finalizer:
            yield f"{path}/finalizer", f"only a deleteRequested reaction has one; the trigger is {reaction.trigger}"
    elif not reaction.finalizer and not finalizer_name:
        yield path, "a deleteRequested reaction needs a finalizer, its own or the manifest's finalizer_name"
    elif reaction.finalizer and finalizer_name and reaction.finalizer != finalizer_name:
        yield f"{path}/finalizer", f"{reaction.finalizer!r} is not the manifest's finalizer_name, {finalizer_name!r}"


_REACTION_RULES: tuple[Callable[[str, Reaction], Iterator[Violation]], ...] = (
    _composer_rule,
    _operation_rule,
    _reactor_rule,
)


def _repeated(entries: Sequence[tuple[str, Reaction]]) -> Iterator[Violation]:
    for attribute in ("name", "verb"):
        seen: dict[str, str] = {}
        for path, reaction in entries:
            value = getattr(reaction, attribute)
            if value and value in seen:
                yield f"{path}/{attribute}", f"{value!r} is already the {attribute} of {seen[value]}"
            seen.setdefault(value, path)


def _one_of_each(entries: Sequence[tuple[str, Reaction]]) -> Iterator[Violation]:
    """A second one would never run."""
    seen: Counter[tuple[Trigger, bool]] = Counter()
    for path, reaction in entries:
        if reaction.trigger is Trigger.OPERATION:
            continue
        role = (reaction.trigger, reaction.composes and reaction.trigger is not Trigger.DELETE_REQUESTED)
        seen[role] += 1
        if seen[role] == 2:
            which = " that emits children" if reaction.composes else ""
            yield path, f"a kind has at most one {reaction.trigger} reaction{which}"


def _needs(entries: Sequence[tuple[str, Reaction]], finalizer_name: str) -> Iterator[Violation]:
    reactions = [reaction for _, reaction in entries]
    if finalizer_name and not any(r.trigger is Trigger.DELETE_REQUESTED for r in reactions):
        yield "/finalizer_name", "needs a deleteRequested reaction: without one it would never be stripped"
    if not any(r.trigger is Trigger.SPEC_CHANGE and r.composes for r in reactions):
        for path, reaction in entries:
            if reaction.trigger is Trigger.CHILDREN_SETTLED:
                yield path, "a childrenSettled reaction needs a specChange reaction that emits children"
