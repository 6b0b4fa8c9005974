"""What an apply would change, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw

from stdworker.engine.api.shapes import Change
from stdworker.engine.store.records import ResourceRecord
from stdworker.model.json_text import RawJson, dumps, equal, escape_token, members

CHANGES_MAX = 10_000


def changes(before: ResourceRecord | None, after: ResourceRecord) -> list[Change]:
    """Every member of the declaration that differs, in the order of the new one; at most `CHANGES_MAX`."""
    found = _differences("", _declaration(before) if before else {}, _declaration(after))
    return [change for change, _ in zip(found, range(CHANGES_MAX), strict=False)]


def _declaration(record: ResourceRecord) -> dict[str, RawJson]:
    shown = {"kind_version": dumps(record.kind_version), "labels": dumps(record.labels)}
    if record.spec is not None:
        shown["spec"] = RawJson(record.spec)
    if record.provider_config:
        shown["provider_config_ref"] = dumps(record.provider_config)
    return shown


def _differences(path: str, before: dict[str, RawJson], after: dict[str, RawJson]) -> Iterator[Change]:
    for key in [*after, *(key for key in before if key not in after)]:
        old, new = before.get(key), after.get(key)
        if equal(old, new):
            continue
        inner = f"{path}/{escape_token(key)}"
        old_members, new_members = members(old or b""), members(new or b"")
        if old_members is not None and new_members is not None:
            yield from _differences(inner, old_members, new_members)
        else:
            yield Change(inner, None if old is None else Raw(old), None if new is None else Raw(new))
