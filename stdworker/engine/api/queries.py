"""Query parameters, refused when unknown: a misspelt filter must not show everything."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from stdworker.engine.store.records import AuditFilter, ResourceFilter
from stdworker.errors import Invalid, SettingsError
from stdworker.model.kind import KIND, RESOURCE_NAME, VERSION_MAX, KindVersion, Phase
from stdworker.model.resource import Ref
from stdworker.model.settings import Environment

LIMIT_MAX = 500
GRAPH_LIMIT_MAX = 10_000
SUBGRAPH_LIMIT_MAX = 1_000
DEPTH_MAX = 10
SEQUENCE_MAX = 2**63 - 1
FILTER_VALUES_MAX = 100
WAIT_SECONDS = 30.0

Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX, description="How many to answer at most.")]
CURSOR = "[0-9]{1,18}"
"""The form of most cursors; one of another form is refused by the list, which says so better."""
Cursor = Annotated[
    str | None,
    Field(description="`X-Next-Cursor` of the page before.", json_schema_extra={"pattern": f"^{CURSOR}$"}),
]
NameCursor = Annotated[str | None, Field(description="`X-Next-Cursor` of the page before.")]
Version = Annotated[int | None, Field(ge=1, le=VERSION_MAX)]


_VERSION = "[1-9][0-9]{0,3}|[12][0-9]{4}|3[01][0-9]{3}|32[0-6][0-9]{2}|327[0-5][0-9]|3276[0-7]"  # 1 to VERSION_MAX
_PAIR = re.compile(f"({KIND.pattern})/v?({_VERSION})")
_OWNER = re.compile(f"({KIND.pattern})/({RESOURCE_NAME.pattern})")
_LABEL = re.compile(r"([^:\x00]+):([^\x00]*)")


def _formed(form: re.Pattern[str]) -> Any:
    """Documented only: what is of another form is refused in a sentence of ours."""
    return Field(json_schema_extra={"pattern": f"^{form.pattern}$"})


Pair = Annotated[str, _formed(_PAIR)]
Owner = Annotated[str, _formed(_OWNER)]
Label = Annotated[str, _formed(_LABEL)]


def _instant(text: str | None) -> str | None:
    if text is None:
        return None
    if not _RFC_3339.fullmatch(text):
        raise ValueError("not an instant such as 2026-01-31T12:00:00Z")
    datetime.fromisoformat(text)
    return text


_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
Instant = Annotated[str | None, AfterValidator(_instant), Field(json_schema_extra={"format": "date-time"})]


def _seconds(text: str) -> float:
    try:
        return Environment({"timeout": text}).duration("timeout", WAIT_SECONDS)
    except SettingsError:
        raise ValueError(f"{text!r} is not a duration such as 500ms, 30s or 1m30s") from None


Duration = Annotated[float, BeforeValidator(_seconds), WithJsonSchema({"type": "string"})]
"""Written as a duration, read as seconds."""


class Strict(BaseModel):
    """No other parameter than those named."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(Strict):
    limit: Limit = 100
    cursor: Cursor = None


class NamesQuery(Strict):
    limit: Limit = 100
    cursor: NameCursor = None


class KindsQuery(Strict):
    limit: Annotated[int | None, Field(ge=1, le=LIMIT_MAX)] = Field(
        None, description="How many to answer at most; absent: all."
    )
    cursor: Annotated[str | None, _formed(_PAIR)] = Field(None, description="`X-Next-Cursor` of the page before.")


class SelfQuery(Strict):
    """What a resource may be chosen by, beside its owner."""

    kind: list[str] = Field([], max_length=FILTER_VALUES_MAX, description="Kinds; any of them.")
    kv: list[Pair] = Field([], max_length=FILTER_VALUES_MAX, description="Kinds at one version, as `kind/v2`.")
    phase: list[Phase] = Field([], description="Phases; any of them.")
    name: str = Field("", description="A part of the name.")
    label: list[Label] = Field([], max_length=FILTER_VALUES_MAX, description="Labels as `key:value`; all of them.")

    def filter(self) -> ResourceFilter:
        return ResourceFilter(
            kinds=self.kind,
            pairs=[_pair(text) for text in self.kv],
            phases=self.phase,
            name=self.name,
            labels=_labels(self.label),
        )


class OwnedQuery(SelfQuery):
    owner: list[Owner] = Field([], max_length=FILTER_VALUES_MAX, description="Direct owners, as `kind/name`.")

    def filter(self) -> ResourceFilter:
        where = super().filter()
        where.owners = [_ref(text) for text in self.owner]
        return where


