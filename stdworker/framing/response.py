"""A response document: validated, then an outcome with every value verbatim.

`protocol/stdio/v1/response.schema.json` says what is legal. Here the same rules are typed structs, some fifty
times faster; the schema itself is asked only when they refuse, for the sentence that says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from stdworker.errors import JsonError, ResponseError
from stdworker.framing.refusal import explain
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.json_text import DEPTH_MAX, RawJson, check, members
from stdworker.model.kind import KIND, RESOURCE_NAME, VERSION_MAX
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref

SHOWN_BYTES_MAX = 200  # of what a program sent, in a message
UNKNOWN_FIELDS_SHOWN_MAX = 8
NEAR = 0.75  # how like a field a name must be to be taken for a misspelt one
CUT = "…"  # stands where the rest of a text was left out; who hides secrets looks for one that ends here
RETRY_AFTER_SECONDS_MAX = 31_536_000

FIELDS = frozenset(
    (
        "id",
        "status",
        "conditions",
        "children",
        "edges",
        "configs",
        "recompose",
        "allow_empty",
        "output",
        "error",
        "describe",
    ),
)


@dataclass(frozen=True, slots=True)
class ProgramError:
    """The `error` of a response: what the program itself says went wrong."""

    message: str
    terminal: bool = False
    reason: str = ""
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a program answered. `unknown` names the top-level fields that the protocol doesn't have."""

    outcome: Outcome
    error: ProgramError | None = None
    describe: RawJson | None = None
    unknown: tuple[str, ...] = ()


def parse_response(document: bytes, *, depth_max: int = DEPTH_MAX) -> Response:
    """Read one response. Raises ResponseError with path, what was expected, what came and its first bytes.

    Costs some microseconds a kilobyte: above 64 KiB call it in a thread.
    """
    try:
        check(document, depth_max=depth_max)
        envelope, unknown = _decode(document)
    except JsonError as error:
        raise ResponseError(
            f"the response can't be used: {error.message}; {shown(document)}", code=error.code
        ) from None
    except msgspec.ValidationError as error:
        raise ResponseError(
            f"the response breaks the protocol: {explain(document, error, _ITEMS)}; {shown(document)}",
            code="bad_response",
        ) from None
    except RecursionError:
        raise ResponseError(f"the response is nested too deep; {shown(document)}", code="too_deep") from None
    return Response(_outcome(envelope), _error(envelope.error), _present(envelope.describe), unknown)


def is_response(names: Set[str]) -> bool:
    """Whether an object with these members can be meant as one. Log records, say, are JSON objects too."""
    return not names or not FIELDS.isdisjoint(names)


def not_a_response(names: Set[str], document: bytes) -> ResponseError:
    told = sorted(names)[:UNKNOWN_FIELDS_SHOWN_MAX]
    near = next((found[0] for name in told if (found := get_close_matches(name, FIELDS, n=1, cutoff=NEAR))), None)
    meant = f"did you mean {near!r}? " if near else ""
    return ResponseError(
        f"the object has no field of a response, only {', '.join(told)}; {shown(document)}",
        code="not_a_response",
        hint=f"{meant}put it under one of {', '.join(sorted(FIELDS))}; a record for the log goes to stderr",
    )


def check_edges(outcome: Outcome, observed: Iterable[Ref]) -> None:
    """Every edge joins two children of this resource, and no child is there twice; else a ResponseError."""
    seen: dict[Ref, int] = {}
    for index, child in enumerate(outcome.children):
        first = seen.setdefault(child.ref, index)
        if first != index:
            raise ResponseError(f"/children/{index}: {child.ref} is already /children/{first}", code="duplicate_child")
    if outcome.edges:
        _check_ends(outcome.edges, {*seen, *observed})


def _check_ends(edges: Sequence[DepEdge], known: Set[Ref]) -> None:
    for index, edge in enumerate(edges):
        for end, ref in (("from", edge.dependent), ("to", edge.dependency)):
            if ref not in known:
                text = f"/edges/{index}/{end}: expected a child of this resource, got {ref}"
                raise ResponseError(text, code="edge_to_nowhere", hint="declare it in children")


def shown(document: bytes, size: int | None = None) -> str:
    """What a program sent, as the end of a message."""
    return f"received: {excerpt(document, size)}"


def excerpt(text: bytes, size: int | None = None) -> str:
    """The first bytes of a text, fit for a message; `size` is its length if the rest is gone already."""
    size = len(text) if size is None else size
    start = _CONTROL.sub(_as_escape, text[:SHOWN_BYTES_MAX].decode("utf-8", "replace"))
    return f"{start}{CUT} ({size} bytes)" if size > SHOWN_BYTES_MAX else start


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a terminal would act on them


def _as_escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


# ---- the schema as types ----

