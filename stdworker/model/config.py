"""Effective configuration: default ⊕ override, merged as text so that numbers and key order survive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, overload

import msgspec

from stdworker.errors import ConfigError
from stdworker.model.json_text import RawJson, check, join_members, members

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """The default, or an override, of one kind version. An absent half is None."""

    spec: RawJson | None = None
    bundle: bytes | None = None


@dataclass(slots=True)
class ProviderConfigSpec:
    """A provider config that a composer emits; it is owned by the composite."""

    name: str
    kind: str
    kind_version: int
    spec: Any = None


def merge(default: bytes | None, override: bytes | None) -> RawJson | None:
    """default ⊕ override. None and empty bytes are absent; a side that stands alone is returned verbatim.

    Objects merge member by member; arrays and scalars replace; null sets null; a type change takes the
    override. An override that is no JSON object never wipes the default, and a default that is none yields
    to the override. Vectors: protocol/kind/v1/merge-vectors.json.
    """
    if not override:
        return RawJson(default) if default else None
    if not default:
        return RawJson(override)
    base = members(default)
    if base is None:
        return RawJson(override)
    top = members(override)
    if top is None:
        return RawJson(default)
    return join_members(_merge_members(base, top))


def _merge_members(base: dict[str, RawJson], top: dict[str, RawJson]) -> dict[str, RawJson]:
    merged = dict(base)
    for key, value in top.items():
        below = members(base[key]) if key in base else None
        above = members(value) if below is not None else None
        both = below is not None and above is not None
        merged[key] = join_members(_merge_members(below, above)) if both else value  # type: ignore[arg-type]
    return merged


@overload
def effective_config(default: bytes | None, override: bytes | None) -> Any: ...
@overload
def effective_config(default: bytes | None, override: bytes | None, into: type[T]) -> T: ...
def effective_config(default: bytes | None, override: bytes | None, into: Any = None) -> Any:
    """The effective config, decoded: into plain Python values (None when there is none), or into a type.

    `into` is anything that msgspec decodes: a dataclass, a `msgspec.Struct`, a TypedDict. With it an
    absent config is decoded as `{}`, so that defaults of the type apply. Raises ConfigError, naming the
    path, when the config doesn't fit the type.
    """
    merged = merge(default, override)
    if into is None:
        return None if merged is None else check(merged).value()
    try:
        return msgspec.json.decode(merged or b"{}", type=into)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        raise ConfigError(f"the config doesn't fit {into.__name__}: {message}", path=_pointer(path)) from None
    except msgspec.DecodeError as error:
        raise ConfigError(f"the config is not JSON: {error}") from None


def effective_bundle(default: bytes | None, override: bytes | None) -> bytes | None:
    """The override's bundle if it has one, else the default's: bundles replace as a whole."""
    return override or default or None


def _pointer(path: str) -> str:
    return path.rstrip("`").replace("[", ".").replace("]", "").replace(".", "/")
