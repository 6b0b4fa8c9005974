"""What people declare, from the bodies that they send to what the engine takes."""

from __future__ import annotations

from typing import Any

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
)
from stdworker.errors import Invalid
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.secrets import is_masked

ENVELOPE = ("type", "manifest_version", "$schema", "labels")  # what may stand beside the manifest itself


def resource(body: ResourceBody) -> ApplyDocument:
    return ApplyDocument(
        kind=body.kind,
        kind_version=body.kind_version,
        name=body.name,
        spec=RawJson(body.spec) or None,
        labels=_labels(body.labels),
        provider_config_ref=UNSET if isinstance(body.provider_config_ref, UnsetType) else body.provider_config_ref,
    )


def config(body: ConfigBody) -> ConfigDeclaration:
    return ConfigDeclaration(
        name=body.name,
        pair=KindVersion(body.kind, body.kind_version),
        is_default=body.is_default,
        spec=_config_spec(RawJson(body.spec)),
        bundle=body.data,
        labels=_labels(body.labels),
    )


def _config_spec(spec: RawJson) -> RawJson | None:
    if is_masked(spec):
        told = "a masked secret can't be stored; read the config with reveal=true, or leave the secret as it was"
        raise Invalid(f"/spec: {told}", [("/spec", told)], code="masked_secret")
    return None if spec in (b"", b"null") else spec


def binding(body: BindingBody) -> BindingDeclaration:
    return BindingDeclaration(
        name=body.name,
        watch_kind=body.watch_kind,
        transition=body.transition,
        reactor=body.reactor,
        watch_kind_version=body.watch_kind_version,
        reactor_version=body.reactor_version,
        label_match=body.label_match or {},
        enabled=body.enabled,
        labels=_labels(body.labels),
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
        raise Invalid(f"/labels: {told}", [("/labels", told)], code="bad_body") from None


def _labels(given: dict[str, str] | UnsetType | None) -> Labels:
    return UNSET if isinstance(given, UnsetType) else given