_KindName = Annotated[str, Meta(pattern=rf"^{KIND.pattern}\Z")]
_Name = Annotated[str, Meta(pattern=rf"^{RESOURCE_NAME.pattern}\Z")]
_Version = Annotated[int, Meta(ge=1, le=VERSION_MAX)]
_Pointer = Annotated[str, Meta(pattern=r"^(?:/(?:[^~/]|~0|~1)*)*\Z")]
_Seconds = Annotated[float, Meta(ge=0, le=RETRY_AFTER_SECONDS_MAX)]
_ABSENT = Raw(b"")


class _Condition(msgspec.Struct, gc=False):
    type: Annotated[str, Meta(min_length=1)]
    status: Literal["True", "False", "Unknown"]
    reason: str | None = None
    message: str | None = None


class _Child(msgspec.Struct):
    kind: _KindName
    kind_version: _Version
    name: _Name
    spec: Raw = _ABSENT
    labels: dict[str, str] | None = None
    provider_config_ref: str | None = None


class _Ref(msgspec.Struct, gc=False):
    kind: _KindName
    name: _Name


class _Flow(msgspec.Struct, gc=False):
    dependent_field: _Pointer
    source_field: _Pointer


class _Edge(msgspec.Struct, rename={"source": "from", "target": "to"}):
    source: _Ref
    target: _Ref
    values: list[_Flow] | None = None


class _Config(msgspec.Struct):
    name: _Name
    kind: _KindName
    kind_version: _Version
    spec: Raw


class _Error(msgspec.Struct, gc=False):
    message: str
    terminal: bool | None = None
    reason: str | None = None
    retry_after_seconds: _Seconds | None = None


class _Envelope(msgspec.Struct):
    id: str | UnsetType = UNSET
    status: Raw = _ABSENT
    conditions: list[_Condition] | None = None
    children: list[_Child] | None = None
    edges: list[_Edge] | None = None
    configs: list[_Config] | None = None
    recompose: bool | None = None
    allow_empty: bool | None = None
    output: Raw = _ABSENT
    error: _Error | None = None
    describe: Raw = _ABSENT


class _KnownEnvelope(_Envelope, forbid_unknown_fields=True):
    pass


_known = msgspec.json.Decoder(_KnownEnvelope)
_any = msgspec.json.Decoder(_Envelope)
_ITEMS: dict[str, msgspec.json.Decoder[Any]] = {
    "conditions": msgspec.json.Decoder(_Condition),
    "children": msgspec.json.Decoder(_Child),
    "edges": msgspec.json.Decoder(_Edge),
    "configs": msgspec.json.Decoder(_Config),
}


def _decode(document: bytes) -> tuple[_Envelope, tuple[str, ...]]:
    unknown: tuple[str, ...] = ()
    try:
        envelope: _Envelope = _known.decode(document)
    except msgspec.ValidationError:
        envelope = _any.decode(document)
        unknown = tuple(sorted(set(members(document) or ()) - FIELDS))
    if envelope.describe is not _ABSENT and bytes(envelope.describe)[:1] not in (b"{", b"n"):
        raise msgspec.ValidationError("Expected `object | null` - at `$.describe`")
    return envelope, unknown


def _present(raw: Raw) -> RawJson | None:
    if raw is _ABSENT:
        return None
    document = RawJson(raw)
    return None if document == b"null" else document


def _outcome(envelope: _Envelope) -> Outcome:
    outcome = Outcome(_present(envelope.status), output=_present(envelope.output))
    outcome.recompose, outcome.allow_empty = bool(envelope.recompose), bool(envelope.allow_empty)
    if envelope.conditions:
        outcome.conditions = [Condition(c.type, c.status, c.reason or "", c.message or "") for c in envelope.conditions]
    if envelope.children:
        outcome.children = [_child(child) for child in envelope.children]
    if envelope.edges:
        outcome.edges = [_edge(edge) for edge in envelope.edges]
    if envelope.configs:
        outcome.configs = [
            ProviderConfigSpec(c.name, c.kind, c.kind_version, RawJson(c.spec)) for c in envelope.configs
        ]
    return outcome


def _child(child: _Child) -> ChildSpec:
    return ChildSpec(
        kind=child.kind,
        kind_version=child.kind_version,
        name=child.name,
        spec=_present(child.spec),
        labels=child.labels or {},
        provider_config_ref=child.provider_config_ref or "",
    )


def _edge(edge: _Edge) -> DepEdge:
    return DepEdge(
        dependent=Ref(edge.source.kind, edge.source.name),
        dependency=Ref(edge.target.kind, edge.target.name),
        values=[ValueFlow(flow.dependent_field, flow.source_field) for flow in edge.values or ()],
    )


def _error(error: _Error | None) -> ProgramError | None:
    if error is None:
        return None
    return ProgramError(error.message, bool(error.terminal), error.reason or "", error.retry_after_seconds)
