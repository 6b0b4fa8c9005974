"""A request becomes one line of ASCII; every document in it keeps its tokens."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring_ascii

from stdworker.model.json_text import RawJson, ascii_line, dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest

PROTOCOL = 1
BUNDLES_KEPT_MAX = 8  # encoded bundles, so that not every task encodes the same one again


def request_line(request_id: str, request: ReactionRequest, settings: RawJson | None, deadline_ms: int | None) -> bytes:
    """The line, LF included. `settings` is what the program sees as `config`."""
    parts = [_head(request.reaction, request.trigger, request.kind) % _text(request_id), *_identity(request.resource)]
    if request.stage is Stage.REACT:
        _add_status(parts, request.resource)  # all else of the watched resource is under "resource"
    else:
        _add_documents(parts, request.resource)
    if settings is not None:
        parts.append(b',"config":' + ascii_line(settings))
    bundle = request.bundle()
    if bundle:
        parts.append(b',"bundle":"' + _base64(bytes(bundle)) + b'"')
    if deadline_ms is not None:
        parts.append(b',"deadline_ms":%d' % deadline_ms)
    if request.stage is not Stage.WORK:
        _add_stage(parts, request)
    parts.append(b"}\n")
    return b"".join(parts)


def describe_line(request_id: str, kind: KindVersion) -> bytes:
    """Asks a program which kind it is. It says nothing of any resource: there is none."""
    return _head("describe", "describe", kind) % _text(request_id) + b"}\n"


def cancel_line(request_id: str) -> bytes:
    return b'{"cancel":{"id":%s}}\n' % _text(request_id)


def config_line(settings: RawJson | None) -> bytes:
    """Tells a running program that the settings of its kind's default config changed."""
    return b'{"config":%s}\n' % (ascii_line(settings) if settings is not None else b"{}")


SHUTDOWN_LINE = b'{"shutdown":{}}\n'


def _text(value: str) -> bytes:
    return encode_basestring_ascii(value).encode("ascii")


@lru_cache(maxsize=256)
def _head(reaction: str, trigger: str, kind: KindVersion) -> bytes:
    """The line up to the kind's version, with a place for the id."""
    texts = [_text(name).replace(b"%", b"%%") for name in (reaction, trigger, kind.kind)]
    form = b'{"protocol":%d,"id":%%s,"reaction":%s,"trigger":%s,"kind":%s,"kind_version":%d'
    return form % (PROTOCOL, *texts, kind.version)


def _identity(resource: Resource) -> tuple[bytes, ...]:
    return (
        b',"name":' + _text(resource.name),
        b',"uid":' + _text(resource.uid),
        b',"generation":%d' % resource.generation,
    )


def _add_documents(parts: list[bytes], resource: Resource) -> None:
    if resource.spec_json is not None:
        parts.append(b',"spec":' + ascii_line(resource.spec_json))
    _add_status(parts, resource)
    if resource.labels:
        parts.append(b',"labels":' + dumps(dict(resource.labels)))


def _add_status(parts: list[bytes], resource: Resource) -> None:
    if resource.status_json is not None:
        parts.append(b',"status":' + ascii_line(resource.status_json))


def _add_stage(parts: list[bytes], request: ReactionRequest) -> None:
    if request.observed:
        parts.append(b',"observed":' + _members(request.observed, generations=False))
    if request.descendants:
        parts.append(b',"descendants":' + _members(request.descendants, generations=True))
    if request.stage is Stage.DELETE and request.finalizer:
        parts.append(b',"finalizer":' + _text(request.finalizer))
    if request.operation is not None:
        parts.append(b',"operation":' + _operation(request.operation))
    if request.stage is Stage.REACT:
        _add_reactor(parts, request)


def _add_reactor(parts: list[bytes], request: ReactionRequest) -> None:
    if request.transition is not None:
        parts.append(b',"transition":' + _text(request.transition))
    if request.dedup_token:
        parts.append(b',"dedup_token":' + _text(request.dedup_token))
    watched = request.resource
    inner = [b'{"kind":' + _text(watched.kind), _version(watched), *_identity(watched)]
    _add_documents(inner, watched)
    parts.append(b',"resource":' + b"".join(inner) + b"}")


def _members(resources: Iterable[Resource], *, generations: bool) -> bytes:
    return b"[" + b",".join(_member(resource, generations) for resource in resources) + b"]"


def _member(resource: Resource, generations: bool) -> bytes:
    parts = [
        b'{"kind":' + _text(resource.kind),
        _version(resource),
        b',"name":' + _text(resource.name),
        b',"ready":true' if resource.is_ready else b',"ready":false',
    ]
    if resource.phase:
        parts.append(b',"phase":' + _text(resource.phase))
    if generations:
        parts.append(b',"generation":%d' % resource.generation)
    _add_status(parts, resource)
    return b"".join(parts) + b"}"


def _version(resource: Resource) -> bytes:
    """A base broker doesn't say the version of a resource; nothing is better than 0."""
    return b',"kind_version":%d' % resource.kind_version if resource.kind_version else b""


def _operation(operation: Operation) -> bytes:
    parts = [b'{"verb":' + _text(operation.verb)]
    if operation.input_json is not None:
        parts.append(b',"input":' + ascii_line(operation.input_json))
    parts.append(b',"attempts":%d' % operation.attempts)
    if operation.requested_by:
        parts.append(b',"requested_by":' + _text(operation.requested_by))
    return b"".join(parts) + b"}"


@lru_cache(maxsize=BUNDLES_KEPT_MAX)
def _base64(bundle: bytes) -> bytes:
    return base64.b64encode(bundle)
