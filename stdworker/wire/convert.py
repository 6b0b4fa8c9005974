"""The nouns, protobuf ⇄ model. Documents pass through as the bytes they are.

Extension fields (numbers from 100) are always written; from a peer that knows only the base contract they
arrive empty. Tasks are in `convert_task`, results in `convert_result`.
"""

from __future__ import annotations

from typing import Any

from stdworker.errors import JsonError
from stdworker.model.config import ProviderConfig, ProviderConfigSpec
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import CONDITION_STATUSES, ChildSpec, Condition, DepEdge, ValueFlow
from stdworker.model.resource import Ref, Resource
from stdworker.wire.generated import worker_pb2 as pb

STAGE_NUMBERS: dict[Stage, pb.Stage] = {
    Stage.COMPOSE: pb.STAGE_COMPOSE,
    Stage.WORK: pb.STAGE_WORK,
    Stage.ROLLUP: pb.STAGE_ROLLUP,
    Stage.DELETE: pb.STAGE_DELETE,
    Stage.OPERATE: pb.STAGE_OPERATE,
    Stage.REACT: pb.STAGE_REACT,
}
STAGES: dict[int, Stage] = {int(number): stage for stage, number in STAGE_NUMBERS.items()}


def encode_uid(uid: str | None) -> bytes:
    """A UUID's 16 bytes; none for none. Raises ValueError for what is no UUID."""
    return bytes.fromhex(uid.replace("-", "")) if uid else b""


def decode_uid(raw: bytes) -> str:
    """The UUID's text, "" when there are not 16 bytes."""
    if len(raw) != 16:
        return ""
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def encode_resource(resource: Resource) -> pb.Resource:
    message = pb.Resource()
    fill_resource(message, resource)
    return message


def fill_resource(message: pb.Resource, resource: Resource) -> None:
    """Encode in place: a task frame holds its resource without copying it there."""
    message.id = encode_uid(resource.uid)
    message.kind = resource.kind
    message.name = resource.name
    message.kind_version = resource.kind_version
    message.generation = resource.generation
    message.synced_gen = resource.synced_gen
    message.phase = resource.phase
    if resource.spec_json:
        message.spec = resource.spec_json
    if resource.status_json:
        message.status = resource.status_json
    if resource.labels:
        message.labels.update(resource.labels)
    _fill_rare(message, resource)


def _fill_rare(message: pb.Resource, resource: Resource) -> None:
    if resource.owner_uid:
        message.owner_id = encode_uid(resource.owner_uid)
    if resource.root_uid:
        message.root_id = encode_uid(resource.root_uid)
    if resource.is_ready:
        message.is_ready = True
    if resource.finalizers:
        message.finalizers.extend(resource.finalizers)
    if resource.deletion_requested_at_ms:
        message.deletion_requested_at_ms = resource.deletion_requested_at_ms
    if resource.frozen_until_ms:
        message.frozen_until_ms = resource.frozen_until_ms
    if resource.quarantined:
        message.quarantined = True


def decode_resource(message: pb.Resource) -> Resource:
    return Resource(
        uid=decode_uid(message.id),
        kind=message.kind,
        name=message.name,
        kind_version=message.kind_version,
        generation=message.generation,
        synced_gen=message.synced_gen,
        spec_json=decode_document(message.spec),
        status_json=decode_document(message.status),
        labels=dict(message.labels) if message.labels else {},
        owner_uid=decode_uid(message.owner_id) or None,
        root_uid=decode_uid(message.root_id) or None,
        is_ready=message.is_ready,
        phase=message.phase,
        finalizers=tuple(message.finalizers),
        deletion_requested_at_ms=message.deletion_requested_at_ms or None,
        frozen_until_ms=message.frozen_until_ms or None,
        quarantined=message.quarantined,
    )


