"""Asking the engine what documents would do, and saying what it refuses in terms of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stdworker.cli.conctl.client import NDJSON, Client, explain
from stdworker.cli.conctl.items import RESOURCE, Item, batches
from stdworker.model.difference import differences
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_members, loads, members
from stdworker.model.places import line_of


class Would(NamedTuple):
    """What applying one item would do; both sides are declarations, or why it would fail."""

    result: str
    before: RawJson | None
    after: RawJson | None
    problem: Mapping[str, Any] | None


class Change(NamedTuple):
    """One leaf that an apply would change."""

    path: str
    before: RawJson | None
    after: RawJson | None

    @property
    def sentence(self) -> str:
        return f"{self.path}: {' → '.join(_text(side) for side in (self.before, self.after))}"

    @property
    def document(self) -> RawJson:
        sides = {"before": self.before, "after": self.after}
        return join_members({"path": dumps(self.path), **{name: raw for name, raw in sides.items() if raw is not None}})


def _text(side: RawJson | None) -> str:
    return "(absent)" if side is None else bytes(side).decode()


@dataclass(slots=True)
class Plan:
    """Many items in few requests: each carries anew what resources rely on, for the engine forgets it."""

    client: Client
    force: bool = False

    def ask(self, found: Sequence[Item]) -> Iterator[tuple[Item, Would]]:
        """What would become of each item, in their order: resources last. Raises Failed."""
        relied = [item for item in found if item.type != RESOURCE]
        told = 0
        for part in [*batches(item for item in found if item.type == RESOURCE)] or [[]]:
            sent = [*relied, *part]
            answered = self._request(sent)
            yield from zip(sent[told:], answered[told:], strict=True)
            told = len(relied)

    def _request(self, sent: Sequence[Item]) -> list[Would]:
        body = b"\n".join(ascii_line(item.typed) for item in sent)
        query = {"force": "true"} if self.force else {}
        response = self.client.call("POST", "/plan", query=query, body=body, media_type=NDJSON)
        return [_would(members(line) or {}) for line in response.content.splitlines()]


def _would(told: Mapping[str, RawJson]) -> Would:
    problem = loads(told["problem"]) if "problem" in told else None
    return Would(loads(told["result"]), told.get("before"), told.get("after"), problem)


def changes_of(would: Would) -> list[Change]:
    """What is another after it than before it; nothing for what is new."""
    if would.before is None or would.after is None:
        return []
    sides = (members(would.before) or {}, members(would.after) or {})
    return [Change(*difference) for difference in differences(*sides)]


# ---- what is refused ----


def explained(item: Item, problem: Mapping[str, Any]) -> str:
    """A problem's words, each violation with the line of the file that it is about."""
    return explain(problem["detail"], problem["errors"], lambda location: _place(item, location))


def _place(item: Item, location: str) -> str:
    """`f.yaml:7 /spec/size`, or the location alone if the line can't be told."""
    body, slash, rest = location.partition("/")
    if body != "body" or item.source is None:
        return location
    pointer = f"{slash}{rest}"
    line = line_of(item.source.text, item.source.name, item.source.number, _as_written(item, pointer))
    return f"{item.source.name}:{line} {pointer}" if line else location


def _as_written(item: Item, pointer: str) -> str:
    """What a kind file calls the members of its default config."""
    if not item.in_kind_file:
        return pointer
    for ours, theirs in (("/spec", "/default_config"), ("/data", "/default_bundle")):
        if pointer == ours or pointer.startswith(f"{ours}/"):
            return theirs + pointer.removeprefix(ours)
    return pointer