class RootsQuery(SelfQuery, PageQuery):
    pass


class ListQuery(OwnedQuery, PageQuery):
    pass


class ResourceWatchQuery(Strict):
    since: Annotated[int | None, Field(ge=0, le=SEQUENCE_MAX)] = Field(
        None, description="Resume after this event; absent: only what happens from now on."
    )


class WatchQuery(OwnedQuery, ResourceWatchQuery):
    pass


class ApplyQuery(Strict):
    dry_run: bool = Field(False, alias="dryRun", description="Validate and answer what would change.")


class DeleteQuery(Strict):
    dry_run: bool = Field(False, alias="dryRun", description="Answer as if it were deleted, and delete nothing.")


class DeleteResourceQuery(DeleteQuery):
    force: bool = Field(False, description="Skip what stands against it.")


class WaitQuery(Strict):
    condition: Annotated[Literal["ready", "synced", "deleted"], Field(alias="for")] = "ready"
    timeout: Duration = Field(
        f"{WAIT_SECONDS:g}s",
        validate_default=True,
        description="A duration such as 500ms, 30s or 1m30s; at most 1h.",
    )


class AuditQuery(PageQuery):
    actor: str | None = Field(None, description="Who asked.")
    type: str | None = Field(None, description="What was done, as `SpecChanged`.")
    kind: str | None = Field(None, description="The kind of what was changed.")
    name: str | None = Field(None, description="The whole name of what was changed.")
    since: Instant = Field(None, description="From this instant on.")
    until: Instant = Field(None, description="Before this instant.")

    def filter(self) -> AuditFilter:
        return AuditFilter(self.actor, self.type, self.kind, self.name, _ms(self.since), _ms(self.until))


class GraphQuery(Strict):
    limit: int = Field(GRAPH_LIMIT_MAX, ge=1, le=GRAPH_LIMIT_MAX, description="How many nodes to answer at most.")


class SubgraphQuery(Strict):
    ancestor_depth: int = Field(3, ge=0, le=DEPTH_MAX, description="How many steps up.")
    descendant_depth: int = Field(1, ge=0, le=DEPTH_MAX, description="How many steps down.")
    limit: int = Field(200, ge=1, le=SUBGRAPH_LIMIT_MAX, description="How many nodes to answer at most.")


class SchemaQuery(Strict):
    kind_version: Version = Field(None, description="Absent: the lowest published version.")


class PublishQuery(Strict):
    force: bool = Field(False, description="Publish although it breaks what was published.")
    requeue: bool = Field(True, description="Whether its resources run again.")


class ConfigQuery(Strict):
    requeue: bool = Field(True, description="Whether resources that have the config run again.")


class PlanQuery(Strict):
    force: bool = Field(False, description="As if kinds were published by force.")


class ConfigsQuery(NamesQuery):
    kind: str | None = None
    kind_version: Version = Field(None, description="Absent: version 1.")


class RevealQuery(Strict):
    reveal: bool = Field(False, description="Show secrets instead of `***`; the request is recorded.")


def _ms(instant: str | None) -> int | None:
    return None if instant is None else int(datetime.fromisoformat(instant).timestamp() * 1000)


def kind_cursor(text: str) -> KindVersion:
    """The kind version that a page ended with. Raises Invalid."""
    try:
        return _pair(text)
    except Invalid:
        raise _bad("cursor", f"{text!r} is not a cursor of this list", "bad_cursor") from None


def _pair(text: str) -> KindVersion:
    if found := _PAIR.fullmatch(text):
        return KindVersion(found[1], int(found[2]))
    raise _bad("kv", f"{text!r} is not of the form kind/v2")


def _ref(text: str) -> Ref:
    if found := _OWNER.fullmatch(text):
        return Ref(found[1], found[2])
    raise _bad("owner", f"{text!r} is not of the form kind/name")


def _labels(texts: list[str]) -> dict[str, str]:
    """All of them are to hold, which two values of one key never do."""
    labels: dict[str, str] = {}
    for key, value in map(_label, texts):
        if labels.setdefault(key, value) != value:
            raise _bad("label", f"{key} can't be both {labels[key]!r} and {value!r}")
    return labels


def _label(text: str) -> tuple[str, str]:
    if found := _LABEL.fullmatch(text):
        return found[1], found[2]
    raise _bad("label", f"{text!r} is not of the form key:value")


def _bad(parameter: str, told: str, code: str = "bad_parameter") -> Invalid:
    return Invalid.at(f"query/{parameter}", told, code=code)
