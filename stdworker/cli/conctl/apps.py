"""The label that says which app something belongs to, and what keeps it where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stdworker.cli.conctl.client import Client
from stdworker.cli.conctl.items import Item
from stdworker.cli.conctl.plan import Plan
from stdworker.model.json_text import dumps, loads, members

APP_LABEL = "converge.sh/app"


def labels_of(declaration: bytes | None) -> dict[str, str]:
    """Those of a declaration that the engine has seen."""
    told = (members(declaration) or {}).get("labels") if declaration else None
    return (loads(told) if told is not None else None) or {}


def labelled(item: Item, labels: Mapping[str, str]) -> Item:
    return replace(item, members={**item.members, "labels": dumps(dict(labels))})


def kept_in_app(client: Client, found: Sequence[Item], force: bool = False) -> list[Item]:
    """The items, each in the app that it has in the engine.

    Labels of a document replace all that there are. Without this a file of an app that is applied by itself would
    take its things out of the app, and no later `sync --prune` would know them.
    """
    if not any(map(_replaces_labels, found)):
        return list(found)
    before = {item.identity: labels_of(would.before) for item, would in Plan(client, force).ask(found)}
    return [_kept(item, before[item.identity]) if _replaces_labels(item) else item for item in found]


def _kept(item: Item, before: Mapping[str, str]) -> Item:
    return labelled(item, {APP_LABEL: before[APP_LABEL], **_written(item)}) if APP_LABEL in before else item


def _replaces_labels(item: Item) -> bool:
    written = _written(item)
    return bool(written) and APP_LABEL not in written


def _written(item: Item) -> dict[str, str]:
    """The labels of a document, none if they aren't labels: the engine says what is wrong with them."""
    told = loads(item.members.get("labels", b"null"))
    return told if isinstance(told, dict) else {}
