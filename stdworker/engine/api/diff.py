"""What an apply would change, leaf by leaf."""

from __future__ import annotations

from itertools import islice

from msgspec import Raw

from stdworker.engine.api.shapes.resources import Change
from stdworker.engine.store.records import ResourceRecord
from stdworker.model.difference import differences
from stdworker.model.json_text import RawJson, dumps

CHANGES_MAX = 10_000


def changes(before: ResourceRecord | None, after: ResourceRecord) -> list[Change]:
    """Every member of the declaration that differs, in the order of the new one; at most `CHANGES_MAX`."""
    found = differences(_declaration(before) if before else {}, _declaration(after))
    return [Change(path, _raw(old), _raw(new)) for path, old, new in islice(found, CHANGES_MAX)]


def _declaration(record: ResourceRecord) -> dict[str, RawJson]:
    shown = {"kind_version": dumps(record.kind_version), "labels": dumps(record.labels)}
    if record.spec is not None:
        shown["spec"] = RawJson(record.spec)
    if record.provider_config:
        shown["provider_config_ref"] = dumps(record.provider_config)
    return shown


def _raw(document: RawJson | None) -> Raw | None:
    return None if document is None else Raw(document)
