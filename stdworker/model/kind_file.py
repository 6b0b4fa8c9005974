"""Kind files: a manifest, and how the program beside it is launched (`protocol/kind/v1/kind-file.schema.json`)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stdworker.errors import ConfigError, ManifestError
from stdworker.model.documents import Document, parse_documents
from stdworker.model.json_text import RawJson, dumps, members
from stdworker.model.kind import KindVersion
from stdworker.model.manifest import Manifest

__all__ = ["KIND_FILE", "PREFIX", "KindFile"]

PREFIX = "stdworker-kind-"  # of programs that are kinds by their name
KIND_FILE = re.compile(r"(?P<pair>.+)\.kind\.(?:json|yaml|yml|toml)")
_LAUNCH = ("default_config", "default_bundle")
_IGNORED = ("$schema", "type", "labels")
_SCHEMAS = ("spec_schema", "status_schema", "config_schema")


@dataclass(frozen=True, slots=True)
class KindFile:
    """A kind and the lowest layer of its config. `document` is all of it, verbatim; `where` it was written."""

    document: RawJson
    manifest: Manifest
    default_config: RawJson | None = None
    default_bundle: bytes | None = None
    where: str = "kind file"

    @property
    def pair(self) -> KindVersion:
        return self.manifest.pair

    @classmethod
    def parse(cls, text: bytes, name: str) -> KindFile:
        """Read the text of the kind file `name`. Raises ConfigError, a ManifestError if it breaks rules."""
        documents = parse_documents(text, name)
        if len(documents) != 1:
            raise ConfigError(f"{name}: a kind file holds one document, this one {len(documents)}")
        return cls.from_document(documents[0])

    @classmethod
    def from_document(cls, document: Document) -> KindFile:
        """Read one document. Raises ManifestError with every violation, each with its pointer."""
        told = members(document.raw)
        if told is None:
            raise ManifestError([("", "expected an object")], where=document.where)
        config, bundle = (told.pop(name, None) for name in _LAUNCH)
        manifest = {key: raw.value() for key, raw in told.items() if key not in _IGNORED}
        violations = [*_manifest_violations(manifest), *_config_violations(config), *_bundle_violations(bundle)]
        if violations:
            raise ManifestError(violations, where=document.where)
        return cls(
            document.raw,
            Manifest.from_document(manifest, where=document.where),
            config,
            None if bundle is None else base64.b64decode(bundle.value()),
            document.where,
        )

    @classmethod
    def of(cls, told: Mapping[str, Any], *, where: str) -> KindFile:
        """The same from Python values, as the hook `stdworker_kinds` hands them over."""
        return cls.from_document(Document(dumps(dict(told)), where))


def _manifest_violations(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    try:
        Manifest.from_document(manifest, beside=_LAUNCH)
    except ManifestError as error:
        yield from error.violations
        return
    from stdworker.model.schema_rules import schema_violations  # loads jsonschema: a quarter of a command's start

    for name in _SCHEMAS:
        yield from schema_violations(f"/{name}", manifest.get(name))
    for index, reaction in enumerate(manifest["reactions"]):
        yield from schema_violations(f"/reactions/{index}/input_schema", reaction.get("input_schema"))


def _config_violations(config: RawJson | None) -> Iterator[tuple[str, str]]:
    if config is None:
        return
    told = members(config)
    if told is None:
        yield "/default_config", "expected an object"
    elif "command" in told:
        yield "/default_config/command", "a kind file names no command: the executable beside it is the command"


def _bundle_violations(bundle: RawJson | None) -> Iterator[tuple[str, str]]:
    if bundle is None:
        return
    try:
        base64.b64decode(bundle.value(), validate=True)
    except (TypeError, ValueError, binascii.Error):
        yield "/default_bundle", "expected base64"
