"""Kinds: manifests, schemas, and the policy that is edited live."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from msgspec import UNSET, Raw
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations, etags, examples
from stdworker.engine.api.context import Actor, InEngine, KindPath, answer, paged
from stdworker.engine.api.openapi import APPLIED, PAGED, TAGGED, documented
from stdworker.engine.api.queries import DeleteQuery, KindsQuery, PublishQuery, SchemaQuery, kind_cursor
from stdworker.engine.api.shapes.common import Deleted
from stdworker.engine.api.shapes.kinds import Kinds, KindSchema, KindView, Manifests, PolicyBody, PolicyView, published
from stdworker.engine.store.records import KindPolicy, KindRecord
from stdworker.errors import Invalid, NotFound
from stdworker.model.json_text import members
from stdworker.model.kind import VERSION_MAX, KindVersion

router = APIRouter(prefix="/kinds", tags=["kinds"])

MANIFEST: dict[str, Any] = {"type": "object", "description": "A kind manifest; see protocol/kind/v1."}
SCHEMAS = ("spec_schema", "status_schema", "config_schema")

VersionPath = Annotated[int, Path(ge=1, le=VERSION_MAX, examples=[1])]


@router.get("", **documented("List kinds and their versions", answer=Kinds, headers=PAGED))
async def list_kinds(engine: InEngine, query: Annotated[KindsQuery, Query()]) -> Response:
    by_kind = [list(records) for _, records in groupby(await _after(engine, query.cursor), lambda r: r.pair.kind)]
    shown = by_kind[: query.limit]
    cursor = _cursor(shown[-1][-1]) if len(shown) < len(by_kind) else None
    return paged(Kinds([_kind(records) for records in shown]), cursor)


async def _after(engine: InEngine, cursor: str | None) -> list[KindRecord]:
    """What is published, in order, from a cursor on."""
    last = kind_cursor(cursor) if cursor is not None else KindVersion("", 0)
    return sorted((record for record in await engine.kinds() if record.pair > last), key=lambda record: record.pair)


def _cursor(record: KindRecord) -> str:
    return f"{record.pair.kind}/{record.pair.version}"


def _kind(records: list[KindRecord]) -> KindView:
    description = (records[-1].manifest.value() or {}).get("description") or ""
    return KindView(records[-1].pair.kind, [record.pair.version for record in records], description)


@router.get("/manifests", **documented("List all manifests", answer=Manifests, headers=PAGED))
async def manifests(engine: InEngine, query: Annotated[KindsQuery, Query()]) -> Response:
    records = await _after(engine, query.cursor)
    shown = records[: query.limit]
    cursor = _cursor(shown[-1]) if len(shown) < len(records) else None
    return paged(Manifests([published(record) for record in shown]), cursor)


@router.get("/{kind}/schema", **documented("The schemas of a kind version", answer=KindSchema, problems=(404,)))
async def schema(engine: InEngine, kind: KindPath, query: Annotated[SchemaQuery, Query()]) -> Response:
    version = query.kind_version or await _lowest_version(engine, kind)
    manifest = members((await engine.kind(KindVersion(kind, version))).manifest) or {}
    return answer(KindSchema(kind, version, *(Raw(manifest.get(name, b"null")) for name in SCHEMAS)))


async def _lowest_version(engine: InEngine, kind: str) -> int:
    versions = [record.pair.version for record in await engine.kinds() if record.pair.kind == kind]
    if not versions:
        raise NotFound(f"there is no kind {kind!r}")
    return min(versions)


@router.put(
    "/{kind}/manifest",
    **documented(
        "Publish a kind version",
        answer=MANIFEST,
        answer_example=examples.PUBLISHED,
        body=MANIFEST,
        example=examples.MANIFEST,
        headers=APPLIED,
        problems=(400, 409, 412, 413, 422),
    ),
)
async def publish(
    engine: InEngine,
    actor: Actor,
    kind: KindPath,
    request: Request,
    query: Annotated[PublishQuery, Query()],
    if_match: etags.IfMatch = None,
    if_none_match: etags.IfNew = None,
) -> Response:
    """Answers the manifest with its `manifest_version`. A breaking change is refused unless forced.

    `labels` may stand beside the manifest's own members: absent keeps those that are there, null clears them.
    """
    declared = declarations.kind((await bodies.read(request)).value(), force=query.force)
    manifest = dict(declared.manifest)
    if manifest.setdefault("kind", kind) != kind:
        raise Invalid.at("/kind", f"{manifest['kind']!r} is not the kind of the path, {kind!r}")
    result, record = await engine.publish_kind(
        manifest,
        actor,
        force=query.force,
        labels=declared.labels,
        only_if=etags.named(if_match),
        only_new=etags.asks_for_new(if_none_match),
        requeue=query.requeue,
    )
    return answer(published(record), headers={"X-Apply-Result": result, "ETag": etags.of(record.revision)})


@router.get(
    "/{kind}/versions/{version}/manifest",
    **documented(
        "The manifest of a kind version",
        answer=MANIFEST,
        answer_example=examples.PUBLISHED,
        headers=TAGGED,
        problems=(404,),
    ),
)
async def manifest(engine: InEngine, kind: KindPath, version: VersionPath) -> Response:
    record = await engine.kind(KindVersion(kind, version))
    return answer(published(record), headers={"ETag": etags.of(record.revision)})


@router.delete(
    "/{kind}/versions/{version}/manifest",
    **documented("Delete a kind version that nothing uses", answer=Deleted, problems=(404, 409, 412)),
)
async def delete(
    engine: InEngine,
    actor: Actor,
    kind: KindPath,
    version: VersionPath,
    query: Annotated[DeleteQuery, Query()],
    if_match: etags.IfMatch = None,
) -> Response:
    pair = KindVersion(kind, version)
    await engine.delete_kind(pair, actor, only_if=etags.named(if_match), dry_run=query.dry_run)
    return answer(Deleted(not query.dry_run))


@router.get(
    "/{kind}/versions/{version}/config",
    **documented("The live policy of a kind version", answer=PolicyView, problems=(404,)),
)
async def policy(engine: InEngine, kind: KindPath, version: VersionPath) -> Response:
    return answer(PolicyView.of((await engine.kind(KindVersion(kind, version))).policy))


@router.put(
    "/{kind}/versions/{version}/config",
    **documented(
        "Edit the live policy of a kind version",
        answer=PolicyView,
        body=PolicyBody,
        example={"max_inflight": 8, "task_deadline_seconds": 60},
        problems=(404, 422),
    ),
)
async def set_policy(
    engine: InEngine, actor: Actor, kind: KindPath, version: VersionPath, request: Request
) -> Response:
    """What the body leaves out keeps its value."""
    body = bodies.decode(await bodies.read(request), PolicyBody)
    fields = {name: getattr(body, name) for name in PolicyView.__struct_fields__}
    changed = {name: value for name, value in fields.items() if value is not UNSET}
    record = await engine.set_policy(KindVersion(kind, version), KindPolicy(**changed), actor, fields=list(changed))
    return answer(PolicyView.of(record.policy))
