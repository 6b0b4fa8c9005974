"""Documents that workers hand back, on their way into the store."""

from __future__ import annotations

from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store.rows import Node
from stdworker.errors import JsonError
from stdworker.model.json_text import ascii_line, dumps

DOCUMENT_BYTES_MAX = 50 << 20


def storable(document: object, what: str) -> str:
    """The document as it is stored. Raises JsonError saying what stands against it."""
    try:
        text = ascii_line(dumps(document))
    except JsonError as error:
        raise JsonError(f"{what} can't be stored: {error}") from None
    if len(text) > DOCUMENT_BYTES_MAX:
        raise JsonError(f"{what} has {len(text)} bytes; at most {DOCUMENT_BYTES_MAX} are stored")
    return text.decode("ascii")


def store_status(uow: UnitOfWork, node: Node, status: object) -> str:
    """Store a status, if there is one; what stands against it otherwise."""
    if status is None:
        return ""
    try:
        uow.report(node, storable(status, "the status"))
    except JsonError as error:
        return error.message
    return ""
