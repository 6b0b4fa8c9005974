"""What people declare, from the bodies that they send to what the engine takes."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UnsetType

from stdworker.engine.api.shapes.configs import ConfigBody
from stdworker.engine.api.shapes.reactors import BindingBody
from stdworker.engine.api.shapes.resources import ResourceBody
from stdworker.engine.store.declarations import (
    UNSET,
    ApplyDocument,
    BindingDeclaration,
    ConfigDeclaration,
    KindDeclaration,
    Labels,
    Unset,
)
from stdworker.errors import Invalid
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.secrets import is_masked

T = TypeVar("T")

_NOTHING = RawJson(b"{}")
ENVELOPE = ("type", "manifest_version", "$schema", "labels")  # what may stand beside the manifest itself


def resource(body: ResourceBody) -> ApplyDocument:
    return ApplyDocument(
        kind=body.kind,
        kind_version=body.kind_version,
        name=body.name,
        spec=_NOTHING if (spec := RawJson(body.spec)) == b"null" else spec or None,
        labels=_given(body.labels),
        provider_config_ref=_given(body.provider_config_ref),
    )


def config(body: ConfigBody) -> ConfigDeclaration:
    return ConfigDeclaration(
        name=body.name,
        pair=KindVersion(body.kind, body.kind_version),
        is_default=_given(body.is_default),
        spec=_config_spec(RawJson(body.spec)),
        bundle=_given(body.data),
        labels=_given(body.labels),
    )


def _config_spec(spec: RawJson) -> RawJson | Unset | None:
    if is_masked(spec):
        told = "a masked secret can't be stored; read the config with reveal=true, or leave the secret as it was"
        raise Invalid.at("/spec", told, code="masked_secret")
    return UNSET if spec == b"" else None if spec == b"null" else spec


def binding(body: BindingBody) -> BindingDeclaration:
    return BindingDeclaration(
        name=body.name,
        watch_kind=body.watch_kind,
        transition=body.transition,
        reactor=body.reactor,
        watch_kind_version=_given(body.watch_kind_version),
        reactor_version=_given(body.reactor_version),
        label_match=_given(body.label_match),
        enabled=_given(body.enabled),
        labels=_given(body.labels),
    )


def kind(body: Any, *, force: bool) -> KindDeclaration:
    """A decoded body; what is wrong inside the manifest is found when it is published."""
    if not isinstance(body, dict):
        raise Invalid("a manifest is an object", [("", "it is no object")])
    manifest = {key: value for key, value in body.items() if key not in ENVELOPE}
    return KindDeclaration(manifest, _kind_labels(body), force)


def _kind_labels(body: dict[str, Any]) -> Labels:
    if "labels" not in body:
        return UNSET
    try:
        return msgspec.convert(body["labels"], dict[str, str] | None)
    except msgspec.ValidationError:
        told = "expected an object of texts"
        raise Invalid.at("/labels", told, code="bad_body") from None


def _given(value: T | UnsetType) -> T | Unset:
    return UNSET if isinstance(value, UnsetType) else value
