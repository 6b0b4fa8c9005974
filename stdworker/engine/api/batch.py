"""Many resources in one request: a document a line in, a result a line out, in the same order.

Each document lands or fails alone. Results are sent once the body was read to its end: a client that writes
everything before it reads anything must not block itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from stdworker.engine.api import bodies, declarations
from stdworker.engine.api.context import Actor, InEngine
from stdworker.engine.api.openapi import documented
from stdworker.engine.api.problems import Refused, problem_of
from stdworker.engine.api.resources import EXAMPLE
from stdworker.engine.api.shapes.common import encode
from stdworker.engine.api.shapes.lines import BatchLine
from stdworker.engine.api.shapes.resources import ResourceBody
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.declarations import ApplyDocument, Declared
from stdworker.errors import StdworkerError
from stdworker.model.json_text import check

CHUNK_DOCUMENTS_MAX = 500
CHUNK_BYTES_MAX = 8 << 20
CHUNKS_IN_FLIGHT_MAX = 2
LINES_MAX = 500_000
PAUSE_SECONDS = 60.0  # for whoever makes the lines as they are sent

router = APIRouter(tags=["resources"])

_decoder = msgspec.json.Decoder(ResourceBody)

Line = tuple[int, bytes]


@router.post(
    "/resources/batch",
    **documented(
        "Declare many resources",
        answer=BatchLine,
        body=ResourceBody,
        example=EXAMPLE,
        body_type="application/x-ndjson",
        body_required=False,
        answer_type="application/x-ndjson",
        problems=(413,),
    ),
)
async def apply_batch(engine: InEngine, actor: Actor, request: Request) -> Response:
    """One JSON document a line; one `BatchLine` a line is answered, also for lines that failed."""
    batch = _Batch(engine, actor, request.url.path)
    told: list[bytes] = []
    running: list[asyncio.Task[bytes]] = []
    try:
        async for chunk in chunks(lines(bodies.pieces(request, bodies.RESOURCE_BYTES_MAX, PAUSE_SECONDS))):
            if chunk[-1][0] > LINES_MAX:
                raise Refused(413, "too_many_lines", f"a batch has at most {LINES_MAX:,} lines; the first were applied")
            running.append(asyncio.ensure_future(batch.apply(chunk)))
            if len(running) == CHUNKS_IN_FLIGHT_MAX:
                told.append(await running.pop(0))
        told.extend([await task for task in running])
    finally:
        for task in running:
            task.cancel()
    return Response(b"".join(told), media_type="application/x-ndjson")


class _Batch:
    def __init__(self, engine: Engine, actor: str, instance: str) -> None:
        self.engine = engine
        self.actor = actor
        self.instance = instance

    async def apply(self, chunk: Sequence[Line]) -> bytes:
        """One engine call for all lines of a chunk that are documents."""
        parsed = [_parse(text) for _, text in chunk]
        documents = [document for document in parsed if isinstance(document, ApplyDocument)]
        results = iter(await self.engine.declare(documents, self.actor) if documents else ())
        return b"".join(
            self.result(line, text, document, next(results) if isinstance(document, ApplyDocument) else document)
            for (line, text), document in zip(chunk, parsed, strict=True)
        )

    def result(
        self,
        line: int,
        text: bytes,
        document: ApplyDocument | StdworkerError,
        done: Declared | StdworkerError,
    ) -> bytes:
        told = BatchLine(line, "failed")
        if isinstance(document, ApplyDocument):
            told.kind, told.name = document.kind, document.name
        if isinstance(done, StdworkerError):
            told.problem = problem_of(done, self.instance, text)
        else:
            told.result = done.result  # type: ignore[assignment]
            told.generation = done.generation
        return encode(told) + b"\n"


def _parse(text: bytes) -> ApplyDocument | StdworkerError:
    try:
        return declarations.resource(_decoder.decode(check(text)))
    except msgspec.ValidationError as error:
        return bodies.unfit(error, ResourceBody)
    except StdworkerError as error:
        return error


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Line]]:
    """The lines that each piece of the body completes, numbered from 1; blank ones are skipped."""
    number = 0
    rest = bytearray()
    async for piece in pieces:
        head, newline, tail = piece.rpartition(b"\n")
        if not newline:
            rest += piece
            continue
        found = [*enumerate((bytes(rest) + head).split(b"\n"), number + 1)]
        number += len(found)
        rest = bytearray(tail)
        yield [line for line in found if line[1].strip()]
    if rest.strip():
        yield [(number + 1, bytes(rest))]


async def chunks(batches: AsyncIterator[list[Line]]) -> AsyncIterator[list[Line]]:
    """Lines in groups of at most `CHUNK_DOCUMENTS_MAX`, about `CHUNK_BYTES_MAX` each."""
    chunk: list[Line] = []
    size = 0
    async for batch in batches:
        for line in batch:
            chunk.append(line)
            size += len(line[1])
            if len(chunk) == CHUNK_DOCUMENTS_MAX or size >= CHUNK_BYTES_MAX:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk
