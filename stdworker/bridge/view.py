"""What a persistent program is doing now, for status pages and metrics. Read-only, taken in one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerView:
    """One process of ours (`pid`), or one connection to somebody else's (`address`)."""

    pid: int | None
    address: str | None
    uptime_seconds: float
    in_flight: int
    answered: int


@dataclass(frozen=True, slots=True)
class PoolView:
    """The processes or connections under one effective config: the kind's default, or a resource's own.

    `wanted` counts the places, `running` those that are filled; `spares` are warm and get no requests yet.
    """

    default: bool
    wanted: int
    running: int
    spares: int
    restarts: int
    in_flight: int
    waiting: int
    breaker_open: bool
    processes: tuple[PeerView, ...]


@dataclass(frozen=True, slots=True)
class ProgramView:
    """One kind. `mode` is None while the default config can't be read; `breaker_open` is the default pool's."""

    mode: str | None
    ready: bool
    reason: str
    breaker_open: bool
    pools: tuple[PoolView, ...]