def encode_condition(condition: Condition) -> pb.Condition:
    """Raises ValueError for a status that is none."""
    if condition.status not in CONDITION_STATUSES:
        raise ValueError(f"the status is one of {', '.join(CONDITION_STATUSES)}, not {condition.status!r}")
    return pb.Condition(
        type=condition.type, status=condition.status, reason=condition.reason, message=condition.message
    )


def decode_condition(message: pb.Condition) -> Condition:
    return Condition(message.type, message.status, message.reason, message.message)


def encode_child(child: ChildSpec) -> pb.ChildSpec:
    return pb.ChildSpec(
        kind=child.kind,
        name=child.name,
        spec=encode_document(child.spec, f"the spec of child {child.ref}"),
        labels=child.labels,
        kind_version=child.kind_version,
        provider_config_ref=child.provider_config_ref,
    )


def decode_child(message: pb.ChildSpec) -> ChildSpec:
    return ChildSpec(
        message.kind,
        message.kind_version,
        message.name,
        decode_document(message.spec),
        dict(message.labels),
        message.provider_config_ref,
    )


def encode_edge(edge: DepEdge) -> pb.DepEdge:
    message = pb.DepEdge(to=_reference(edge.dependency), values=[_flow(flow) for flow in edge.values])
    getattr(message, "from").CopyFrom(_reference(edge.dependent))  # a keyword of Python
    return message


def decode_edge(message: pb.DepEdge) -> DepEdge:
    dependent = getattr(message, "from")
    return DepEdge(
        Ref(dependent.kind, dependent.name),
        Ref(message.to.kind, message.to.name),
        [ValueFlow(flow.dependent_field, flow.source_field) for flow in message.values],
    )


def encode_config_spec(config: ProviderConfigSpec) -> pb.ProviderConfigSpec:
    return pb.ProviderConfigSpec(
        name=config.name,
        kind=config.kind,
        spec=encode_document(config.spec, f"the spec of config {config.name}"),
        kind_version=config.kind_version,
    )


def decode_config_spec(message: pb.ProviderConfigSpec) -> ProviderConfigSpec:
    return ProviderConfigSpec(message.name, message.kind, message.kind_version, decode_document(message.spec))


def decode_config(message: pb.ProviderConfigUpdate | pb.ProviderConfigEntry) -> tuple[KindVersion, ProviderConfig]:
    """The default that a broker pushes or answers."""
    config = ProviderConfig(decode_document(message.config), message.bundle or None)
    return KindVersion(message.kind, message.kind_version), config


def encode_config_update(pair: KindVersion, config: ProviderConfig) -> pb.ProviderConfigUpdate:
    return pb.ProviderConfigUpdate(
        kind=pair.kind, kind_version=pair.version, config=config.spec or b"", bundle=config.bundle or b""
    )


def encode_config_entry(pair: KindVersion, config: ProviderConfig) -> pb.ProviderConfigEntry:
    return pb.ProviderConfigEntry(
        kind=pair.kind, kind_version=pair.version, config=config.spec or b"", bundle=config.bundle or b""
    )


def plain_text(text: str) -> str:
    """A text for people as every peer and every store can hold it.

    Lone surrogates, which are no UTF-8, and NUL, which Postgres refuses, are spelled as escapes.
    """
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\0", "\\x00")


def decode_document(raw: bytes) -> RawJson | None:
    """A document; empty bytes are none."""
    return RawJson(raw) if raw else None


def encode_document(value: Any, what: str) -> bytes:
    """The JSON of a value, nothing for None. Raises JsonError that says which document it is."""
    if value is None:
        return b""
    try:
        return dumps(value)
    except JsonError as error:
        raise JsonError(f"{what}: {error}") from None


def _reference(ref: Ref) -> pb.ResourceRef:
    return pb.ResourceRef(kind=ref.kind, name=ref.name)


def _flow(flow: ValueFlow) -> pb.ValueFlow:
    return pb.ValueFlow(dependent_field=flow.dependent_field, source_field=flow.source_field)
