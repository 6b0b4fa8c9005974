"""Which layer of a config set each of its leaves. The same rules as `merge`, told instead of applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stdworker.model.json_text import RawJson, escape_token, members

__all__ = ["DEFAULT", "OVERRIDE", "Layer", "Leaf", "leaves"]


DEFAULT, OVERRIDE = "default", "override"
"""What the two provider configs of a resource are called as layers."""


class Layer(NamedTuple):
    """A config and what it is called; `raw` is None when there is none."""

    name: str
    raw: RawJson | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value at an RFC 6901 pointer, the layer that set it, and what that replaced, the nearest layer first."""

    path: str
    value: RawJson
    layer: str
    replaced: tuple[tuple[str, RawJson], ...] = ()


def leaves(layers: Sequence[Layer]) -> list[Leaf]:
    """The leaves of the effective config, lowest layer first; an empty object is a leaf, an array is one."""
    said = [(layer.name, layer.raw) for layer in layers if layer.raw]
    if any(members(raw) is not None for _, raw in said):  # what is no object never wipes one
        said = [(name, raw) for name, raw in said if members(raw) is not None]
    return list(_leaves("", said)) if said else []


_Said = Sequence[tuple[str, RawJson]]


def _leaves(path: str, said: _Said) -> Iterator[Leaf]:
    """`said` is what each layer says about this place, lowest first; the topmost objects are merged."""
    objects = _objects_on_top(said)
    keys = list(dict.fromkeys(key for _, fields in objects for key in fields))
    if not keys:
        at = len(said) - max(1, len(objects))  # the topmost value, or the lowest of the empty objects there
        name, value = said[at]
        yield Leaf(path, value, name, tuple(reversed(said[:at])))
        return
    for key in keys:
        inner = [(name, fields[key]) for name, fields in objects if key in fields]
        yield from _leaves(f"{path}/{escape_token(key)}", inner)


def _objects_on_top(said: _Said) -> list[tuple[str, dict[str, RawJson]]]:
    found: list[tuple[str, dict[str, RawJson]]] = []
    for name, raw in reversed(said):
        fields = members(raw)
        if fields is None:
            break
        found.append((name, fields))
    return found[::-1]
