"""What workers hand back: documents on their way into the store, and what nobody asked for."""

from __future__ import annotations

import functools

from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store.rows import Node
from stdworker.errors import JsonError
from stdworker.model.json_text import ascii_line, dumps
from stdworker.model.kind import Emit
from stdworker.model.outcome import Outcome

DOCUMENT_BYTES_MAX = 50 << 20

# What the engine takes of a stage of a run, and of an operation, if the manifest lets the reaction emit it.
RUN_EMITS = frozenset((Emit.STATUS, Emit.CONDITIONS, Emit.CHILDREN, Emit.EDGES, Emit.CONFIGS))
OPERATION_EMITS = frozenset((Emit.STATUS, Emit.OPERATION_OUTPUT))

# The members of an outcome that have another name than what they hold.
_MEMBERS = {Emit.OPERATION_OUTPUT: "output"}


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


def warn_of_dropped(
    uow: UnitOfWork, node: Node, outcome: Outcome, emits: frozenset[Emit], taken: frozenset[Emit]
) -> None:
    """An event for what the reaction handed back and may not emit; `taken` is what its stage could have stored."""
    if dropped := [emit for emit, member in _dropped(emits, taken) if getattr(outcome, member)]:
        uow.event(node, "Warning", "EmitDropped", f"dropped what the reaction may not emit: {', '.join(dropped)}")


@functools.cache
def _dropped(emits: frozenset[Emit], taken: frozenset[Emit]) -> list[tuple[Emit, str]]:
    """With the members of an outcome that hold them."""
    return [(emit, _MEMBERS.get(emit, emit)) for emit in sorted((RUN_EMITS | OPERATION_EMITS) - (emits & taken))]
