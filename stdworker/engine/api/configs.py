"""Provider configs. Secrets are shown as `***` unless the caller asks for them, which is recorded."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from msgspec import UNSET
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations, etags
from stdworker.engine.api.context import Actor, InEngine, answer, paged
from stdworker.engine.api.openapi import APPLIED, PAGED, TAGGED, documented
from stdworker.engine.api.queries import ConfigQuery, ConfigsQuery, DeleteQuery, RevealQuery
from stdworker.engine.api.shapes.configs import ConfigBody, Configs, ConfigSummary, ConfigView, DeletedConfig
from stdworker.model.kind import KindVersion

router = APIRouter(prefix="/providerconfigs", tags=["provider configs"])

EXAMPLE = {
    "name": "greeter",
    "kind": "greeter",
    "kind_version": 1,
    "is_default": True,
    "spec": {"command": "./greeter", "settings": {"greeting": "Hello"}},
}
NamePath = Annotated[str, Path(examples=[EXAMPLE["name"]])]


@router.post(
    "",
    **documented(
        "Declare a provider config",
        answer=ConfigView,
        also={201: ConfigView},
        headers=APPLIED,
        body=ConfigBody,
        example=EXAMPLE,
        problems=(400, 409, 412, 413, 422),
    ),
)
async def put(
    engine: InEngine,
    actor: Actor,
    request: Request,
    query: Annotated[ConfigQuery, Query()],
    if_match: etags.IfMatch = None,
    if_none_match: etags.IfNew = None,
) -> Response:
    """An existing name is updated. A pair has at most one default."""
    body = await bodies.read(request, bodies.CONFIG_BYTES_MAX)
    declared = declarations.config(bodies.decode(body, ConfigBody))
    declared.only_if = etags.named(if_match)
    declared.only_new = etags.asks_for_new(if_none_match)
    result, record = await engine.put_config(declared, actor, requeue=query.requeue)
    status = 201 if result == "created" else 200
    headers = {"X-Apply-Result": result, "ETag": etags.of(record.revision)}
    return answer(ConfigView.of(record, reveal=False), status, headers)


@router.get("", **documented("List provider configs", answer=Configs, headers=PAGED))
async def list_configs(engine: InEngine, query: Annotated[ConfigsQuery, Query()]) -> Response:
    pair = KindVersion(query.kind, query.kind_version or 1) if query.kind else None
    page = await engine.configs(pair=pair, limit=query.limit, cursor=query.cursor)
    return paged(Configs([ConfigSummary.of(record) for record in page.items]), page.cursor)


@router.get("/{name}", **documented("Get a provider config", answer=ConfigView, headers=TAGGED, problems=(404,)))
async def get(engine: InEngine, actor: Actor, name: NamePath, query: Annotated[RevealQuery, Query()]) -> Response:
    record = await (engine.reveal_config(name, actor) if query.reveal else engine.config(name))
    return answer(ConfigView.of(record, reveal=query.reveal), headers={"ETag": etags.of(record.revision)})


@router.delete("/{name}", **documented("Delete a provider config", answer=DeletedConfig, problems=(404, 409, 412)))
async def delete(
    engine: InEngine,
    actor: Actor,
    name: NamePath,
    query: Annotated[DeleteQuery, Query()],
    if_match: etags.IfMatch = None,
) -> Response:
    left = await engine.delete_config(name, actor, only_if=etags.named(if_match), dry_run=query.dry_run)
    return answer(DeletedConfig(not query.dry_run, without_default=str(left) if left else UNSET))
