"""The effective config of a resource, leaf by leaf, with secrets hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stdworker.engine.store import catalog
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.rows import ConfigRow
from stdworker.model.config import merge
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.layers import DEFAULT, OVERRIDE, Layer, Leaf, leaves
from stdworker.model.secrets import mask


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """What the provider configs of a resource say together, secrets hidden.

    `names` has the config of each layer; `bundle` is the layer that the bundle comes from.
    """

    names: dict[str, str]
    leaves: Sequence[Leaf]
    spec: RawJson | None
    bundle: str | None


def effective(db: Connection, pair: KindVersion, override: str | None) -> EffectiveConfig:
    """Default ⊕ override as the engine has them; a kind file of the worker comes below, and is not known here."""
    rows = {DEFAULT: catalog.default_config(db, pair), OVERRIDE: catalog.config(db, override) if override else None}
    shown = {name: _masked(row) for name, row in rows.items()}
    bundles = [name for name, row in rows.items() if row is not None and row.bundle]
    return EffectiveConfig(
        {name: row.name for name, row in rows.items() if row is not None},
        leaves([Layer(name, raw) for name, raw in shown.items()]),
        merge(shown[DEFAULT], shown[OVERRIDE]),
        bundles[-1] if bundles else None,
    )


def _masked(row: ConfigRow | None) -> RawJson | None:
    return mask(RawJson(row.spec.encode())) if row is not None and row.spec is not None else None
