"""Changes as they happen, as server-sent events."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from stdworker.engine.api.context import InEngine, PathRef
from stdworker.engine.api.feed import Feed, Page
from stdworker.engine.api.follower import Follower
from stdworker.engine.api.openapi import documented
from stdworker.engine.api.queries import SEQUENCE_MAX, ResourceWatchQuery, WatchQuery
from stdworker.engine.api.shapes.events import WatchEvent
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import Invalid
from stdworker.model.whole import whole

MEDIA_TYPE = "text/event-stream"
STALL_SECONDS = 60.0

log = logging.getLogger(__name__)
router = APIRouter(tags=["watch"])


class EventStream(StreamingResponse):
    """A follower's stream; who takes nothing of it for `STALL_SECONDS` is hung up on."""

    def __init__(self, follower: Follower, seq: int, page: Page) -> None:
        super().__init__(follower.pieces(seq, page), media_type=MEDIA_TYPE)
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._follower:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        async def bounded(message: Message) -> None:
            async with asyncio.timeout(STALL_SECONDS):
                await send(message)

        try:
            await super().stream_response(bounded)
        except TimeoutError:
            log.warning("hung up on a watcher that read nothing for %.0f s", STALL_SECONDS)


async def _feed(request: Request) -> Feed:
    feed: Feed = request.app.state.feed
    return feed


InFeed = Annotated[Feed, Depends(_feed)]
LastEventId = Annotated[str | None, Header(description="Resume after this event; it goes before `since`.")]


@router.get(
    "/watch",
    **documented("Watch resources change", answer=WatchEvent, answer_type=MEDIA_TYPE, problems=(400, 410, 503)),
)
async def watch(feed: InFeed, query: Annotated[WatchQuery, Query()], last_event_id: LastEventId = None) -> Response:
    """A stream of server-sent events, each the JSON of a `WatchEvent`, from now on or from where one left off.

    Filters are those of the list, asked of the resource as it is when the event is sent. Every change is sent
    once and in its order. A block with an id alone is no event: it says from where to resume. The last event is
    an `end` with a `WatchEnd`, unless the connection is lost. 410: what follows is no longer kept.
    """
    seq = _resumed(query.since, last_event_id)
    return await _stream(feed, Follower(feed, query.filter()), seq)


@router.get(
    "/resources/{kind}/{name}/watch",
    **documented("Watch one resource change", answer=WatchEvent, answer_type=MEDIA_TYPE, problems=(400, 404, 410, 503)),
)
async def watch_resource(
    engine: InEngine,
    feed: InFeed,
    ref: PathRef,
    query: Annotated[ResourceWatchQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """As `/watch`, for one name: it goes on when the resource is deleted, and when it is there again."""
    seq = _resumed(query.since, last_event_id)
    if seq is None:
        await engine.get(ref)
    return await _stream(feed, Follower(feed, ResourceFilter(), ref), seq)


async def _stream(feed: Feed, follower: Follower, seq: int | None) -> Response:
    feed.check_open()
    if seq is None:
        seq = await feed.now()
    return EventStream(follower, seq, await feed.read(seq, follower.may_want))


def _resumed(since: int | None, last_event_id: str | None) -> int | None:
    """After which event to go on; None is from now on."""
    if not last_event_id:
        return since
    sequence = whole(last_event_id, SEQUENCE_MAX)
    if sequence is None:
        told = f"{last_event_id!r} is not an id of this stream"
        raise Invalid.at("header/Last-Event-ID", told, code="bad_cursor")
    return sequence
