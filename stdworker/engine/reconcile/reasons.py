"""Why something doesn't go on, as people are told."""

from __future__ import annotations

from dataclasses import dataclass

from stdworker.model.resource import Ref


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a resource is not Ready, or a reactor not told: a stable code, a sentence, and what to do.

    `about` is another resource, or the one that the reactor is to be told of.
    `since_ms` is when it began, `until_ms` when the engine goes on by itself.
    """

    code: str
    message: str
    hint: str = ""
    about: Ref | None = None
    since_ms: int | None = None
    until_ms: int | None = None
