"""Why a resource is not Ready, and which config it gets."""

from __future__ import annotations

from msgspec import Raw, Struct

from stdworker.engine.api.shapes.common import Instant, RefView, instant_or_none, raw
from stdworker.engine.reconcile.effective import EffectiveConfig
from stdworker.engine.reconcile.explain import Explanation
from stdworker.engine.reconcile.reasons import Reason
from stdworker.model.kind import Phase
from stdworker.model.layers import Leaf


class ReasonView(Struct):
    """Why a resource is not Ready, or a reactor not told: `code` is stable, `about` a resource that it is about.

    `since` is when it began, `until` when the engine goes on by itself.
    """

    code: str
    message: str
    hint: str
    about: RefView | None
    since: Instant | None
    until: Instant | None

    @classmethod
    def of(cls, reason: Reason) -> ReasonView:
        return cls(
            code=reason.code,
            message=reason.message,
            hint=reason.hint,
            about=RefView.of_any(reason.about),
            since=instant_or_none(reason.since_ms),
            until=instant_or_none(reason.until_ms),
        )


class ReplacedView(Struct):
    """What a layer said that a higher one replaces."""

    layer: str
    value: Raw


class LeafView(Struct):
    """A value of a config, at a JSON pointer, with the layer that set it."""

    path: str
    value: Raw
    layer: str
    replaced: list[ReplacedView]

    @classmethod
    def of(cls, leaf: Leaf) -> LeafView:
        replaced = [ReplacedView(layer, Raw(value)) for layer, value in leaf.replaced]
        return cls(leaf.path, Raw(leaf.value), leaf.layer, replaced)


class EffectiveConfigView(Struct):
    """The default and the own provider config of a resource, merged. Secrets in it are `***`.

    `names` has the provider config of each layer, `bundle` is the layer that the bundle is taken from.
    """

    names: dict[str, str]
    leaves: list[LeafView]
    spec: Raw
    bundle: str | None

    @classmethod
    def of(cls, config: EffectiveConfig) -> EffectiveConfigView:
        return cls(config.names, [LeafView.of(leaf) for leaf in config.leaves], raw(config.spec), config.bundle)


class ExplanationView(Struct):
    """Why a resource is not Ready, what weighs most first, and the config that its program gets."""

    kind: str
    name: str
    kind_version: int
    generation: int
    synced_gen: int
    phase: Phase
    is_ready: bool
    reasons: list[ReasonView]
    config: EffectiveConfigView

    @classmethod
    def of(cls, told: Explanation) -> ExplanationView:
        record = told.resource
        return cls(
            kind=record.kind,
            name=record.name,
            kind_version=record.kind_version,
            generation=record.generation,
            synced_gen=record.synced_gen,
            phase=record.phase,
            is_ready=record.is_ready,
            reasons=[ReasonView.of(reason) for reason in told.reasons],
            config=EffectiveConfigView.of(told.config),
        )
